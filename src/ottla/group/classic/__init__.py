"""Classic groups: members join and sync, one of them assigns."""
