"""The records of __transaction_state, as Apache Kafka writes them."""

from collections.abc import Mapping, Sequence
from typing import Final

from ottla.protocol.message import INT8, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class TransactionLogKey(Message, api_key=0, versions="0", flexible="none"):
    """Whose transaction it is."""

    transactional_id: str = field(STRING, "0", default="")


class PartitionsSchema(Message):
    """Partitions of one topic in a transaction."""

    topic: str = field(STRING, "0+", default="")
    partition_ids: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class TransactionLogValue(Message, api_key=0, versions="0-1", flexible="1+"):
    """The state of a transactional id. Its partitions are None in EMPTY, and an empty list when it is complete."""

    producer_id: int = field(INT64, "0+", default=0)
    previous_producer_id: int = field(INT64, "1+", default=-1, tag=0, tagged="1+")
    next_producer_id: int = field(INT64, "1+", default=-1, tag=1, tagged="1+")
    producer_epoch: int = field(INT16, "0+", default=0)
    next_producer_epoch: int = field(INT16, "1+", default=-1, tag=3, tagged="1+")
    transaction_timeout_ms: int = field(INT32, "0+", default=0)
    transaction_status: int = field(INT8, "0+", default=0)
    transaction_partitions: Sequence[PartitionsSchema] | None = field(
        ArrayOf(PartitionsSchema), "0+", default=(), nullable="0+"
    )
    transaction_last_update_timestamp_ms: int = field(INT64, "0+", default=0)
    transaction_start_timestamp_ms: int = field(INT64, "0+", default=0)
    client_transaction_version: int = field(INT16, "1+", default=0, tag=2, tagged="1+")


RECORD_TYPES: Final[Mapping[int, tuple[type[Message], type[Message]]]] = {0: (TransactionLogKey, TransactionLogValue)}
"""Key and value classes by record type, for the serde."""
