"""Compaction: keeps the latest value of each key, in the background and in bounded memory."""
