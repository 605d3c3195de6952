"""The commit log: segments, indexes, producer state, retention, compaction, recovery."""
