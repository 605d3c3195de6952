"""Registers ``ottla-log`` with Spark, which looks for packages of this name."""

from ottla.spark.log_table.data_source import OttlaLogDataSource as DefaultSource

__all__ = ["DefaultSource"]
