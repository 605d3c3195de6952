"""A consumed record as one JSON document on a line."""

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.clients import ConsumerRecord


def record_json(record: "ConsumerRecord[bytes, bytes]") -> str:
    """topic, partition, offset, timestamp, timestamp_type, leader_epoch, headers (pairs), key and value."""
    return json.dumps(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms if record.timestamp_ms >= 0 else None,
            "timestamp_type": record.timestamp_type.name.lower(),
            "leader_epoch": record.leader_epoch if record.leader_epoch >= 0 else None,
            "headers": [[key, bytes_json(value)] for key, value in record.headers],
            "key": bytes_json(record.key),
            "value": bytes_json(record.value),
        },
        ensure_ascii=False,
    )


def bytes_json(data: bytes | None) -> Any:
    """Text where the bytes are UTF-8, {"base64": …} where they are not, null for null."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
