"""Messages of the protocol as JSON, as Apache's converters write them: camel case, and what a version has."""

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from ottla.protocol.message import ArrayOf, Message

if TYPE_CHECKING:
    from ottla.protocol.message import FieldType


def message_json(message: Message, version: int) -> dict[str, Any]:
    """The fields that ``version`` has, by Apache's names; tagged fields only where they are not the default."""
    return {
        camel_case(field.name): _value(getattr(message, field.name), field.type, version)
        for field in message.schema.fields
        if version in field.versions
        and not (version in field.tagged and is_default(getattr(message, field.name), field.default))
    }


def compact(document: object) -> str:
    """JSON without blanks, as Apache's tools print it."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def camel_case(name: str) -> str:
    """``topic_id`` is topicId in Kafka's JSON."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def is_default(value: object, default: object) -> bool:
    """Whether a field has its default; a list that was read is as good as the tuple that a default is."""
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    return value == default


def _value(value: Any, kind: "FieldType", version: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(kind, ArrayOf):
        return [_value(each, kind.element, version) for each in value]
    if isinstance(value, Message):
        return message_json(value, version)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    return str(value)  # an id
