"""DescribeUserScramCredentials (api key 50)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class UserName(Message):
    name: str = field(STRING, "0+", default="")


class DescribeUserScramCredentialsRequest(Message, api_key=50, versions="0", flexible="0+"):
    users: Sequence[UserName] | None = field(ArrayOf(UserName), "0+", default=(), nullable="0+")


class CredentialInfo(Message):
    mechanism: int = field(INT8, "0+", default=0)
    iterations: int = field(INT32, "0+", default=0)


class DescribeUserScramCredentialsResult(Message):
    user: str = field(STRING, "0+", default="")
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    credential_infos: Sequence[CredentialInfo] = field(ArrayOf(CredentialInfo), "0+", default=())


class DescribeUserScramCredentialsResponse(Message, api_key=50, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    results: Sequence[DescribeUserScramCredentialsResult] = field(
        ArrayOf(DescribeUserScramCredentialsResult), "0+", default=()
    )
