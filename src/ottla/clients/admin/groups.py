"""Listing and deleting groups, and removing members."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import AT_COORDINATOR, Ask, GroupCoordinator, each_broker, keyed
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

_DEFAULT_REASON = "member was removed by an admin"
_REASON_LENGTH_MAX = 255
_MEMBERS_VERSION = 3
"""Since this version LeaveGroup takes several members, and static ones."""


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


class MemberToRemove(NamedTuple):
    """A member by its static name (``group.instance.id``), or by the id that its coordinator gave it."""

    group_instance_id: str | None = None
    member_id: str = ""


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
        ask = each_broker(await self._caller.node_ids(timeout_ms), request, listed_groups)
        answers = await self._ask_all(ask, timeout_ms)
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

    @overload
    async def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = ...,
        *,
        reason: str = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[MemberToRemove, None]: ...
    @overload
    async def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = ...,
        *,
        reason: str = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[MemberToRemove, KafkaError | None]: ...
    async def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str = "",
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[MemberToRemove, KafkaError | None]:
        """Make members leave a group; without ``members``, all that it has. Those that live join again."""
        if members is None:
            members = await self._members(group_id, timeout_ms)
        said = (reason or _DEFAULT_REASON)[:_REASON_LENGTH_MAX]

        def request(keys: Sequence[MemberToRemove], _: int) -> LeaveGroupRequest:
            leaving = [
                MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=said)
                for instance_id, member_id in keys
            ]
            return LeaveGroupRequest(group_id=group_id, members=leaving)

        ask = Ask(
            list(dict.fromkeys(members)),
            lambda _: GroupCoordinator(group_id),
            request,
            removed_members,
            AT_COORDINATOR,
            min_version=_MEMBERS_VERSION,
        )
        return await self._ask(ask, timeout_ms, raise_errors)

    async def _members(self, group_id: str, timeout_ms: int | None) -> list[MemberToRemove]:
        """All members of a group: static ones by their name, because their ids change."""

        def read(response: DescribeGroupsResponse) -> list[MemberToRemove]:
            group = response.groups[0]
            check(group.error_code, group.error_message)
            return [
                MemberToRemove(each.group_instance_id)
                if each.group_instance_id is not None
                else MemberToRemove(member_id=each.member_id)
                for each in group.members
            ]

        request = DescribeGroupsRequest(groups=[group_id])
        return await self._ask_one(lambda _: request, read, timeout_ms, GroupCoordinator(group_id))


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


def removed_members(
    response: LeaveGroupResponse, asked: Sequence[MemberToRemove]
) -> dict[MemberToRemove, KafkaError | None]:
    """Read which members are gone; a static member is told by its name, since the answer adds its id."""
    check(response.error_code)
    by_name = {each.group_instance_id: each for each in response.members if each.group_instance_id is not None}
    by_id = {each.member_id: each for each in response.members}
    found: dict[MemberToRemove, KafkaError | None] = {}
    for member in asked:
        answer = (
            by_id.get(member.member_id) if member.group_instance_id is None else by_name.get(member.group_instance_id)
        )
        if answer is not None:
            found[member] = outcome(answer.error_code, None, None)
    return found
