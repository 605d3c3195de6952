"""The headers of requests and responses."""

from ottla.protocol.message import INT16, INT32, STRING, Message, field


class RequestHeader(Message, versions="1-2", flexible="2+"):
    request_api_key: int = field(INT16, "0+", default=0)
    request_api_version: int = field(INT16, "0+", default=0)
    correlation_id: int = field(INT32, "0+", default=0)
    client_id: str | None = field(STRING, "1+", default="", nullable="1+", flexible=False)


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    correlation_id: int = field(INT32, "0+", default=0)
