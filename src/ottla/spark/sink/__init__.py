"""Writing from Spark: at least once, and exactly once (docs/spark-exactly-once.md)."""
