"""What a topic's configuration demands of an append, worked out once so that the hot path only compares numbers."""

from dataclasses import dataclass
from typing import Final, Self

from ottla.config.topic import LogConfig
from ottla.records.compression import Compression, compression_for_name

_PRODUCER: Final = "producer"
_UNCOMPRESSED: Final = "uncompressed"
_LOG_APPEND_TIME: Final = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class AppendPolicy:
    """The rules for what clients and coordinators append to one topic.

    ``target_compression`` None keeps the producer's codec. ``strict`` walks the records of every batch; otherwise only
    those of compacted topics, of batches to recompress, and of headers that give reason to.
    """

    compacted: bool = False
    target_compression: Compression | None = None
    level: int | None = None
    log_append_time: bool = False
    before_max_ms: int = (1 << 63) - 1
    after_max_ms: int = 3_600_000
    max_message_bytes: int = 1_048_588
    strict: bool = False

    @classmethod
    def from_config(cls, config: LogConfig, strict: bool = False) -> Self:
        """The policy of a topic with this configuration."""
        return cls(
            compacted=config.compact,
            target_compression=_target_compression(config.compression_type),
            level=config.compression_level,
            log_append_time=config.message_timestamp_type == _LOG_APPEND_TIME,
            before_max_ms=config.message_timestamp_before_max_ms,
            after_max_ms=config.message_timestamp_after_max_ms,
            max_message_bytes=config.max_message_bytes,
            strict=strict,
        )


def _target_compression(name: str) -> Compression | None:
    if name == _PRODUCER:
        return None
    return Compression.NONE if name == _UNCOMPRESSED else compression_for_name(name)
