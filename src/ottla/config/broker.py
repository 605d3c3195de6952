"""The configuration of a broker's storage engine, and the defaults that it gives to topics."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.log_keys import LOG_KEYS
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS, Synonym
from ottla.config.topic import TOPIC_CONFIG, LogConfig, validate_compaction_lag
from ottla.config.units import MIB
from ottla.config.values import ConfigValue

__all__ = ["BROKER_CONFIG", "BrokerLogConfig", "without_detours"]

MIN_DEDUPE_BUFFER_BYTES = MIB
"""Each cleaner worker needs more than this for its offset map."""

ALL_LOG_DIRS = "*"


def without_detours(path: str) -> str:
    """The path without empty and ``.`` parts, so that ``/a/`` and ``/a`` are the same."""
    absolute = "/" if path.startswith("/") else ""
    return absolute + "/".join(part for part in path.split("/") if part not in ("", "."))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLogConfig:
    """Every broker key of the storage engine as a typed field, named as the key with underscores for dots.

    ``BrokerLogConfig()`` holds Apache's defaults; the constructor takes typed values unchecked, ``from_props`` checks
    text. ``log_dirs`` is resolved: where it is not set it is ``log_dir``; so is a ``*`` in ``cordoned_log_dirs``. Keys
    that only give a topic its default, with their precedence of milliseconds over minutes over hours, are read through
    ``topic_defaults``.
    """

    log_dir: tuple[str, ...] = BROKER_CONFIG.default("log.dir")
    log_dirs: tuple[str, ...] = BROKER_CONFIG.default("log.dirs")
    cordoned_log_dirs: tuple[str, ...] = BROKER_CONFIG.default("cordoned.log.dirs")
    log_segment_bytes: int = BROKER_CONFIG.default("log.segment.bytes")
    log_roll_ms: int | None = BROKER_CONFIG.default("log.roll.ms")
    log_roll_hours: int = BROKER_CONFIG.default("log.roll.hours")
    log_roll_jitter_ms: int | None = BROKER_CONFIG.default("log.roll.jitter.ms")
    log_roll_jitter_hours: int = BROKER_CONFIG.default("log.roll.jitter.hours")
    log_retention_ms: int | None = BROKER_CONFIG.default("log.retention.ms")
    log_retention_minutes: int | None = BROKER_CONFIG.default("log.retention.minutes")
    log_retention_hours: int = BROKER_CONFIG.default("log.retention.hours")
    log_retention_bytes: int = BROKER_CONFIG.default("log.retention.bytes")
    log_retention_check_interval_ms: int = BROKER_CONFIG.default("log.retention.check.interval.ms")
    log_cleanup_policy: tuple[str, ...] = BROKER_CONFIG.default("log.cleanup.policy")
    log_index_size_max_bytes: int = BROKER_CONFIG.default("log.index.size.max.bytes")
    log_index_interval_bytes: int = BROKER_CONFIG.default("log.index.interval.bytes")
    log_flush_interval_messages: int = BROKER_CONFIG.default("log.flush.interval.messages")
    log_flush_interval_ms: int | None = BROKER_CONFIG.default("log.flush.interval.ms")
    log_flush_scheduler_interval_ms: int = BROKER_CONFIG.default("log.flush.scheduler.interval.ms")
    log_flush_offset_checkpoint_interval_ms: int = BROKER_CONFIG.default("log.flush.offset.checkpoint.interval.ms")
    log_flush_start_offset_checkpoint_interval_ms: int = BROKER_CONFIG.default(
        "log.flush.start.offset.checkpoint.interval.ms"
    )
    log_segment_delete_delay_ms: int = BROKER_CONFIG.default("log.segment.delete.delay.ms")
    log_preallocate: bool = BROKER_CONFIG.default("log.preallocate")
    num_recovery_threads_per_data_dir: int = BROKER_CONFIG.default("num.recovery.threads.per.data.dir")
    log_message_timestamp_type: str = BROKER_CONFIG.default("log.message.timestamp.type")
    log_message_timestamp_before_max_ms: int = BROKER_CONFIG.default("log.message.timestamp.before.max.ms")
    log_message_timestamp_after_max_ms: int = BROKER_CONFIG.default("log.message.timestamp.after.max.ms")
    message_max_bytes: int = BROKER_CONFIG.default("message.max.bytes")
    compression_type: str = BROKER_CONFIG.default("compression.type")
    compression_gzip_level: int = BROKER_CONFIG.default("compression.gzip.level")
    compression_lz4_level: int = BROKER_CONFIG.default("compression.lz4.level")
    compression_zstd_level: int = BROKER_CONFIG.default("compression.zstd.level")
    unclean_leader_election_enable: bool = BROKER_CONFIG.default("unclean.leader.election.enable")
    min_insync_replicas: int = BROKER_CONFIG.default("min.insync.replicas")
    log_local_retention_ms: int = BROKER_CONFIG.default("log.local.retention.ms")
    log_local_retention_bytes: int = BROKER_CONFIG.default("log.local.retention.bytes")
    log_cleaner_enable: bool = BROKER_CONFIG.default("log.cleaner.enable")
    log_cleaner_threads: int = BROKER_CONFIG.default("log.cleaner.threads")
    log_cleaner_dedupe_buffer_size: int = BROKER_CONFIG.default("log.cleaner.dedupe.buffer.size")
    log_cleaner_io_buffer_size: int = BROKER_CONFIG.default("log.cleaner.io.buffer.size")
    log_cleaner_io_buffer_load_factor: float = BROKER_CONFIG.default("log.cleaner.io.buffer.load.factor")
    log_cleaner_io_max_bytes_per_second: float = BROKER_CONFIG.default("log.cleaner.io.max.bytes.per.second")
    log_cleaner_backoff_ms: int = BROKER_CONFIG.default("log.cleaner.backoff.ms")
    log_cleaner_min_cleanable_ratio: float = BROKER_CONFIG.default("log.cleaner.min.cleanable.ratio")
    log_cleaner_delete_retention_ms: int = BROKER_CONFIG.default("log.cleaner.delete.retention.ms")
    log_cleaner_min_compaction_lag_ms: int = BROKER_CONFIG.default("log.cleaner.min.compaction.lag.ms")
    log_cleaner_max_compaction_lag_ms: int = BROKER_CONFIG.default("log.cleaner.max.compaction.lag.ms")
    log_dir_failure_timeout_ms: int = BROKER_CONFIG.default("log.dir.failure.timeout.ms")
    producer_id_expiration_ms: int = BROKER_CONFIG.default("producer.id.expiration.ms")
    transaction_max_timeout_ms: int = BROKER_CONFIG.default("transaction.max.timeout.ms")
    transaction_partition_verification_enable: bool = BROKER_CONFIG.default("transaction.partition.verification.enable")
    log_initial_task_delay_ms: int = BROKER_CONFIG.default("log.initial.task.delay.ms")
    producer_id_expiration_check_interval_ms: int = BROKER_CONFIG.default("producer.id.expiration.check.interval.ms")
    ottla_produce_validation: str = BROKER_CONFIG.default("ottla.produce.validation")

    def __post_init__(self) -> None:
        # The key's own default is null, which no reader of this field should have to think about.
        if self.log_dirs is None:
            object.__setattr__(self, "log_dirs", self.log_dir)
        if ALL_LOG_DIRS in (self.cordoned_log_dirs or ()):
            object.__setattr__(self, "cordoned_log_dirs", self.log_dirs)

    @classmethod
    def from_props(cls, props: Mapping[str, object]) -> Self:
        """The storage engine's part of what a server.properties gives; a name that is no broker key warns.

        InvalidConfigError for a bad value, for values that contradict each other, and for a default that no
        topic may have.
        """
        return cls.from_values(BROKER_CONFIG.parse(props))

    @classmethod
    def from_values(cls, values: Mapping[str, ConfigValue]) -> Self:
        """The storage engine's part of broker values, by key name, that are parsed already; checked as a whole."""
        fields: dict[str, Any] = {key.field_name: values[key.name] for key in LOG_KEYS if key.name in values}
        config = cls(**fields)
        config._validate()
        return config

    def topic_default(self, topic_name: str) -> ConfigValue:
        """What a topic gets for one key that it does not set."""
        if topic_name in TOPIC_CONFIG_SYNONYMS:
            return self._in_force(topic_name)[1]
        return TOPIC_CONFIG[topic_name].default

    def topic_defaults(self) -> LogConfig:
        """What a topic gets that sets nothing itself."""
        values = {}
        for topic_name in TOPIC_CONFIG_SYNONYMS:
            synonym, value = self._in_force(topic_name)
            # Under the broker key's name, so that an error names what the user wrote.
            values[topic_name] = replace(TOPIC_CONFIG[topic_name], name=synonym.name).parse(value)
        return LogConfig.from_values(values)

    def _in_force(self, topic_name: str) -> tuple[Synonym, ConfigValue]:
        """The broker key that decides a topic key's default, and that default in the topic key's unit."""
        for synonym in TOPIC_CONFIG_SYNONYMS[topic_name]:
            value = getattr(self, BROKER_CONFIG[synonym.name].field_name)
            if value is None:
                continue
            if synonym.factor != 1:
                value *= synonym.factor
            # However a broker says "for ever", a topic knows -1 only.
            return synonym, max(value, -1) if topic_name == "retention.ms" else value
        raise AssertionError(f"the last synonym of {topic_name} has no default")

    def _validate(self) -> None:
        synonym, retention_ms = self._in_force("retention.ms")
        if retention_ms == 0:
            raise InvalidConfigError(
                f"Invalid value 0 for configuration {synonym.name}: Value must set a limit or none "
                "(allowed: at least 1, or -1 for no limit)"
            )
        per_worker = self.log_cleaner_dedupe_buffer_size // self.log_cleaner_threads if self.log_cleaner_threads else 0
        if per_worker <= MIN_DEDUPE_BUFFER_BYTES:
            raise InvalidConfigError(
                f"Invalid value {self.log_cleaner_dedupe_buffer_size} for configuration "
                f"log.cleaner.dedupe.buffer.size: it is shared by log.cleaner.threads={self.log_cleaner_threads} "
                f"(allowed: more than {MIN_DEDUPE_BUFFER_BYTES} for each of at least one thread)"
            )
        validate_compaction_lag(self.topic_defaults())
