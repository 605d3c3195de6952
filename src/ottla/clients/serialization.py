"""Keys and values to bytes and back, in the forms that Apache's own serializers have.

A serializer is anything that can be called with a topic and the data, or with the data alone, or that has a method
``serialize(topic, data)``; a deserializer likewise, with ``deserialize``. None stays null and is never shown to one of
those here.
"""

import inspect
import struct
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from ottla.clients.errors import SerializationError
from ottla.common.errors import InvalidConfigError

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)

Buffer = bytes | bytearray | memoryview


class Serializer(Protocol[T_contra]):
    """Makes bytes of a key or value."""

    def __call__(self, topic: str, data: T_contra, /) -> bytes | None:
        """The bytes; None for null."""


class Deserializer(Protocol[T_co]):
    """Makes a key or value of bytes."""

    def __call__(self, topic: str, data: bytes | None, /) -> T_co:
        """The data; ``data`` is None for null."""


def serialize_bytes(_topic: str, data: Buffer | None, /) -> bytes | None:
    """Bytes, as they are."""
    if data is None or type(data) is bytes:
        return data
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise SerializationError(f"Expected bytes, but it was a {type(data).__name__}; give a serializer for it")


def deserialize_bytes(_topic: str, data: bytes | None, /) -> bytes | None:
    """Bytes, as they are."""
    return data


def serialize_str(_topic: str, data: str | None, /) -> bytes | None:
    """Text as UTF-8."""
    return None if data is None else data.encode()


def deserialize_str(_topic: str, data: bytes | None, /) -> str | None:
    """Text of UTF-8; UnicodeDecodeError for what is none."""
    return None if data is None else data.decode()


def serialize_uuid(_topic: str, data: UUID | None, /) -> bytes | None:
    """An id in its usual text form."""
    return None if data is None else str(data).encode()


def deserialize_uuid(_topic: str, data: bytes | None, /) -> UUID | None:
    """An id of its usual text form."""
    return None if data is None else UUID(data.decode())


def serialize_json(_topic: str, data: object, /) -> bytes | None:
    """JSON without blanks; None is null, not the word."""
    import json  # which few need

    return None if data is None else json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()


def deserialize_json(_topic: str, data: bytes | None, /) -> Any:
    """What JSON says."""
    import json  # which few need

    return None if data is None else json.loads(data)


def serialize_void(_topic: str, data: None, /) -> None:
    """Null, and nothing else."""
    if data is not None:
        raise SerializationError("Expected None")


def deserialize_void(_topic: str, data: bytes | None, /) -> None:
    """Null, and nothing else."""
    if data is not None:
        raise SerializationError("Data should be null")


def _packs(name: str, form: str) -> tuple[Serializer[Any], Deserializer[Any]]:
    """The two functions of a type that has one size, in network order."""
    layout = struct.Struct(form)

    def serialize(_topic: str, data: Any, /) -> bytes | None:
        try:
            return None if data is None else layout.pack(data)
        except struct.error as error:
            raise SerializationError(f"{data!r} is no {name} of {layout.size} bytes: {error}") from error

    def deserialize(_topic: str, data: bytes | None, /) -> Any:
        if data is None:
            return None
        if len(data) != layout.size:
            raise SerializationError(f"Size of data is {len(data)}; a {name} has {layout.size} bytes")
        return layout.unpack(data)[0]

    return serialize, deserialize


serialize_short, deserialize_short = _packs("short", ">h")
serialize_int, deserialize_int = _packs("int", ">i")
serialize_long, deserialize_long = _packs("long", ">q")
serialize_float, deserialize_float = _packs("float", ">f")
serialize_double, deserialize_double = _packs("double", ">d")


_BOOLEANS: Final[dict[bool | None, bytes | None]] = {None: None, True: b"\1", False: b"\0"}


def serialize_boolean(_topic: str, data: bool | None, /) -> bytes | None:
    """One byte, 1 or 0."""
    if data is None or isinstance(data, bool):
        return _BOOLEANS[data]
    raise SerializationError(f"{data!r} is no boolean")


def deserialize_boolean(_topic: str, data: bytes | None, /) -> bool | None:
    """One byte, 1 or 0, and no other."""
    for meaning, expected in _BOOLEANS.items():
        if data == expected:
            return meaning
    raise SerializationError("A boolean is one byte, 0 or 1")


_APACHE: Final = "org.apache.kafka.common.serialization."
_NAMED: Final[dict[str, tuple[Serializer[Any], Deserializer[Any]]]] = {
    "ByteArray": (serialize_bytes, deserialize_bytes),
    "Bytes": (serialize_bytes, deserialize_bytes),
    "ByteBuffer": (serialize_bytes, deserialize_bytes),
    "String": (serialize_str, deserialize_str),
    "Short": (serialize_short, deserialize_short),
    "Integer": (serialize_int, deserialize_int),
    "Long": (serialize_long, deserialize_long),
    "Float": (serialize_float, deserialize_float),
    "Double": (serialize_double, deserialize_double),
    "Boolean": (serialize_boolean, deserialize_boolean),
    "UUID": (serialize_uuid, deserialize_uuid),
    "Void": (serialize_void, deserialize_void),
}
"""By what Apache's classes are called before Serializer and Deserializer."""


def as_serializer(given: object) -> Serializer[Any] | None:
    """What a user gave: None (bytes), a callable of one or two arguments, an object with ``serialize``, Apache's name.

    InvalidConfigError for all else.
    """
    serializer: Serializer[Any] | None = _resolve(given, "serialize", "Serializer", 0)
    return serializer


def as_deserializer(given: object) -> Deserializer[Any] | None:
    """As ``as_serializer``, with ``deserialize``."""
    deserializer: Deserializer[Any] | None = _resolve(given, "deserialize", "Deserializer", 1)
    return deserializer


def _resolve(given: object, method: str, suffix: str, index: int) -> Any:
    if given is None:
        return None
    if isinstance(given, str):
        known = _NAMED.get(given.removeprefix(_APACHE).removesuffix(suffix))
        if known is None or not given.endswith(suffix):
            raise InvalidConfigError(f"There is no {suffix.lower()} {given} here; give a callable instead")
        return known[index]
    function = getattr(given, method, given)
    if not callable(function):
        raise InvalidConfigError(f"{given!r} is no {suffix.lower()}: it cannot be called and has no method {method}")
    return function if _takes_topic(function) else _without_topic(function)


def _takes_topic(function: Callable[..., object]) -> bool:
    """Whether a callable needs two arguments; one that does not say (bytes, int) takes the data alone."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return False
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return len(positional) == 2


def _without_topic(function: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    def call(_topic: str, data: Any, /) -> Any:
        return None if data is None else function(data)

    return call
