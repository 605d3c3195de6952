"""Listing and deleting groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import AT_COORDINATOR, Ask, GroupCoordinator, keyed
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


class _NamedEnum(Enum):
    @classmethod
    def _missing_(cls, value: object) -> "_NamedEnum | None":
        """Names are compared without their case; an unknown one is UNKNOWN."""
        wanted = str(value).lower()
        return next((each for each in cls if each.value.lower() == wanted), cls["UNKNOWN"])


class GroupState(_NamedEnum):
    """Where a group stands, under the names of the protocol."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"

    def __str__(self) -> str:
        return self.value


class GroupType(_NamedEnum):
    """What kind of group it is."""

    UNKNOWN = "Unknown"
    CONSUMER = "Consumer"
    CLASSIC = "Classic"
    SHARE = "Share"
    STREAMS = "Streams"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group that exists; ``protocol_type`` is ``consumer``, ``connect``, … and empty if it has only offsets."""

    group_id: str
    type: GroupType
    protocol_type: str
    state: GroupState

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether somebody commits offsets under this name without being a member of a group."""
        return self.type in (GroupType.CLASSIC, GroupType.UNKNOWN) and not self.protocol_type


class GroupsPart(AdminPart):
    """Groups of all kinds."""

    __slots__ = ()

    async def list_groups(
        self,
        *,
        states: Iterable[GroupState] = (),
        types: Iterable[GroupType] = (),
        protocol_types: Iterable[str] = (),
        timeout_ms: int | None = None,
    ) -> dict[str, GroupListing]:
        """All groups that we may see, of these states, types and protocol types if any are given; asks all brokers."""
        request = ListGroupsRequest(
            states_filter=[state.value for state in states], types_filter=[kind.value for kind in types]
        )
        wanted = frozenset(protocol_types)
        answers = await self._ask_every_node(request, listed_groups, timeout_ms)
        listings = (listing for answer in answers.values() for listing in answer)
        return {each.group_id: each for each in listings if not wanted or each.protocol_type in wanted}

    @overload
    async def delete_groups(
        self, group_ids: Iterable[str], *, raise_errors: Literal[True] = ..., timeout_ms: int | None = ...
    ) -> dict[str, None]: ...
    @overload
    async def delete_groups(
        self, group_ids: Iterable[str], *, raise_errors: Literal[False], timeout_ms: int | None = ...
    ) -> dict[str, KafkaError | None]: ...
    async def delete_groups(
        self, group_ids: Iterable[str], *, raise_errors: bool = True, timeout_ms: int | None = None
    ) -> Mapping[str, KafkaError | None]:
        """Delete groups of any type and their offsets; GroupNotEmptyError while they have members."""

        def request(keys: Sequence[str], _: int) -> DeleteGroupsRequest:
            return DeleteGroupsRequest(groups_names=keys)

        ask = Ask(list(dict.fromkeys(group_ids)), GroupCoordinator, request, keyed(deleted_groups), AT_COORDINATOR)
        return await self._ask(ask, timeout_ms, raise_errors)


def listed_groups(response: ListGroupsResponse) -> list[GroupListing]:
    """Read the groups of one broker."""
    check(response.error_code)
    return [
        GroupListing(each.group_id, GroupType(each.group_type), each.protocol_type, GroupState(each.group_state))
        for each in response.groups
    ]


def deleted_groups(response: DeleteGroupsResponse) -> dict[str, KafkaError | None]:
    """Read which groups are gone."""
    return {each.group_id: outcome(each.error_code, None, None) for each in response.results}
