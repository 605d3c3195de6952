"""How partitions are given to the members of a consumer group."""
