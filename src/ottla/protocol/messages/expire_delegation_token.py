"""ExpireDelegationToken (api key 40)."""

from ottla.protocol.message import BYTES, INT16, INT32, INT64, Message, field


class ExpireDelegationTokenRequest(Message, api_key=40, versions="1-2", flexible="2+"):
    hmac: bytes = field(BYTES, "0+", default=b"")
    expiry_time_period_ms: int = field(INT64, "0+", default=0)


class ExpireDelegationTokenResponse(Message, api_key=40, versions="1-2", flexible="2+"):
    error_code: int = field(INT16, "0+", default=0)
    expiry_timestamp_ms: int = field(INT64, "0+", default=0)
    throttle_time_ms: int = field(INT32, "0+", default=0)
