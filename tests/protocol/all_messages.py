"""Every message that Ottla declares, with every version of it."""

from typing import Any

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import ArrayOf, Message, Type
from ottla.protocol.messages.headers import RequestHeader, ResponseHeader

MESSAGE_CLASSES: tuple[type[Message], ...] = (
    RequestHeader,
    ResponseHeader,
    *(cls for key in ApiKey for cls in (key.request_class, key.response_class)),
)

MESSAGES_AND_VERSIONS: list[tuple[type[Message], int]] = [
    (cls, version)
    for cls in MESSAGE_CLASSES
    for version in range(cls.schema.versions.lowest, cls.schema.versions.highest + 1)
]

_VALUES = {
    Type.BOOL: True,
    Type.UUID: Uuid(b"0123456789abcdef"),
    Type.STRING: "ä",
    Type.BYTES: b"b",
    Type.RECORDS: b"r",
    Type.FLOAT64: 1.5,
}


def filled(cls: type[Message], version: int) -> Message:
    """A message with one element in every array, no struct left out, and no field at its default."""
    return cls(**{field.name: _filled(field.type, version) for field in cls.schema.fields if version in field.versions})


def _filled(kind: Any, version: int) -> Any:
    if isinstance(kind, ArrayOf):
        return [_filled(kind.element, version)]
    if isinstance(kind, Type):
        return _VALUES.get(kind, 5)
    return filled(kind, version)
