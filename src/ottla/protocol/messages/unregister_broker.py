"""UnregisterBroker (api key 64)."""

from ottla.protocol.message import INT16, INT32, STRING, Message, field


class UnregisterBrokerRequest(Message, api_key=64, versions="0", flexible="0+"):
    broker_id: int = field(INT32, "0+", default=0)


class UnregisterBrokerResponse(Message, api_key=64, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
