"""Pipelines on Spark between topics and tables: ``@pipeline``, ``Topic``, ``Table``, ``Json``, ``Avro``, ``Raw``.

docs/spark.md shows them; ``ottla pipeline run FILE.py`` runs them. PySpark is imported when one runs.
"""

from ottla.spark.pipeline.declaration import Pipeline, pipeline
from ottla.spark.pipeline.endpoints import Table, Topic
from ottla.spark.pipeline.formats import Avro, Json, Raw

__all__ = ["Avro", "Json", "Pipeline", "Raw", "Table", "Topic", "pipeline"]
