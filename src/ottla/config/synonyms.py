"""Which broker keys give a topic key its default: Apache's ServerTopicConfigSynonyms.

Of several, the first that is set counts, in the order here; ``factor`` turns hours and minutes into milliseconds.
"""

from typing import NamedTuple

from ottla.config.units import HOUR_MS, MINUTE_MS


class Synonym(NamedTuple):
    """A broker key that stands for a topic key."""

    name: str
    factor: int = 1


def _same(*names: str) -> dict[str, tuple[Synonym, ...]]:
    return {name: (Synonym(name),) for name in names}


def _with_prefix(prefix: str, *names: str) -> dict[str, tuple[Synonym, ...]]:
    return {name: (Synonym(prefix + name),) for name in names}


TOPIC_CONFIG_SYNONYMS: dict[str, tuple[Synonym, ...]] = {
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
    "segment.jitter.ms": (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS)),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", MINUTE_MS),
        Synonym("log.retention.hours", HOUR_MS),
    ),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    **_with_prefix("log.", "segment.bytes", "retention.bytes", "index.interval.bytes", "cleanup.policy", "preallocate"),
    **_with_prefix(
        "log.", "message.timestamp.type", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
    ),
    **_with_prefix("log.", "local.retention.ms", "local.retention.bytes"),
    **_with_prefix("log.cleaner.", "delete.retention.ms", "min.compaction.lag.ms", "max.compaction.lag.ms"),
    **_same("compression.type", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
    **_same("unclean.leader.election.enable", "min.insync.replicas"),
}
