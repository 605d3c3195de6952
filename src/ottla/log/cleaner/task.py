"""What a cleaning run is told, and what it tells: values that go from the broker to a worker process and back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log.cleaner.filter import LastRecord
from ottla.log.cleaner.stats import CleanerStats
from ottla.runtime.port import Clock, Files


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanTask:
    """All that a worker needs to know to clean a log; it can be pickled if ``files`` and ``clock`` can."""

    files: Files
    clock: Clock
    topic_partition: TopicPartition
    directory: str
    config: LogConfig
    base_offsets: tuple[int, ...]
    """All segments of the log; those below ``first_uncleanable_offset`` are cleaned, of the rest the transaction index
    is read."""
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    last_records: Mapping[int, LastRecord] = field(default_factory=dict)
    secret: bytes
    """Sixteen random bytes for the hash of keys."""
    offset_map_bytes: int
    load_factor: float
    io_buffer_bytes: int
    report_bytes: int
    """After this many bytes read and written, the worker reports."""
    compiled: bool | None = None


class CleanerProgress(NamedTuple):
    """Bytes read and written since the last report: a chance to pause, or to end the run."""

    io_bytes: int


class CleanedGroup(NamedTuple):
    """The segment at ``base_offsets[0]`` with suffix .cleaned is durable and replaces those at ``base_offsets``."""

    base_offsets: tuple[int, ...]


class CleaningDone(NamedTuple):
    """The log is clean up to ``end_offset``."""

    end_offset: int
    stats: CleanerStats


CleanerReport = CleanerProgress | CleanedGroup | CleaningDone
