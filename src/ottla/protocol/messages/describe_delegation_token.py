"""DescribeDelegationToken (api key 41)."""

from collections.abc import Sequence

from ottla.protocol.message import BYTES, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class DescribeDelegationTokenOwner(Message):
    principal_type: str = field(STRING, "0+", default="")
    principal_name: str = field(STRING, "0+", default="")


class DescribeDelegationTokenRequest(Message, api_key=41, versions="1-3", flexible="2+"):
    owners: Sequence[DescribeDelegationTokenOwner] | None = field(
        ArrayOf(DescribeDelegationTokenOwner), "0+", default=(), nullable="0+"
    )


class DescribedDelegationTokenRenewer(Message):
    principal_type: str = field(STRING, "0+", default="")
    principal_name: str = field(STRING, "0+", default="")


class DescribedDelegationToken(Message):
    principal_type: str = field(STRING, "0+", default="")
    principal_name: str = field(STRING, "0+", default="")
    token_requester_principal_type: str = field(STRING, "3+", default="")
    token_requester_principal_name: str = field(STRING, "3+", default="")
    issue_timestamp: int = field(INT64, "0+", default=0)
    expiry_timestamp: int = field(INT64, "0+", default=0)
    max_timestamp: int = field(INT64, "0+", default=0)
    token_id: str = field(STRING, "0+", default="")
    hmac: bytes = field(BYTES, "0+", default=b"")
    renewers: Sequence[DescribedDelegationTokenRenewer] = field(
        ArrayOf(DescribedDelegationTokenRenewer), "0+", default=()
    )


class DescribeDelegationTokenResponse(Message, api_key=41, versions="1-3", flexible="2+"):
    error_code: int = field(INT16, "0+", default=0)
    tokens: Sequence[DescribedDelegationToken] = field(ArrayOf(DescribedDelegationToken), "0+", default=())
    throttle_time_ms: int = field(INT32, "0+", default=0)
