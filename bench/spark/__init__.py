"""Spark reads and writes: the format ``ottla`` beside Spark's own Kafka connector, in one session, on both brokers."""
