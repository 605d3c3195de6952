"""Tables of files: which format they have, and how they are opened."""

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaError
from ottla.spark.failures import sentence_of
from ottla.spark.pipeline.hadoop_files import HadoopFiles, local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS: Final = ("parquet", "delta", "csv", "json", "orc")
_BY_SUFFIX: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
_PACKED: Final = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".xz")
_DELTA_LOG: Final = "_delta_log"
_SPECIAL: Final = re.compile(r"([{}\[\]*?\\])")
_ESCAPED: Final = r"\\\1"
_DEFAULT_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {"csv": {"header": "true"}}


class TableError(KafkaError):
    """A table that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """Where a table is; ``format`` empty is found out. ``options`` are those of Spark's reader of that format."""

    path: str
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None


def guess_format(names: list[str], path: str) -> str | None:
    """The format that the names below a path (or its own) tell; None if they tell none. Pure."""
    if _DELTA_LOG in names:
        return "delta"
    for name in [path, *names]:
        stem, suffix = posixpath.splitext(name.rstrip("/"))
        if suffix in _PACKED:
            suffix = posixpath.splitext(stem)[1]
        if suffix in _BY_SUFFIX:
            return _BY_SUFFIX[suffix]
    return None


def is_delta(table: TableSource) -> bool:
    """Whether it is a Delta table, as far as that is known without Spark: of other file systems --format says so."""
    return table.format == "delta" or (
        not table.format and os.path.isdir(os.path.join(table.path.removeprefix("file://"), _DELTA_LOG))
    )


def check_there(table: TableSource) -> None:
    """TableError if there is no such table on this machine's own file system; of others Spark knows."""
    path = local_path(table.path)
    if path is not None and not (os.listdir(path) if os.path.isdir(path) else os.path.exists(path)):
        raise TableError(missing_table(table.path))


def missing_table(path: str) -> str:
    """What to say of a table that is not there."""
    return f"there is no table at {path}"


def settled_table(spark: "SparkSession", table: TableSource) -> TableSource:
    """The table with its format and options; TableError if there is nothing, or nothing that tells its format."""
    files = HadoopFiles(spark, table.path)
    names = files.names()
    if not names:
        raise TableError(missing_table(table.path))
    kind = table.format or guess_format(names, table.path) or guess_format(list(islice(files.all_files(), 100)), "")
    if not kind:
        raise TableError(f"nothing at {table.path} says which format it has: give --format {', '.join(FORMATS)}")
    return replace(table, format=kind, options={**_DEFAULT_OPTIONS.get(kind, {}), **table.options})


def read_table(spark: "SparkSession", table: TableSource) -> "DataFrame":
    """The whole table; of text formats without a schema that is inferred. TableError if it cannot be read."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    reader = spark.read.format(table.format).options(**table.options)
    if table.schema is not None:
        reader = reader.schema(table.schema)
    elif table.format == "csv":
        reader = reader.option("inferSchema", "true")
    try:
        frame = reader.load(_path_for_spark(spark, table))
    except (PySparkException, Py4JError) as error:
        raise TableError(f"the table {table.path} cannot be read: {sentence_of(error)}") from error
    if not frame.columns:
        raise TableError(f"the table {table.path} has no columns")
    return frame


def stream_table(spark: "SparkSession", table: TableSource, like: "DataFrame", batch_bytes: int) -> "DataFrame":
    """The table as a stream, about ``batch_bytes`` of files at a time, each file once; ``like`` has its schema."""
    reader = spark.readStream.format(table.format).options(**table.options)
    reader = reader.option("maxBytesPerTrigger", str(batch_bytes))
    if table.format != "delta":
        # However old a file is, it is read: what was copied here keeps its time.
        reader = reader.schema(like.schema).option("maxFileAge", "36500d")
    return reader.load(_path_for_spark(spark, table))


def _path_for_spark(spark: "SparkSession", table: TableSource) -> str:
    return glob_of(table.path) if HadoopFiles(spark, table.path).is_file() else table.path


def glob_of(path: str) -> str:
    """A pattern of Hadoop's that only this path matches. Pure.

    Spark refuses to stream a path that is a file, and reads what a pattern finds. Its directory would be looked through
    with all that lies below, which may be another table.
    """
    last = path[-1]
    return _SPECIAL.sub(_ESCAPED, path[:-1]) + (f"[{last}]" if last.isalnum() else f"\\{last}")
