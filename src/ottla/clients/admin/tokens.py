"""Delegation tokens: credentials that are made for others and run out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere
from ottla.clients.admin.results import check
from ottla.common.kafka_principal import KafkaPrincipal
from ottla.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from ottla.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from ottla.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from ottla.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

BROKER_DEFAULT_MS = -1
"""As a lifetime or period: what the broker's configuration says."""


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token: with its id as user and ``hmac`` (base64) as password, its bearer is ``owner``."""

    token_id: str
    owner: KafkaPrincipal
    requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    hmac: bytes = field(repr=False)


class TokensPart(AdminPart):
    """Delegation tokens."""

    __slots__ = ()

    async def create_delegation_token(
        self,
        *,
        owner: KafkaPrincipal | None = None,
        renewers: Iterable[KafkaPrincipal] = (),
        max_lifetime_ms: int = BROKER_DEFAULT_MS,
        timeout_ms: int | None = None,
    ) -> DelegationToken:
        """Make a token for us, or for ``owner``, that the renewers may prolong."""
        allowed = tuple(renewers)
        request = CreateDelegationTokenRequest(
            owner_principal_type=None if owner is None else owner.principal_type,
            owner_principal_name=None if owner is None else owner.name,
            renewers=[
                CreatableRenewers(principal_type=each.principal_type, principal_name=each.name) for each in allowed
            ],
            max_lifetime_ms=max_lifetime_ms,
        )

        def read(response: CreateDelegationTokenResponse) -> DelegationToken:
            return created_token(response, allowed)

        return await self._ask_one(lambda _: request, read, timeout_ms, Anywhere.CONTROLLER)

    async def renew_delegation_token(
        self, hmac: bytes, *, renew_period_ms: int = BROKER_DEFAULT_MS, timeout_ms: int | None = None
    ) -> int:
        """Let a token live longer; returns when it expires (ms)."""

        def read(response: RenewDelegationTokenResponse) -> int:
            check(response.error_code)
            return response.expiry_timestamp_ms

        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)
        return await self._ask_one(lambda _: request, read, timeout_ms, Anywhere.CONTROLLER)

    async def expire_delegation_token(
        self, hmac: bytes, *, expiry_time_period_ms: int = BROKER_DEFAULT_MS, timeout_ms: int | None = None
    ) -> int:
        """Let a token end after a time, or with -1 at once; returns when it expires (ms)."""

        def read(response: ExpireDelegationTokenResponse) -> int:
            check(response.error_code)
            return response.expiry_timestamp_ms

        request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_time_period_ms)
        return await self._ask_one(lambda _: request, read, timeout_ms, Anywhere.CONTROLLER)

    async def describe_delegation_token(
        self, owners: Iterable[KafkaPrincipal] | None = None, *, timeout_ms: int | None = None
    ) -> list[DelegationToken]:
        """The tokens of these owners, or all that we may see."""
        wanted = None if owners is None else [_owner(each) for each in owners]
        request = DescribeDelegationTokenRequest(owners=wanted)
        return await self._ask_one(lambda _: request, described_tokens, timeout_ms)


def _owner(principal: KafkaPrincipal) -> DescribeDelegationTokenOwner:
    return DescribeDelegationTokenOwner(principal_type=principal.principal_type, principal_name=principal.name)


def created_token(response: CreateDelegationTokenResponse, renewers: Sequence[KafkaPrincipal]) -> DelegationToken:
    """Read a new token. Before version 3 only its owner could ask for it."""
    check(response.error_code)
    owner = KafkaPrincipal(response.principal_type, response.principal_name)
    requester = KafkaPrincipal(response.token_requester_principal_type, response.token_requester_principal_name)
    return DelegationToken(
        response.token_id,
        owner,
        requester if requester.name else owner,
        tuple(renewers),
        response.issue_timestamp_ms,
        response.expiry_timestamp_ms,
        response.max_timestamp_ms,
        bytes(response.hmac),
    )


def described_tokens(response: DescribeDelegationTokenResponse) -> list[DelegationToken]:
    """Read tokens."""
    check(response.error_code)
    return [
        DelegationToken(
            each.token_id,
            KafkaPrincipal(each.principal_type, each.principal_name),
            KafkaPrincipal(each.token_requester_principal_type, each.token_requester_principal_name),
            tuple(KafkaPrincipal(renewer.principal_type, renewer.principal_name) for renewer in each.renewers),
            each.issue_timestamp,
            each.expiry_timestamp,
            each.max_timestamp,
            bytes(each.hmac),
        )
        for each in response.tokens
    ]
