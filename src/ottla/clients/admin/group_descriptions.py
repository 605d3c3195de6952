"""Describing groups of consumers, by KIP-848's protocol and by the classic one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, overload

from ottla.clients.admin.acl_operation import AclOperation, authorized_operations
from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import AT_COORDINATOR, Ask, GroupCoordinator, keyed
from ottla.clients.admin.groups import GroupState, GroupType
from ottla.clients.admin.results import checked, outcome
from ottla.clients.errors import GroupIdNotFoundError, UnsupportedVersionError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.node import Node
from ottla.protocol.consumer_protocol import decode_assignment
from ottla.protocol.messages import consumer_group_describe as kip_848
from ottla.protocol.messages import describe_groups as classic

CONSUMER_PROTOCOL: Final = "consumer"
_NO_NODE: Final = Node(-1, "", -1)
_CONSUMER_MEMBER = 1


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member. The epoch, the target and ``is_upgraded`` (which protocol it speaks) are None in a classic group.

    ``is_assigned``: a classic member has got an assignment, if of nothing; one that has joined since has not.
    """

    member_id: str
    group_instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    assignment: frozenset[TopicPartition]
    target_assignment: frozenset[TopicPartition] | None = None
    member_epoch: int | None = None
    is_upgraded: bool | None = None
    is_assigned: bool | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """A group of consumers; the epochs are None in a classic group. ``coordinator`` is the broker that holds it."""

    group_id: str
    type: GroupType
    state: GroupState
    is_simple_consumer_group: bool
    partition_assignor: str
    members: tuple[MemberDescription, ...]
    coordinator: Node
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    authorized_operations: frozenset[AclOperation] | None = None


@dataclass(frozen=True, slots=True)
class ClassicGroupDescription:
    """A classic group of any type (``consumer``, ``connect``, …); ``protocol`` is what its members agreed on."""

    group_id: str
    protocol_type: str
    protocol: str
    state: GroupState
    members: tuple[MemberDescription, ...]
    coordinator: Node
    authorized_operations: frozenset[AclOperation] | None = None

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether somebody commits offsets under this name without being a member of a group."""
        return not self.protocol_type


class GroupDescriptionsPart(AdminPart):
    """Descriptions of groups."""

    __slots__ = ()

    @overload
    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, ConsumerGroupDescription]: ...
    @overload
    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, ConsumerGroupDescription | KafkaError]: ...
    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, ConsumerGroupDescription | KafkaError]:
        """Describe groups of consumers, whichever protocol they use; GroupIdNotFoundError if there is no such group."""

        def request(keys: Sequence[str], _: int) -> kip_848.ConsumerGroupDescribeRequest:
            return kip_848.ConsumerGroupDescribeRequest(
                group_ids=keys, include_authorized_operations=include_authorized_operations
            )

        keys = list(dict.fromkeys(group_ids))
        ask = Ask(keys, GroupCoordinator, request, keyed(described_consumer_groups), AT_COORDINATOR)
        found = await self._caller.ask(ask, timeout_ms)
        others = [
            key for key, each in found.items() if isinstance(each, (GroupIdNotFoundError, UnsupportedVersionError))
        ]
        classics = await self._classic(others, include_authorized_operations, timeout_ms)
        found |= {key: as_consumer_group(each) for key, each in classics.items()}
        for key, each in found.items():
            if isinstance(each, ConsumerGroupDescription):
                found[key] = replace(
                    each, coordinator=await self._caller.coordinator(GroupCoordinator(key), timeout_ms)
                )
        return checked(found, raise_errors=raise_errors)

    @overload
    async def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, ClassicGroupDescription]: ...
    @overload
    async def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, ClassicGroupDescription | KafkaError]: ...
    async def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, ClassicGroupDescription | KafkaError]:
        """Describe groups of the classic protocol; GroupIdNotFoundError for others."""
        keys = list(dict.fromkeys(group_ids))
        found = await self._classic(keys, include_authorized_operations, timeout_ms)
        for key, each in found.items():
            if isinstance(each, ClassicGroupDescription):
                found[key] = replace(
                    each, coordinator=await self._caller.coordinator(GroupCoordinator(key), timeout_ms)
                )
        return checked(found, raise_errors=raise_errors)

    async def _classic(
        self, keys: Sequence[str], include_authorized_operations: bool, timeout_ms: int | None
    ) -> dict[str, ClassicGroupDescription | KafkaError]:
        def request(asked: Sequence[str], _: int) -> classic.DescribeGroupsRequest:
            return classic.DescribeGroupsRequest(
                groups=asked, include_authorized_operations=include_authorized_operations
            )

        ask = Ask(keys, GroupCoordinator, request, keyed(described_classic_groups), AT_COORDINATOR)
        return await self._caller.ask(ask, timeout_ms)


def described_consumer_groups(
    response: kip_848.ConsumerGroupDescribeResponse,
) -> dict[str, ConsumerGroupDescription | KafkaError]:
    """Read groups of KIP-848's protocol."""
    return {
        group.group_id: outcome(
            group.error_code,
            group.error_message,
            ConsumerGroupDescription(
                group.group_id,
                GroupType.CONSUMER,
                GroupState(group.group_state),
                is_simple_consumer_group=False,
                partition_assignor=group.assignor_name,
                members=tuple(_member(each) for each in group.members),
                coordinator=_NO_NODE,
                group_epoch=group.group_epoch,
                target_assignment_epoch=group.assignment_epoch,
                authorized_operations=authorized_operations(group.authorized_operations),
            ),
        )
        for group in response.groups
    }


