"""A record for ``send_batch``, where a plain value, a pair or a dict will not do."""

from typing import Any, Final, NamedTuple

from ottla.clients.producer.record_fields import Headers


class BatchRecord(NamedTuple):
    """What ``send`` takes for one record; key and value go through the producer's serializers, if it has any."""

    value: Any = None
    key: Any = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


NAMES: Final = ("key", "value", "timestamp", "partition", "headers")
"""The columns of a table, and the keys of a dict."""


def as_batch_record(item: Any) -> BatchRecord:
    """An item of an iterable: a BatchRecord, a pair of key and value, a dict with NAMES, or else just a value."""
    if isinstance(item, BatchRecord):
        return item
    if isinstance(item, tuple):
        if len(item) != 2:
            raise TypeError(f"A tuple in a batch is a key and a value, but one has {len(item)} fields")
        return BatchRecord(item[1], item[0])
    if isinstance(item, dict):
        if not item.keys() <= set(NAMES):
            unknown = ", ".join(sorted(str(name) for name in item.keys() - set(NAMES)))
            raise TypeError(f"A dict in a batch has {', '.join(NAMES)}, but one has {unknown}")
        return BatchRecord(
            item.get("value"), item.get("key"), item.get("headers"), item.get("partition"), item.get("timestamp")
        )
    return BatchRecord(item)
