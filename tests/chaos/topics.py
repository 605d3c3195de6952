"""The partitions that the chaos writer writes to, and how they are kept."""

from collections.abc import Mapping

from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig

PLAIN = TopicPartition("plain", 0)
"""Truncated now and then; its oldest records are deleted on demand."""
SHORT = TopicPartition("short", 0)
"""Retention by size."""
COMPACTED = TopicPartition("compacted", 0)
BOTH = TopicPartition("both", 0)
"""Compaction and retention."""
PARTITIONS = (PLAIN, SHORT, COMPACTED, BOTH)

SHORT_RETENTION_BYTES = 12_000
_SEGMENTS = {"internal.segment.bytes": 4096, "index.interval.bytes": 512, "file.delete.delay.ms": 50}
_COMPACT = {"min.cleanable.dirty.ratio": 0.01, "delete.retention.ms": 0}
TOPICS: Mapping[str, Mapping[str, object]] = {
    "plain": _SEGMENTS,
    "short": {**_SEGMENTS, "retention.bytes": SHORT_RETENTION_BYTES},
    "compacted": {**_SEGMENTS, **_COMPACT, "cleanup.policy": "compact"},
    "both": {**_SEGMENTS, **_COMPACT, "cleanup.policy": "compact,delete", "retention.bytes": 16_000},
}


def broker_config(directory: str) -> BrokerLogConfig:
    """A broker with one data directory and one impatient cleaner."""
    return BrokerLogConfig(
        log_dirs=(directory,),
        transaction_partition_verification_enable=False,
        log_cleaner_threads=1,
        log_cleaner_dedupe_buffer_size=4 << 20,
        log_cleaner_io_buffer_size=64 << 10,
        log_cleaner_backoff_ms=5,
    )
