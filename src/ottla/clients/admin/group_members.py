"""Removing members from groups."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, overload

from ottla.clients.admin.ask import AT_COORDINATOR, Ask, GroupCoordinator
from ottla.clients.admin.group_descriptions import GroupDescriptionsPart, MemberDescription
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

_DEFAULT_REASON = "member was removed by an admin"
_REASON_LENGTH_MAX = 255
_MEMBERS_VERSION = 3
"""Since this version LeaveGroup takes several members, and static ones."""


class MemberToRemove(NamedTuple):
    """A member by its static name (``group.instance.id``), or by the id that its coordinator gave it."""

    group_instance_id: str | None = None
    member_id: str = ""


class GroupMembersPart(GroupDescriptionsPart):
    """Members of groups."""

    __slots__ = ()

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
            group = (await self.describe_consumer_groups([group_id], timeout_ms=timeout_ms))[group_id]
            members = [to_remove(each) for each in group.members]
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


def to_remove(member: MemberDescription) -> MemberToRemove:
    """A member by what it is known by: a static one by its name, because its id changes."""
    if member.group_instance_id is not None:
        return MemberToRemove(member.group_instance_id)
    return MemberToRemove(member_id=member.member_id)


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