def _member(member: kip_848.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        _partitions(member.assignment),
        _partitions(member.target_assignment),
        member.member_epoch,
        None if member.member_type < 0 else member.member_type == _CONSUMER_MEMBER,
    )


def _partitions(assignment: kip_848.Assignment | None) -> frozenset[TopicPartition]:
    topics = () if assignment is None else assignment.topic_partitions
    return frozenset(TopicPartition(each.topic_name, index) for each in topics for index in each.partitions)


def described_classic_groups(
    response: classic.DescribeGroupsResponse,
) -> dict[str, ClassicGroupDescription | KafkaError]:
    """Read classic groups; before version 6 one that does not exist is Dead and empty."""
    found: dict[str, ClassicGroupDescription | KafkaError] = {}
    for group in response.groups:
        is_consumer = group.protocol_type in (CONSUMER_PROTOCOL, "")
        found[group.group_id] = outcome(
            group.error_code,
            group.error_message,
            ClassicGroupDescription(
                group.group_id,
                group.protocol_type,
                group.protocol_data,
                GroupState(group.group_state),
                tuple(
                    MemberDescription(
                        each.member_id,
                        each.group_instance_id,
                        None,
                        each.client_id,
                        each.client_host,
                        assigned_partitions(each.member_assignment) if is_consumer else frozenset(),
                        is_assigned=bool(each.member_assignment),
                    )
                    for each in group.members
                ),
                _NO_NODE,
                authorized_operations(group.authorized_operations),
            ),
        )
    return found


def assigned_partitions(assignment: bytes) -> frozenset[TopicPartition]:
    """What a classic member has been assigned, as its leader wrote it; one that waits for its first has no bytes."""
    topics = decode_assignment(assignment).assigned_partitions if assignment else ()
    return frozenset(TopicPartition(each.topic, index) for each in topics for index in each.partitions)


def as_consumer_group(group: ClassicGroupDescription | KafkaError) -> ConsumerGroupDescription | KafkaError:
    """A classic group as one of consumers; GroupIdNotFoundError if its members are something else."""
    if isinstance(group, KafkaError):
        return group
    if group.protocol_type not in (CONSUMER_PROTOCOL, ""):
        return GroupIdNotFoundError(f"Group {group.group_id} is a group of {group.protocol_type} and not of consumers")
    return ConsumerGroupDescription(
        group.group_id,
        GroupType.CLASSIC,
        group.state,
        group.is_simple_consumer_group,
        group.protocol,
        group.members,
        group.coordinator,
        authorized_operations=group.authorized_operations,
    )
