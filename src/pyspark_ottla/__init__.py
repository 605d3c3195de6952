"""Registers the format ``ottla``: PySpark looks for ``DefaultSource`` in every package named ``pyspark_…``."""

from ottla.spark.data_source import OttlaDataSource as DefaultSource

__all__ = ["DefaultSource"]
