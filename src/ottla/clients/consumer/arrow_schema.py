"""The columns that ``Consumer.arrow`` gives. Needs pyarrow."""

from typing import Final

import pyarrow as pa

from ottla.common.topic_partition import TopicPartition

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
"""``timestamp_type`` is 0 for the producer's clock and 1 for the broker's, as :class:`TimestampType`."""


def constant_columns(partition: TopicPartition, rows: int) -> "tuple[pa.Array, pa.Array]":
    """Topic and partition, which all rows of a batch have in common."""
    zeros = pa.py_buffer(bytes(4 * rows))
    indices = pa.Array.from_buffers(pa.int32(), rows, [None, zeros])
    topics = pa.DictionaryArray.from_arrays(indices, pa.array([partition.topic], pa.string()))
    numbers = pa.py_buffer(partition.partition.to_bytes(4, "little") * rows)
    return topics, pa.Array.from_buffers(pa.int32(), rows, [None, numbers])
