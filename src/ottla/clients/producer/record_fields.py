"""What a user gives for a record into what is sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla.clients.errors import RecordTooLargeError, SerializationError
from ottla.clients.serialization import Serializer
from ottla.records.record import Header

if TYPE_CHECKING:
    from ottla.config.client_configs import ProducerConfig

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
    """Headers in the order given; a mapping will do."""
    if not headers:
        return ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(Header(key, None if value is None else bytes(value)) for key, value in pairs)
