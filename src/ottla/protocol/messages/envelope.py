"""Envelope (api key 58)."""

from ottla.protocol.message import BYTES, INT16, Message, field


class EnvelopeRequest(Message, api_key=58, versions="0", flexible="0+"):
    request_data: bytes = field(BYTES, "0+", default=b"")
    request_principal: bytes | None = field(BYTES, "0+", default=b"", nullable="0+")
    client_host_address: bytes = field(BYTES, "0+", default=b"")


class EnvelopeResponse(Message, api_key=58, versions="0", flexible="0+"):
    response_data: bytes | None = field(BYTES, "0+", default=None, nullable="0+")
    error_code: int = field(INT16, "0+", default=0)
