"""Which columns an Arrow batch of records has, and of which types. Needs pyarrow."""

from enum import IntEnum
from typing import Any, Final

import pyarrow as pa

HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])

SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms"), nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.field("item", HEADER, nullable=False)), nullable=False),
    ]
)
"""What ``Consumer.arrow`` gives. ``timestamp_type`` is 0 for the producer's clock and 1 for the broker's, as
:class:`TimestampType`."""

MICROSECONDS: Final = 1000
TIMESTAMP_MS_MAX: Final = ((1 << 63) - 1) // MICROSECONDS
"""What fits into a column of microseconds; a record's time beyond that, which is nonsense, becomes this."""


class Part(IntEnum):
    """What a column holds of a record."""

    TOPIC = 0
    PARTITION = 1
    OFFSET = 2
    TIMESTAMP = 3
    TIMESTAMP_TYPE = 4
    KEY = 5
    VALUE = 6
    HEADERS = 7


_PARTS: Final = {part.name.lower(): part for part in Part} | {"timestampType": Part.TIMESTAMP_TYPE}


class Layout:
    """The columns that a builder fills: any of :class:`Part`, by their names, in any order.

    Types may be chosen where a record leaves room: a topic as a dictionary or as strings, a timestamp in milliseconds
    or microseconds, a timestamp's type as any integer. Headers that may be null are that where a record has none.
    """

    __slots__ = ("fields", "has_headers", "has_keys", "has_values", "schema")

    def __init__(self, schema: "pa.Schema") -> None:
        self.schema = schema
        self.fields: list[tuple[Part, Any]] = [(_PARTS[field.name], field) for field in schema]
        parts = {part for part, _ in self.fields}
        self.has_keys = Part.KEY in parts
        self.has_values = Part.VALUE in parts
        self.has_headers = Part.HEADERS in parts


ALL_PARTS: Final = Layout(SCHEMA)


def is_in_microseconds(field: "pa.Field") -> bool:
    """Whether a column of timestamps is; the other choice is milliseconds, as records have them."""
    assert field.type.unit in ("ms", "us"), field
    return bool(field.type.unit == "us")
