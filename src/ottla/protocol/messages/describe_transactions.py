"""DescribeTransactions (api key 65)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class DescribeTransactionsRequest(Message, api_key=65, versions="0", flexible="0+"):
    transactional_ids: Sequence[str] = field(ArrayOf(STRING), "0+", default=())


class TopicData(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class TransactionState(Message):
    error_code: int = field(INT16, "0+", default=0)
    transactional_id: str = field(STRING, "0+", default="")
    transaction_state: str = field(STRING, "0+", default="")
    transaction_timeout_ms: int = field(INT32, "0+", default=0)
    transaction_start_time_ms: int = field(INT64, "0+", default=0)
    producer_id: int = field(INT64, "0+", default=0)
    producer_epoch: int = field(INT16, "0+", default=0)
    topics: Sequence[TopicData] = field(ArrayOf(TopicData), "0+", default=())


class DescribeTransactionsResponse(Message, api_key=65, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    transaction_states: Sequence[TransactionState] = field(ArrayOf(TransactionState), "0+", default=())
