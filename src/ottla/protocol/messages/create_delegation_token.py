"""CreateDelegationToken (api key 38)."""

from collections.abc import Sequence

from ottla.protocol.message import BYTES, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class CreatableRenewers(Message):
    principal_type: str = field(STRING, "0+", default="")
    principal_name: str = field(STRING, "0+", default="")


class CreateDelegationTokenRequest(Message, api_key=38, versions="1-3", flexible="2+"):
    owner_principal_type: str | None = field(STRING, "3+", default="", nullable="3+")
    owner_principal_name: str | None = field(STRING, "3+", default="", nullable="3+")
    renewers: Sequence[CreatableRenewers] = field(ArrayOf(CreatableRenewers), "0+", default=())
    max_lifetime_ms: int = field(INT64, "0+", default=0)


class CreateDelegationTokenResponse(Message, api_key=38, versions="1-3", flexible="2+"):
    error_code: int = field(INT16, "0+", default=0)
    principal_type: str = field(STRING, "0+", default="")
    principal_name: str = field(STRING, "0+", default="")
    token_requester_principal_type: str = field(STRING, "3+", default="")
    token_requester_principal_name: str = field(STRING, "3+", default="")
    issue_timestamp_ms: int = field(INT64, "0+", default=0)
    expiry_timestamp_ms: int = field(INT64, "0+", default=0)
    max_timestamp_ms: int = field(INT64, "0+", default=0)
    token_id: str = field(STRING, "0+", default="")
    hmac: bytes = field(BYTES, "0+", default=b"")
    throttle_time_ms: int = field(INT32, "0+", default=0)
