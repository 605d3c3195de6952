"""InitProducerId (api key 22)."""

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, Message, field


class InitProducerIdRequest(Message, api_key=22, versions="0-6", flexible="2+"):
    transactional_id: str | None = field(STRING, "0+", default="", nullable="0+")
    transaction_timeout_ms: int = field(INT32, "0+", default=0)
    producer_id: int = field(INT64, "3+", default=-1)
    producer_epoch: int = field(INT16, "3+", default=-1)
    enable2_pc: bool = field(BOOL, "6+", default=False)
    keep_prepared_txn: bool = field(BOOL, "6+", default=False)


class InitProducerIdResponse(Message, api_key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    producer_id: int = field(INT64, "0+", default=-1)
    producer_epoch: int = field(INT16, "0+", default=0)
    ongoing_txn_producer_id: int = field(INT64, "6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, "6+", default=-1)
