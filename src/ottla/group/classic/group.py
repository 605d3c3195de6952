"""A classic group: its members assign partitions among themselves, the coordinator only keeps the generations."""

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.classic.member import ClassicGroupMember, JoinRespond
from ottla.group.classic.members import Members
from ottla.group.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from ottla.group.classic.subscribed_topics import subscribed_topics
from ottla.group.group import Group, GroupType
from ottla.group.record_helpers import new_group_metadata_record, new_group_metadata_tombstone_record
from ottla.group.records import MemberMetadata
from ottla.protocol.messages.list_groups import ListedGroup

CONSUMER_PROTOCOL_TYPE: Final = "consumer"

_EMPTY, _DEAD, _STABLE = ClassicGroupState.EMPTY, ClassicGroupState.DEAD, ClassicGroupState.STABLE
_PREPARING, _COMPLETING = ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE


class ClassicGroup(Group):
    """The state of one group; its legal transitions are in :mod:`ottla.group.classic.state`.

    Who joins, waits and syncs lives only in memory. What the log holds is the last generation that was assigned, and
    that is what a group comes back with when its partition is loaded.
    """

    __slots__ = (
        "current_state_timestamp_ms",
        "generation_id",
        "members",
        "new_member_added",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "subscribed_topics",
        "written_generation_id",
    )

    def __init__(
        self,
        group_id: str,
        *,
        state: ClassicGroupState = _EMPTY,
        generation_id: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
        current_state_timestamp_ms: int | None = None,
    ) -> None:
        super().__init__(group_id)
        self.state = state
        self.previous_state = _DEAD
        self.current_state_timestamp_ms = current_state_timestamp_ms
        """Since when it is in its state; None where an old record does not say."""
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.members = Members(leader_id)
        self.subscribed_topics: frozenset[str] | None = None
        """None while they are not known: another protocol type, no protocol chosen, malformed metadata."""
        self.new_member_added = False
        """Whether somebody came during the initial delay, which is then extended."""
        self.written_generation_id = -1
        """The generation whose assignment is being written: the first that the leader gives is the one that counts."""

    @classmethod
    def from_consumer_group(
        cls, group_id: str, group_epoch: int, members: Iterable[ClassicGroupMember], now_ms: int
    ) -> "ClassicGroup":
        """The stable group that a consumer group becomes whose members all speak the classic protocol.

        The caller sets each member's assignment afterwards, in the version of its metadata for ``protocol_name``.
        """
        group = cls(
            group_id,
            state=_STABLE,
            generation_id=group_epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            current_state_timestamp_ms=now_ms,
        )
        for member in members:
            group.add_member(member)
        group.protocol_name = group.members.select_protocol()
        group.compute_subscribed_topics()
        return group

    @property
    def type(self) -> GroupType:
        """Classic."""
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        """As ListGroups and DescribeGroups show it."""
        return self.state.value

    def as_listed_group(self) -> ListedGroup:
        """The group in an answer to ListGroups."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=self.protocol_type or "",
            group_state=self.state.value,
            group_type=GroupType.CLASSIC.value,
        )

    @property
    def is_empty(self) -> bool:
        """Whether it is in state Empty; ids that were given out do not count."""
        return self.state is _EMPTY

    @property
    def is_simple_group(self) -> bool:
        """Whether it only holds the offsets of consumers who do not join: no record in the log tells of it."""
        return self.protocol_type is None and self.state is _EMPTY and not self.members.pending_joins

    @property
    def num_members(self) -> int:
        """How many members it has."""
        return len(self.members)

    def has_member(self, member_id: str) -> bool:
        """Whether somebody is a member."""
        return member_id in self.members.by_id

    @property
    def uses_consumer_group_protocol(self) -> bool:
        """Whether its members are Kafka's consumers, whose metadata can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        """Enter a state, from one that may come before it."""
        assert self.state in VALID_PREVIOUS_STATES[state], f"{self.group_id}: from {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.current_state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin now."""
        return self.state in VALID_PREVIOUS_STATES[_PREPARING]

    def supports_protocols(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Whether somebody with these protocols may join: one of them must be known to all."""
        if self.state is _EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and self.members.supports_any(protocols)

    def add_member(self, member: ClassicGroupMember, respond: JoinRespond | None = None) -> None:
        """Take in a member that the group supports; the first one decides on the type of the protocols."""
        if not len(self.members):
            self.protocol_type = member.protocol_type
        assert self.supports_protocols(member.protocol_type, member.supported_protocols), "protocols are not supported"
        self.members.add(member, respond)

    def init_next_generation(self, now_ms: int) -> None:
        """Begin the next generation with the members that there are: CompletingRebalance, or Empty."""
        self.generation_id += 1
        self.protocol_name = self.members.select_protocol() if len(self.members) else None
        self.compute_subscribed_topics()
        self.transition_to(_COMPLETING if len(self.members) else _EMPTY, now_ms)
        self.members.pending_syncs.clear()

    def compute_subscribed_topics(self) -> None:
        """Read the members' metadata anew."""
        name = self.protocol_name
        if not self.uses_consumer_group_protocol:
            self.subscribed_topics = None
        elif not len(self.members):
            self.subscribed_topics = frozenset()
        elif name is None:
            self.subscribed_topics = None
        else:
            self.subscribed_topics = subscribed_topics(member.metadata(name) for member in self.members.by_id.values())

    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether a member reads a topic; where that is not known, consumers are taken to read all."""
        if self.subscribed_topics is None:
            return self.uses_consumer_group_protocol
        return topic in self.subscribed_topics

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,  # noqa: ARG002
    ) -> None:
        """Members of the generation may commit, and anybody while there are none."""
        if self.state is _DEAD:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"Group {self.group_id} is in dead state.")
        generation_id = generation_id_or_member_epoch
        if generation_id < 0 and self.state is _EMPTY:
            return  # an admin client, or a consumer that assigns its partitions itself
        if generation_id >= 0 or member_id or group_instance_id is not None:
            self.members.validate(member_id, group_instance_id)
            self.validate_generation(generation_id)
        elif not is_transactional:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "The group has members: who commits must be one of them.")
        if not is_transactional and self.state is _COMPLETING:
            # It has the generation from its join, and no partitions in it yet.
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, f"Group {self.group_id} is rebalancing.")

    def validate_generation(self, generation_id: int) -> None:
        """Refuse whoever is of another generation."""
        if generation_id != self.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"The generation is {self.generation_id}.")

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:  # noqa: ARG002
        """Anybody may read."""
        self._validate_not_dead()

    def validate_offset_delete(self) -> None:
        """Consumers may be active (only topics that they do not read lose offsets), members of other kinds not."""
        self._validate_not_dead()
        if self.state is not _EMPTY and not self.uses_consumer_group_protocol:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")

    def validate_delete_group(self) -> None:
        """Only a group without members may be deleted."""
        self._validate_not_dead()
        if self.state is not _EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")

    def _validate_not_dead(self) -> None:
        if self.state is _DEAD:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")

    def metadata_record(self, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
        """The generation as the log holds it, with what each member is assigned."""
        name = self.protocol_name
        members = []
        for member_id, member in self.members.by_id.items():
            assert name is not None, f"{self.group_id} has members and no protocol"
            members.append(
                MemberMetadata(
                    member_id=member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(name),
                    assignment=assignments[member_id],
                )
            )
        return new_group_metadata_record(
            self.group_id,
            protocol_type=self.protocol_type,
            generation_id=self.generation_id,
            protocol_name=name,
            leader=self.members.leader_id,
            current_state_timestamp_ms=-1
            if self.current_state_timestamp_ms is None
            else self.current_state_timestamp_ms,
            members=members,
        )

    def current_assignments(self) -> dict[str, bytes]:
        """What each member is assigned, by its id."""
        return {member_id: member.assignment for member_id, member in self.members.by_id.items()}

    def tombstone_records(self) -> list[CoordinatorRecord]:
        """What ends the group in the log."""
        return [new_group_metadata_tombstone_record(self.group_id)]

    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """Since the group is empty, or since the commit where that does not say enough; never while it rebalances."""
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.state is _EMPTY:
            since_ms = self.current_state_timestamp_ms
            return commit_timestamp_ms if since_ms is None else since_ms
        if self.state is _STABLE and self.uses_consumer_group_protocol and self.subscribed_topics is not None:
            return commit_timestamp_ms
        return None
