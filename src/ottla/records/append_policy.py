"""What a topic's configuration demands of an append, worked out once so that the hot path only compares numbers."""

from dataclasses import dataclass, fields
from typing import Final, Self

from ottla.common.errors import MessageTooLargeError
from ottla.config.topic import LogConfig
from ottla.records.batch import HEADER_BYTES
from ottla.records.compression import Compression, compression_for_name
from ottla.records.record import DECOMPRESSED_BYTES_MAX

_PRODUCER: Final = "producer"
_UNCOMPRESSED: Final = "uncompressed"
_LOG_APPEND_TIME: Final = "LogAppendTime"
_EXPANSION_MAX: Final = 16
_EXPANDED_BYTES_MIN: Final = 16 * 1024 * 1024


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

    def __reduce__(self) -> tuple[type["AppendPolicy"], tuple[object, ...]]:
        """By its fields: what pickle does by itself a frozen class does not allow once it is compiled."""
        return AppendPolicy, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def decompressed_bytes_max(self) -> int:
        """The most that a batch may decompress to where its records are read: 16 times what it may be itself.

        At least 16 MiB, and what the whole batch may be where it is to be stored uncompressed. Only Java's producer
        fills batches by what it expects of its codec, and it splits a batch that is refused for its size.
        """
        if self.target_compression is Compression.NONE:
            return max(self.max_message_bytes - HEADER_BYTES, 0)
        return min(max(_EXPANSION_MAX * self.max_message_bytes, _EXPANDED_BYTES_MIN), DECOMPRESSED_BYTES_MAX)

    def ensure_fits(self, size_in_bytes: int) -> None:
        """Raise MessageTooLargeError for a batch of more than ``max.message.bytes``."""
        if size_in_bytes > self.max_message_bytes:
            raise MessageTooLargeError(
                f"The record batch size in the append is {size_in_bytes} bytes which exceeds the maximum configured "
                f"value of {self.max_message_bytes}"
            )

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
