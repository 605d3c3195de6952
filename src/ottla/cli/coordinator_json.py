"""Records of the group and transaction coordinators as JSON."""

from typing import TYPE_CHECKING, Any, Final

from ottla.cli.message_json import compact, message_json
from ottla.common.errors import InvalidRequestError
from ottla.coordinator.record_serde import RecordSerde, UnknownRecordTypeError

if TYPE_CHECKING:
    from collections.abc import Container

    from ottla.protocol.message import Message

_GROUP_METADATA: Final = 2
_CONSUMER: Final = "consumer"


def coordinator_serde(coordinator: str) -> RecordSerde:
    """What reads the records of the ``group`` or of the ``transaction`` coordinator."""
    if coordinator == "group":
        from ottla.group.records import RECORD_TYPES as GROUP_TYPES

        return RecordSerde(GROUP_TYPES)
    from ottla.transaction.records import RECORD_TYPES as TRANSACTION_TYPES

    return RecordSerde(TRANSACTION_TYPES)


def coordinator_record(coordinator: str, types: "Container[int]", key: bytes | None, value: bytes | None) -> bytes:
    """What Kafka's formatters print: one document without a line end; nothing for a record of another type."""
    if key is None:
        return b""
    try:
        record = coordinator_serde(coordinator).decode(key, value)
    except UnknownRecordTypeError:
        return b""
    record_type = record.key.schema.api_key
    if record_type not in types:
        return b""
    document = {
        "key": {"type": record_type, "data": message_json(record.key, 0)},
        "value": None
        if record.value is None
        else {"version": record.version, "data": message_json(record.value, record.version)},
    }
    return compact(document).encode()


def group_value_json(value: "Message", version: int) -> dict[str, Any]:
    """The value of a group's record; a classic consumer's subscription and assignment are read, too."""
    document = message_json(value, version)
    if value.schema.api_key == _GROUP_METADATA and document.get("protocolType") == _CONSUMER:
        from ottla.protocol import consumer_protocol

        for member, shown in zip(getattr(value, "members", ()), document["members"], strict=True):
            for name, decode in (
                ("subscription", consumer_protocol.decode_subscription),
                ("assignment", consumer_protocol.decode_assignment),
            ):
                try:
                    data = getattr(member, name)
                    shown[name] = message_json(decode(data), consumer_protocol.decode_version(data))
                except InvalidRequestError:  # then its bytes are all that can be shown
                    continue
    return document
