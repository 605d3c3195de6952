"""Where a pipeline reads and writes: ``Topic`` and ``Table``. Plain descriptions; nothing is opened here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ottla.spark.pipeline.formats import Format, Json, Raw

STARTING_OFFSETS: Final = "startingOffsets"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: of a source, or of a sink.

    Read, its records are rows: the fields of the value by its format, and ``kafka_key``, ``kafka_topic``,
    ``kafka_partition``, ``kafka_offset``, ``kafka_timestamp``; with ``Raw()`` the source's own columns (key, value,
    topic, partition, offset, timestamp, headers). It is read from its beginning unless ``options`` say otherwise.

    Written, rows that have a column ``value`` of strings or bytes (and key, headers, topic, partition) go as they are;
    all others become JSON objects, or values of ``Avro(…)``, with the column ``key``, if one is named, as the record's
    key, too.
    """

    name: str
    value: Format = field(default_factory=Raw)
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Of ``format("ottla")``, by their names there, e.g. ``{"maxOffsetsPerTrigger": "100000"}``."""
    bootstrap_servers: str | None = None
    """Another cluster than the one that the pipeline is run on."""


@dataclass(frozen=True, slots=True)
class Table:
    """A directory of files: ``delta`` or any file format that Spark streams (``parquet``, ``json``, …)."""

    path: str
    format: str = "delta"
    partition_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    """Of a source that is not a Delta table."""


Endpoint = Topic | Table

__all__ = ["Endpoint", "Format", "Json", "Raw", "Table", "Topic"]
