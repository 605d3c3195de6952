"""What a user gives for a record into what is sent."""

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final

from ottla.clients.errors import RecordTooLargeError, SerializationError
from ottla.clients.serialization import Serializer
from ottla.records.record import Header

if TYPE_CHECKING:
    from ottla.config.client_configs import ProducerConfig

PARTITION_MAX: Final = (1 << 31) - 1
TIMESTAMP_MAX_MS: Final = (1 << 63) - 1

Headers = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]


def check_size(size_bytes: int, config: "ProducerConfig") -> None:
    """RecordTooLargeError if a batch with nothing but the record would be more than may be sent, or kept."""
    for key, limit in (("max.request.size", config.max_request_size), ("buffer.memory", config.buffer_memory)):
        if size_bytes > limit:
            raise RecordTooLargeError(
                f"The message is {size_bytes} bytes when serialized which is larger than {limit}, which is the "
                f"value of the {key} configuration."
            )


def serialize(serializer: Serializer[Any] | None, topic: str, data: Any) -> bytes | None:
    """The bytes of a key or value that is not None; SerializationError if there is no way to get them."""
    if serializer is not None:
        try:
            data = serializer(topic, data)
        except Exception as error:
            raise SerializationError(f"Error serializing data for topic {topic}: {error}") from error
    if data is None or type(data) is bytes:
        return data
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise SerializationError(
        f"Keys and values must be bytes, but got {type(data).__name__}: give the producer a serializer for them"
    )


def as_headers(headers: Headers | None) -> Sequence[Header]:
    """Headers in the order given; a mapping will do. TypeError for a key that is no text, a value that is no bytes."""
    if not headers:
        return ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(_header(key, value) for key, value in pairs)


def _header(key: object, value: object) -> Header:
    if not isinstance(key, str):
        raise TypeError(f"The key of a header must be a str, but got {type(key).__name__}")
    if value is None or isinstance(value, bytes | bytearray | memoryview):
        return Header(key, None if value is None else bytes(value))
    raise TypeError(f"The value of a header must be bytes or None, but got {type(value).__name__}")


def as_partition(partition: Any) -> int:
    """A partition that there may be; TypeError for what is no whole number, ValueError for what is no partition."""
    number = index(partition)
    if not 0 <= number <= PARTITION_MAX:
        raise ValueError(f"Invalid partition: {partition}. It must not be negative, nor take more than 32 bits.")
    return number


def as_timestamp(timestamp_ms: Any) -> int:
    """A time that a record can have; TypeError for what is no whole number, ValueError for what is no time."""
    number = index(timestamp_ms)
    if not 0 <= number <= TIMESTAMP_MAX_MS:
        raise ValueError(f"Invalid timestamp: {timestamp_ms}. It must not be negative, nor take more than 64 bits.")
    return number
