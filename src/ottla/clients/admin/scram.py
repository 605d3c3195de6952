"""Users' SCRAM credentials."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere, Ask, controller, keyed
from ottla.clients.admin.results import check, checked, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

DEFAULT_ITERATIONS = 4096
_SALT_BYTES = 24


class ScramMechanism(IntEnum):
    """The mechanisms, under the protocol's ids."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def _missing_(cls, _: object) -> "ScramMechanism":
        return cls.UNKNOWN


_HASHES: Final = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


@dataclass(frozen=True, slots=True)
class ScramCredentialInfo:
    """A mechanism that a user can log in with, and how often its password is hashed."""

    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class UserScramCredentialUpsertion:
    """Set a user's password for a mechanism; only its salted hash leaves this process."""

    user: str
    mechanism: ScramMechanism
    password: bytes = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(_SALT_BYTES), repr=False)


@dataclass(frozen=True, slots=True)
class UserScramCredentialDeletion:
    """Take a mechanism from a user."""

    user: str
    mechanism: ScramMechanism


UserScramCredentialAlteration = UserScramCredentialUpsertion | UserScramCredentialDeletion


class ScramPart(AdminPart):
    """SCRAM credentials."""

    __slots__ = ()

    @overload
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = ...,
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, tuple[ScramCredentialInfo, ...]]: ...
    @overload
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = ...,
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, tuple[ScramCredentialInfo, ...] | KafkaError]: ...
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = None,
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, tuple[ScramCredentialInfo, ...] | KafkaError]:
        """What these users (all, unless named) can log in with; ResourceNotFoundError for one who has nothing."""
        names = None if users is None else [UserName(name=name) for name in dict.fromkeys(users)]
        request = DescribeUserScramCredentialsRequest(users=names)
        found = await self._ask_one(lambda _: request, described_credentials, timeout_ms, Anywhere.CONTROLLER)
        return checked(found, raise_errors=raise_errors)

    @overload
    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialAlteration],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, None]: ...
    @overload
    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialAlteration],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, KafkaError | None]: ...
    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialAlteration],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, KafkaError | None]:
        """Set and delete credentials; all that concerns a user succeeds or fails together."""
        wanted = list(alterations)

        def request(users: Sequence[str], _: int) -> AlterUserScramCredentialsRequest:
            return alter_credentials_request([each for each in wanted if each.user in users])

        users = list(dict.fromkeys(each.user for each in wanted))
        return await self._ask(Ask(users, controller, request, keyed(altered_credentials)), timeout_ms, raise_errors)


def described_credentials(
    response: DescribeUserScramCredentialsResponse,
) -> dict[str, tuple[ScramCredentialInfo, ...] | KafkaError]:
    """Read credentials."""
    check(response.error_code, response.error_message)
    return {
        result.user: outcome(
            result.error_code,
            result.error_message,
            tuple(
                ScramCredentialInfo(ScramMechanism(each.mechanism), each.iterations) for each in result.credential_infos
            ),
        )
        for result in response.results
    }


def salted_password(upsertion: UserScramCredentialUpsertion) -> bytes:
    """RFC 5802's SaltedPassword; empty for a mechanism that we do not know, so that the controller refuses it."""
    name = _HASHES.get(upsertion.mechanism)
    if name is None or upsertion.iterations <= 0:
        return b""
    return hashlib.pbkdf2_hmac(name, upsertion.password, upsertion.salt, upsertion.iterations)


def alter_credentials_request(
    alterations: Iterable[UserScramCredentialAlteration],
) -> AlterUserScramCredentialsRequest:
    """Ask for changes."""
    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []
    for each in alterations:
        if isinstance(each, UserScramCredentialDeletion):
            deletions.append(ScramCredentialDeletion(name=each.user, mechanism=each.mechanism))
        else:
            upsertions.append(
                ScramCredentialUpsertion(
                    name=each.user,
                    mechanism=each.mechanism,
                    iterations=each.iterations,
                    salt=each.salt,
                    salted_password=salted_password(each),
                )
            )
    return AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)


def altered_credentials(response: AlterUserScramCredentialsResponse) -> dict[str, KafkaError | None]:
    """Read whose credentials have changed."""
    return {each.user: outcome(each.error_code, each.error_message, None) for each in response.results}
