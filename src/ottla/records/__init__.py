"""Kafka's record batches: reading, writing, checking, compressing. Pure."""
