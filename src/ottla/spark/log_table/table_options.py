"""What a query on log directories asks for. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.spark.log_table.batch_bounds import MAX_BATCH_BYTES
from ottla.spark.log_table.table_columns import TABLE_COLUMNS, parse_table_columns
from ottla.spark.options import Options

DELETED: Final = "deleted"
STRAY: Final = "stray"
FUTURE: Final = "future"
INCLUDABLE: Final = (DELETED, STRAY, FUTURE)

_OPTIONS: Final = (
    "path",
    "paths",
    "topics",
    "topicsPattern",
    "columns",
    "isolationLevel",
    "include",
    "maxPartitionBytes",
    "minPartitions",
    "maxBatchBytes",
)
MAX_PARTITION_BYTES: Final = 128 * 1024 * 1024
MIN_PARTITIONS: Final = 8
_ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Picklable; the same for the driver, which plans, and all tasks."""

    paths: tuple[str, ...]
    topics: frozenset[str] | None = None
    topics_pattern: str | None = None
    columns: tuple[str, ...] = TABLE_COLUMNS
    read_committed: bool = False
    include: frozenset[str] = frozenset()
    max_partition_bytes: int = MAX_PARTITION_BYTES
    min_partitions: int = MIN_PARTITIONS
    max_batch_bytes: int = MAX_BATCH_BYTES

    def wants(self, topic: str) -> bool:
        """Whether records of this topic are read."""
        if self.topics is not None:
            return topic in self.topics
        return self.topics_pattern is None or re.fullmatch(self.topics_pattern, topic) is not None


def parse_table_options(given: Mapping[str, str]) -> TableOptions:
    """Raises InvalidConfigError, in one sentence, for what cannot be."""
    options = Options(given)
    options.refuse_unknown(_OPTIONS)
    pattern = options.text("topicsPattern")
    topics = options.text("topics")
    if pattern is not None:
        if topics is not None:
            raise InvalidConfigError("One of the options 'topics' and 'topicsPattern' can be given, not both")
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidConfigError(f"Option 'topicsPattern' is no regular expression: {error}") from None
    columns = options.text("columns")
    return TableOptions(
        paths=_paths(options),
        topics=None if topics is None else frozenset(_listed(topics)),
        topics_pattern=pattern,
        columns=TABLE_COLUMNS if columns is None else parse_table_columns(columns),
        read_committed=options.one_of("isolationLevel", _ISOLATION_LEVELS, _ISOLATION_LEVELS[0]) == "read_committed",
        include=_included(options),
        max_partition_bytes=options.integer("maxPartitionBytes", minimum=1) or MAX_PARTITION_BYTES,
        min_partitions=options.integer("minPartitions", minimum=1) or MIN_PARTITIONS,
        max_batch_bytes=options.integer("maxBatchBytes", minimum=1) or MAX_BATCH_BYTES,
    )


def _paths(options: Options) -> tuple[str, ...]:
    """Of ``load("a,b")`` or ``load(["a", "b"])``, which Spark hands over as JSON."""
    paths = _listed(options.text("path") or "")
    if (several := options.text("paths")) is not None:
        try:
            more = json.loads(several)
        except ValueError:
            more = None
        if not isinstance(more, list) or not all(isinstance(path, str) for path in more):
            raise InvalidConfigError(f"Option 'paths' is a list in JSON, not {several!r}")
        paths += more
    if not paths:
        raise InvalidConfigError("Option 'path' must be given: log directories, partition directories or .log files")
    return tuple(path.removeprefix("file://") for path in paths)


def _included(options: Options) -> frozenset[str]:
    words = {word.lower() for word in _listed(options.text("include") or "")}
    if unknown := words.difference(INCLUDABLE):
        raise InvalidConfigError(f"Option 'include' is some of {', '.join(INCLUDABLE)}, not {sorted(unknown)[0]!r}")
    return frozenset(words)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
