"""The records of who may do what: access control entries, SCRAM credentials, delegation tokens."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BYTES, INT8, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class AccessControlEntryRecord(Message, api_key=18, versions="0", flexible="0+"):
    """An access control entry exists."""

    id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    pattern_type: int = field(INT8, "0+", default=0)
    principal: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class RemoveAccessControlEntryRecord(Message, api_key=19, versions="0", flexible="0+"):
    """An access control entry is gone."""

    id: Uuid = field(UUID, "0+", default=ZERO_UUID)


class UserScramCredentialRecord(Message, api_key=11, versions="0", flexible="0+"):
    """A user's credential for one SCRAM mechanism."""

    name: str = field(STRING, "0+", default="")
    mechanism: int = field(INT8, "0+", default=0)
    salt: bytes = field(BYTES, "0+", default=b"")
    stored_key: bytes = field(BYTES, "0+", default=b"")
    server_key: bytes = field(BYTES, "0+", default=b"")
    iterations: int = field(INT32, "0+", default=0)

    def __repr__(self) -> str:
        """Without the secrets, since records are logged."""
        return f"UserScramCredentialRecord(name={self.name!r}, mechanism={self.mechanism})"


class RemoveUserScramCredentialRecord(Message, api_key=22, versions="0", flexible="0+"):
    """A user's credential for one SCRAM mechanism is gone."""

    name: str = field(STRING, "0+", default="")
    mechanism: int = field(INT8, "0+", default=0)


class DelegationTokenRecord(Message, api_key=10, versions="0", flexible="0+"):
    """A delegation token exists, or was renewed. Its HMAC is derived, never stored."""

    owner: str = field(STRING, "0+", default="")
    requester: str = field(STRING, "0+", default="")
    renewers: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    issue_timestamp: int = field(INT64, "0+", default=0)
    max_timestamp: int = field(INT64, "0+", default=0)
    expiration_timestamp: int = field(INT64, "0+", default=0)
    token_id: str = field(STRING, "0+", default="")


class RemoveDelegationTokenRecord(Message, api_key=26, versions="0", flexible="0+"):
    """A delegation token is gone."""

    token_id: str = field(STRING, "0+", default="")
