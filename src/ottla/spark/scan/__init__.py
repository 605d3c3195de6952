"""The executor's side of reading topics: ranges of offsets to Arrow batches in Spark's types."""
