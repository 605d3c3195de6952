"""KRaft: the replicated log of cluster metadata, its leader, voters and snapshots."""
