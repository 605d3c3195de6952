"""Quotas of users, clients and addresses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, controller, keyed
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages import alter_client_quotas as alter
from ottla.protocol.messages import describe_client_quotas as describe

ClientQuotaEntity = frozenset[tuple[str, str | None]]
"""Whom a quota is for: pairs of ``user``, ``client-id`` or ``ip`` and a name, None for the default of that type."""


class _MatchType(IntEnum):
    EXACT = 0
    DEFAULT = 1
    ANY = 2


def quota_entity(names: Mapping[str, str | None] | None = None, /, **by_type: str | None) -> ClientQuotaEntity:
    """``quota_entity(user="anna")``, ``quota_entity({"client-id": None})``: an entity of these types and names."""
    return frozenset({**(names or {}), **by_type}.items())


@dataclass(frozen=True, slots=True)
class ClientQuotaFilterComponent:
    """Entities that have this type, with this name; None the default's, and with ``any_name`` whichever name."""

    entity_type: str
    name: str | None = None
    any_name: bool = False


class QuotasPart(AdminPart):
    """Client quotas."""

    __slots__ = ()

    async def describe_client_quotas(
        self,
        components: Iterable[ClientQuotaFilterComponent] = (),
        *,
        strict: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """The quotas of all entities that match every component; ``strict``: and that have no other types."""
        request = describe_quotas_request(components, strict=strict)
        return await self._ask_one(lambda _: request, described_quotas, timeout_ms)

    @overload
    async def alter_client_quotas(
        self,
        quotas: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[ClientQuotaEntity, None]: ...
    @overload
    async def alter_client_quotas(
        self,
        quotas: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[ClientQuotaEntity, KafkaError | None]: ...
    async def alter_client_quotas(
        self,
        quotas: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[ClientQuotaEntity, KafkaError | None]:
        """Set quotas (``producer_byte_rate``, …); None removes one."""

        def request(keys: Sequence[ClientQuotaEntity], _: int) -> alter.AlterClientQuotasRequest:
            return alter.AlterClientQuotasRequest(
                entries=[_alteration(key, quotas[key]) for key in keys], validate_only=validate_only
            )

        return await self._ask(Ask(list(quotas), controller, request, keyed(altered_quotas)), timeout_ms, raise_errors)


def describe_quotas_request(
    components: Iterable[ClientQuotaFilterComponent], *, strict: bool
) -> describe.DescribeClientQuotasRequest:
    """Ask for quotas."""
    wanted = []
    for each in components:
        match = _MatchType.DEFAULT if each.name is None else _MatchType.EXACT
        wanted.append(
            describe.ComponentData(
                entity_type=each.entity_type,
                match_type=_MatchType.ANY if each.any_name else match,
                match=None if each.any_name else each.name,
            )
        )
    return describe.DescribeClientQuotasRequest(components=wanted, strict=strict)


def described_quotas(response: describe.DescribeClientQuotasResponse) -> dict[ClientQuotaEntity, dict[str, float]]:
    """Read quotas."""
    check(response.error_code, response.error_message)
    return {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in response.entries or ()
    }


def _alteration(
    entity: ClientQuotaEntity, quotas: Mapping[str, float | None]
) -> alter.AlterClientQuotasRequestEntryData:
    return alter.AlterClientQuotasRequestEntryData(
        entity=[
            alter.AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
            for kind, name in sorted(entity, key=lambda part: part[0])
        ],
        ops=[
            alter.OpData(key=key, value=0.0 if value is None else float(value), remove=value is None)
            for key, value in quotas.items()
        ],
    )


def altered_quotas(response: alter.AlterClientQuotasResponse) -> dict[ClientQuotaEntity, KafkaError | None]:
    """Read whose quotas have changed."""
    return {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): outcome(
            entry.error_code, entry.error_message, None
        )
        for entry in response.entries
    }
