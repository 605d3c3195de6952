"""ListTransactions (api key 66)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class ListTransactionsRequest(Message, api_key=66, versions="0-2", flexible="0+"):
    state_filters: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    producer_id_filters: Sequence[int] = field(ArrayOf(INT64), "0+", default=())
    duration_filter: int = field(INT64, "1+", default=-1)
    transactional_id_pattern: str | None = field(STRING, "2+", default=None, nullable="2+")


class TransactionState(Message):
    transactional_id: str = field(STRING, "0+", default="")
    producer_id: int = field(INT64, "0+", default=0)
    transaction_state: str = field(STRING, "0+", default="")


class ListTransactionsResponse(Message, api_key=66, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    unknown_state_filters: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    transaction_states: Sequence[TransactionState] = field(ArrayOf(TransactionState), "0+", default=())
