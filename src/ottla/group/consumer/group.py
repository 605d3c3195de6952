"""A consumer group (KIP-848): the broker assigns, and each member moves to its assignment at its own pace."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.coordinator.record import CoordinatorRecord
from ottla.group import record_helpers as records
from ottla.group.assignor.spec import Assignment
from ottla.group.consumer import offset_validation
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.member_validation import unknown_member
from ottla.group.consumer.partition_owners import NOT_OWNED, PartitionOwners
from ottla.group.consumer.subscriptions import GroupSubscriptions, count_one
from ottla.group.group import CommitPartitionValidator, Group, GroupType
from ottla.protocol.messages.list_groups import ListedGroup

PROTOCOL_TYPE: Final = "consumer"
"""The protocol type of consumers, in this protocol and in the classic one."""

INITIAL_EPOCH: Final = 1
"""The epoch of a group, and of its target assignment, before either was ever written."""


class ConsumerGroupState(StrEnum):
    """The state of a group, which follows from its members and epochs.

    EMPTY without members; ASSIGNING while the group's epoch is ahead of the target assignment's; RECONCILING until
    every member has reached the target assignment; then STABLE. Any may follow any other.
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ConsumerGroup(Group):
    """The members, their subscriptions, what they should have and what they have. Changed by replay only."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "classic_protocols",
        "group_epoch",
        "has_subscription_metadata_record",
        "members",
        "metadata_hash",
        "metadata_refresh_deadline_ms",
        "metadata_refresh_epoch",
        "num_classic_members",
        "num_members_max",
        "owners",
        "server_assignors",
        "static_members",
        "subscriptions",
        "target_assignment",
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = INITIAL_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = INITIAL_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        """The member id of each instance id."""
        self.subscriptions = GroupSubscriptions()
        self.target_assignment: dict[str, Assignment] = {}
        """What each member is to have in the end, by member id."""
        self.owners = PartitionOwners()
        self.server_assignors: dict[str, int] = {}
        """How many members prefer each assignor."""
        self.num_classic_members = 0
        self.classic_protocols: dict[str, int] = {}
        """How many classic members support each of their protocols."""
        self.has_subscription_metadata_record = False
        """A record of some version before 4.1 is in the log, and to be deleted."""
        # Not durable: when to look at the topics again, if the epoch that was then about to be written was.
        self.metadata_refresh_deadline_ms = 0
        self.metadata_refresh_epoch = 0
        self.num_members_max = 0

    @property
    def type(self) -> GroupType:
        """A consumer group."""
        return GroupType.CONSUMER

    @property
    def state(self) -> ConsumerGroupState:
        """The state, worked out on demand: it costs a look at every member."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        """The state as tools show it."""
        return self.state.value

    def as_listed_group(self) -> ListedGroup:
        """The group in an answer to ListGroups."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=PROTOCOL_TYPE,
            group_state=self.state_name,
            group_type=self.type.value,
        )

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def num_members(self) -> int:
        """How many members it has, of either protocol."""
        return len(self.members)

    def has_member(self, member_id: str) -> bool:
        """Whether somebody is a member."""
        return member_id in self.members

    def member(self, member_id: str) -> ConsumerGroupMember:
        """A member; UNKNOWN_MEMBER_ID if there is none of that id."""
        member = self.members.get(member_id)
        if member is None:
            raise unknown_member(member_id, self.group_id)
        return member

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """The member that has an instance id."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.member(member_id)

    def target_of(self, member: ConsumerGroupMember) -> Assignment:
        """The target assignment of a member, or of the static member whose place it takes."""
        member_id: str | None = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id)
        return self.target_assignment.get(member_id, {}) if member_id is not None else {}

    def preferred_server_assignor(
        self,
        assignors: Sequence[str],
        old: ConsumerGroupMember | None = None,
        new: ConsumerGroupMember | None = None,
    ) -> str:
        """The assignor that most members prefer, after one has changed.

        Of equals, it is the one that the changed member alone prefers, else the one that is configured first: so it
        comes out of Java's tables in Apache.
        """
        counts = {name: self.server_assignors[name] for name in assignors if name in self.server_assignors}
        _move_assignor(counts, old, new)
        alone = None if new is None else new.server_assignor_name
        if alone in counts and counts[alone] == 1:
            counts = {alone: 1, **counts}
        return max(counts, key=counts.__getitem__, default=assignors[0])

    def supports_classic_protocols(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a classic member with these protocols has one in common with all other classic members."""
        if protocol_type != PROTOCOL_TYPE:
            return False
        if not self.members:
            return any(True for _ in protocols)
        return any(self.classic_protocols.get(name, 0) == self.num_classic_members for name in protocols)

    def all_use_classic_protocol_except(self, members: Sequence[ConsumerGroupMember]) -> bool:
        """Whether all other members speak the classic protocol."""
        num_classic = sum(member.use_classic_protocol for member in members)
        return self.num_classic_members - num_classic == len(self.members) - len(members)

    def is_waiting_on_unreleased_partition(self, member: ConsumerGroupMember) -> bool:
        """Whether a partition that a member is to have is still owned by somebody else."""
        if member.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        return any(
            partition not in member.assigned_partitions.get(topic_id, ())
            and self.owners.epoch(topic_id, partition) != NOT_OWNED
            for topic_id, partitions in self.target_assignment.get(member.member_id, {}).items()
            for partition in partitions
        )

    def request_metadata_refresh(self) -> None:
        """A topic has changed: look at the topics with the next heartbeat."""
        self.metadata_refresh_deadline_ms = self.metadata_refresh_epoch = 0

    def set_metadata_refresh_deadline(self, deadline_ms: int, group_epoch: int) -> None:
        """The topics have been looked at; that counts if the group reaches ``group_epoch``."""
        self.metadata_refresh_deadline_ms = deadline_ms
        self.metadata_refresh_epoch = group_epoch

    def has_metadata_expired(self, now_ms: int) -> bool:
        """Whether to look at the topics again."""
        return now_ms >= self.metadata_refresh_deadline_ms or self.group_epoch < self.metadata_refresh_epoch

    def update_member(self, new: ConsumerGroupMember) -> None:
        """A member is new or has changed."""
        old = self.members.get(new.member_id)
        self.members[new.member_id] = new
        self.num_members_max = max(self.num_members_max, len(self.members))
        self._move(old, new)
        if new.instance_id is not None:
            self.static_members[new.instance_id] = new.member_id

    def remove_member(self, member_id: str) -> None:
        """A member is gone."""
        old = self.members.pop(member_id, None)
        if old is None:
            return
        self._move(old, None)
        if old.instance_id is not None and self.static_members.get(old.instance_id) == member_id:
            del self.static_members[old.instance_id]

    def _move(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
        self.subscriptions.update(old, new)
        _move_assignor(self.server_assignors, old, new)
        if old is not None and not _owns_the_same(old, new):
            self.owners.remove(old.assigned_partitions, old.member_epoch)
            self.owners.remove(old.partitions_pending_revocation, old.member_epoch)
        if new is not None and not _owns_the_same(new, old):
            self.owners.add(new.assigned_partitions, new.member_epoch)
            self.owners.add(new.partitions_pending_revocation, new.member_epoch)
        for member, change in ((old, -1), (new, 1)):
            if member is not None and member.classic is not None:
                self.num_classic_members += change
                for protocol in member.classic.supported_protocols:
                    count_one(self.classic_protocols, protocol.name, change)

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionValidator | None:
        """Members at their epoch may commit, at an earlier one only what they have had since; others if it is empty."""
        epoch = generation_id_or_member_epoch
        if epoch < 0 and not self.members:
            return None
        if is_transactional and epoch == -1 and not member_id and group_instance_id is None:
            return None  # the API does not ask for them
        return offset_validation.validate_commit(
            self.member(member_id), epoch, is_transactional=is_transactional, api_version=api_version
        )

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Members at their epoch may fetch, and whoever does not say who they are."""
        if member_id is not None or member_epoch >= 0:
            offset_validation.validate_fetch(self.member(member_id or ""), member_epoch)

    def validate_offset_delete(self) -> None:
        """Always; topics that somebody subscribes to are looked at elsewhere."""

    def validate_delete_group(self) -> None:
        """Only without members."""
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")

    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether somebody reads a topic."""
        return topic in self.subscriptions.topics

    def tombstone_records(self) -> list[CoordinatorRecord]:
        """Everything, in the order in which replay can take it apart."""
        return self.tombstone_records_with_replaced_member(None, "")

    def tombstone_records_with_replaced_member(
        self, leaving_member_id: str | None, joining_member_id: str
    ) -> list[CoordinatorRecord]:
        """As ``tombstone_records``, after records that put one member in another's place."""
        group_id = self.group_id
        ids = [joining_member_id if member_id == leaving_member_id else member_id for member_id in self.members]
        return [
            *(records.new_consumer_group_current_assignment_tombstone_record(group_id, each) for each in ids),
            *(records.new_consumer_group_target_assignment_tombstone_record(group_id, each) for each in ids),
            records.new_consumer_group_target_assignment_metadata_tombstone_record(group_id),
            *(records.new_consumer_group_member_subscription_tombstone_record(group_id, each) for each in ids),
            *(
                records.new_consumer_group_regular_expression_tombstone_record(group_id, regex)
                for regex in self.subscriptions.resolved
            ),
            records.new_consumer_group_subscription_metadata_tombstone_record(group_id),
            records.new_consumer_group_epoch_tombstone_record(group_id),
        ]

    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since it was committed; topics that somebody subscribes to are looked at elsewhere."""
        return commit_timestamp_ms


def _owns_the_same(one: ConsumerGroupMember, other: ConsumerGroupMember | None) -> bool:
    return (
        other is not None
        and one.member_epoch == other.member_epoch
        and one.assigned_partitions is other.assigned_partitions
        and one.partitions_pending_revocation is other.partitions_pending_revocation
    )


def _move_assignor(counts: dict[str, int], old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
    if old is not None and old.server_assignor_name is not None:
        count_one(counts, old.server_assignor_name, -1)
    if new is not None and new.server_assignor_name is not None:
        count_one(counts, new.server_assignor_name, 1)
