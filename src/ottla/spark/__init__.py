"""Spark reads and writes Kafka through Python: the data sources ``ottla`` and ``ottla-log``, and pipelines on them."""
