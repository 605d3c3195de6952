"""SaslAuthenticate (api key 36)."""

from ottla.protocol.message import BYTES, INT16, INT64, STRING, Message, field


class SaslAuthenticateRequest(Message, api_key=36, versions="0-2", flexible="2+"):
    auth_bytes: bytes = field(BYTES, "0+", default=b"")


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+"):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    auth_bytes: bytes = field(BYTES, "0+", default=b"")
    session_lifetime_ms: int = field(INT64, "1+", default=0)
