"""EndTxn (api key 26)."""

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, Message, field


class EndTxnRequest(Message, api_key=26, versions="0-5", flexible="3+"):
    transactional_id: str = field(STRING, "0+", default="")
    producer_id: int = field(INT64, "0+", default=0)
    producer_epoch: int = field(INT16, "0+", default=0)
    committed: bool = field(BOOL, "0+", default=False)


class EndTxnResponse(Message, api_key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    producer_id: int = field(INT64, "5+", default=-1)
    producer_epoch: int = field(INT16, "5+", default=-1)
