"""Records of the metadata log as JSON."""

import re
from typing import Any

from ottla.cli.message_json import message_json
from ottla.metadata.serde import decode_record
from ottla.protocol.varint import read_uvarint


def metadata_record_json(value: bytes) -> dict[str, Any]:
    """{"type", "version", "data"} of a record's value; MetadataParseError if it is none."""
    record = decode_record(value)
    _, position = read_uvarint(value, 0)
    _, position = read_uvarint(value, position)
    version, _ = read_uvarint(value, position)
    return {"type": record_type_name(type(record).__name__), "version": version, "data": message_json(record, version)}


def record_type_name(class_name: str) -> str:
    """``TopicRecord`` is TOPIC_RECORD in Kafka's dumps."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).upper()
