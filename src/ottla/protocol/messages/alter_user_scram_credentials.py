"""AlterUserScramCredentials (api key 51)."""

from collections.abc import Sequence

from ottla.protocol.message import BYTES, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class ScramCredentialDeletion(Message):
    name: str = field(STRING, "0+", default="")
    mechanism: int = field(INT8, "0+", default=0)


class ScramCredentialUpsertion(Message):
    name: str = field(STRING, "0+", default="")
    mechanism: int = field(INT8, "0+", default=0)
    iterations: int = field(INT32, "0+", default=0)
    salt: bytes = field(BYTES, "0+", default=b"")
    salted_password: bytes = field(BYTES, "0+", default=b"")


class AlterUserScramCredentialsRequest(Message, api_key=51, versions="0", flexible="0+"):
    deletions: Sequence[ScramCredentialDeletion] = field(ArrayOf(ScramCredentialDeletion), "0+", default=())
    upsertions: Sequence[ScramCredentialUpsertion] = field(ArrayOf(ScramCredentialUpsertion), "0+", default=())


class AlterUserScramCredentialsResult(Message):
    user: str = field(STRING, "0+", default="")
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")


class AlterUserScramCredentialsResponse(Message, api_key=51, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[AlterUserScramCredentialsResult] = field(
        ArrayOf(AlterUserScramCredentialsResult), "0+", default=()
    )
