"""The configuration of one topic's logs, as the log reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ottla.common.errors import InvalidConfigError
from ottla.config.promises import require_kept_by_topic
from ottla.config.topic_keys import TOPIC_CONFIG
from ottla.config.values import ConfigValue

if TYPE_CHECKING:
    from random import Random

__all__ = ["TOPIC_CONFIG", "LogConfig", "validate_topic_config"]

COMPACT = "compact"
DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Every topic key as a typed field, named as the key with underscores for dots.

    ``LogConfig()`` holds Apache's defaults. The constructor takes typed values unchecked, so that a test can have
    segments of a hundred bytes; text from outside comes through ``from_props`` or ``override``, which check each value.
    ``segment_bytes`` is the size in force: ``internal_segment_bytes`` if that is set, whatever was set beside it.
    """

    segment_bytes: int = TOPIC_CONFIG.default("segment.bytes")
    segment_ms: int = TOPIC_CONFIG.default("segment.ms")
    segment_jitter_ms: int = TOPIC_CONFIG.default("segment.jitter.ms")
    segment_index_bytes: int = TOPIC_CONFIG.default("segment.index.bytes")
    flush_messages: int = TOPIC_CONFIG.default("flush.messages")
    flush_ms: int = TOPIC_CONFIG.default("flush.ms")
    retention_bytes: int = TOPIC_CONFIG.default("retention.bytes")
    retention_ms: int = TOPIC_CONFIG.default("retention.ms")
    max_message_bytes: int = TOPIC_CONFIG.default("max.message.bytes")
    index_interval_bytes: int = TOPIC_CONFIG.default("index.interval.bytes")
    delete_retention_ms: int = TOPIC_CONFIG.default("delete.retention.ms")
    min_compaction_lag_ms: int = TOPIC_CONFIG.default("min.compaction.lag.ms")
    max_compaction_lag_ms: int = TOPIC_CONFIG.default("max.compaction.lag.ms")
    file_delete_delay_ms: int = TOPIC_CONFIG.default("file.delete.delay.ms")
    min_cleanable_dirty_ratio: float = TOPIC_CONFIG.default("min.cleanable.dirty.ratio")
    cleanup_policy: frozenset[str] = frozenset(TOPIC_CONFIG.default("cleanup.policy"))
    unclean_leader_election_enable: bool = TOPIC_CONFIG.default("unclean.leader.election.enable")
    min_insync_replicas: int = TOPIC_CONFIG.default("min.insync.replicas")
    compression_type: str = TOPIC_CONFIG.default("compression.type")
    compression_gzip_level: int = TOPIC_CONFIG.default("compression.gzip.level")
    compression_lz4_level: int = TOPIC_CONFIG.default("compression.lz4.level")
    compression_zstd_level: int = TOPIC_CONFIG.default("compression.zstd.level")
    preallocate: bool = TOPIC_CONFIG.default("preallocate")
    message_timestamp_type: str = TOPIC_CONFIG.default("message.timestamp.type")
    message_timestamp_before_max_ms: int = TOPIC_CONFIG.default("message.timestamp.before.max.ms")
    message_timestamp_after_max_ms: int = TOPIC_CONFIG.default("message.timestamp.after.max.ms")
    leader_replication_throttled_replicas: tuple[str, ...] = TOPIC_CONFIG.default(
        "leader.replication.throttled.replicas"
    )
    follower_replication_throttled_replicas: tuple[str, ...] = TOPIC_CONFIG.default(
        "follower.replication.throttled.replicas"
    )
    remote_storage_enable: bool = TOPIC_CONFIG.default("remote.storage.enable")
    local_retention_ms: int = TOPIC_CONFIG.default("local.retention.ms")
    local_retention_bytes: int = TOPIC_CONFIG.default("local.retention.bytes")
    remote_log_copy_disable: bool = TOPIC_CONFIG.default("remote.log.copy.disable")
    remote_log_delete_on_disable: bool = TOPIC_CONFIG.default("remote.log.delete.on.disable")
    internal_segment_bytes: int | None = TOPIC_CONFIG.default("internal.segment.bytes")

    def __post_init__(self) -> None:
        if self.internal_segment_bytes is not None:
            object.__setattr__(self, "segment_bytes", self.internal_segment_bytes)

    @classmethod
    def from_props(cls, props: Mapping[str, object]) -> Self:
        """Apache's defaults with these properties over them.

        InvalidConfigError for a bad value; a name that is no topic key only warns: a newer version may have stored it.
        """
        return cls.from_values(TOPIC_CONFIG.parse(props))

    @classmethod
    def from_values(cls, values: Mapping[str, ConfigValue]) -> Self:
        """Apache's defaults with these values, which are parsed already, over them."""
        return cls(**_fields(values))

    def override(self, props: Mapping[str, object]) -> Self:
        """Put these properties over this configuration, checked as in ``from_props``."""
        return replace(self, **_fields(TOPIC_CONFIG.parse(props)))

    @property
    def compact(self) -> bool:
        """Whether the cleaner keeps only the last record of each key."""
        return COMPACT in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether old segments go by age and size."""
        return DELETE in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which the active segment rolls; a compacted log's maximum lag can make it shorter."""
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms

    @property
    def init_file_size_bytes(self) -> int:
        """The size that a new segment file is created with."""
        return self.segment_bytes if self.preallocate else 0

    @property
    def compression_level(self) -> int | None:
        """The level for the topic's own codec; None where it has no levels or the producer's codec stays."""
        levels = {
            "gzip": self.compression_gzip_level,
            "lz4": self.compression_lz4_level,
            "zstd": self.compression_zstd_level,
        }
        return levels.get(self.compression_type)

    def random_segment_jitter_ms(self, rng: "Random") -> int:
        """A share of segment.jitter.ms to take off one segment's age limit, below both that and segment.ms."""
        return rng.randrange(min(self.segment_jitter_ms, self.segment_ms)) if self.segment_jitter_ms else 0


def validate_topic_config(props: Mapping[str, object], defaults: LogConfig | None = None) -> LogConfig:
    """What a topic with these properties gets over its broker's ``defaults``, if all of it is allowed.

    Stricter than ``from_props``: a name that is no topic key is an error, too, and so are values that contradict each
    other. This is for what users ask for; what is already stored must load.
    """
    TOPIC_CONFIG.require_known(props)
    config = (defaults or LogConfig()).override(props)
    validate_compaction_lag(config)
    require_kept_by_topic(props)
    return config


def validate_compaction_lag(config: LogConfig) -> None:
    """InvalidConfigError when the smallest compaction lag exceeds the largest."""
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise InvalidConfigError(
            f"Invalid value {config.min_compaction_lag_ms} for configuration min.compaction.lag.ms: "
            f"Value must be no more than max.compaction.lag.ms (allowed: at most {config.max_compaction_lag_ms})"
        )


def _fields(values: Mapping[str, ConfigValue]) -> dict[str, Any]:
    """Arguments for LogConfig; the cleanup policy becomes a set there, for its order means nothing."""
    fields: dict[str, Any] = {TOPIC_CONFIG[name].field_name: value for name, value in values.items()}
    if "cleanup_policy" in fields:
        fields["cleanup_policy"] = frozenset(fields["cleanup_policy"])
    return fields
