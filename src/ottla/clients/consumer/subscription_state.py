"""What a consumer reads: topics it asked for, partitions it has, and where it stands in each.

    NONE → TOPICS | PATTERN | ASSIGNED → NONE (unsubscribe)

A subscription may be replaced by one of its kind, or by the other kind once it is given up; a group gives the
partitions. The user gives them when ASSIGNED. Pure: time is an argument.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from ottla.clients.consumer.offset_and_metadata import NO_LEADER_EPOCH, OffsetAndMetadata
from ottla.clients.consumer.offset_reset_policy import OffsetResetPolicy
from ottla.clients.consumer.partition_state import FetchPosition, FetchState, PartitionState
from ottla.clients.errors import IllegalStateError
from ottla.common.topic_partition import TopicPartition


class SubscriptionType(Enum):
    """Who chooses the partitions."""

    NONE = "none"
    TOPICS = "topics"
    PATTERN = "pattern"
    ASSIGNED = "assigned"


class SubscriptionState:
    """Shared by the consumer, its fetcher and its group membership, all on one loop."""

    __slots__ = ("_default_reset", "_is_given_up", "_partitions", "_type", "pattern", "topics", "version")

    def __init__(self, default_reset: OffsetResetPolicy) -> None:
        self._default_reset = default_reset
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._type = SubscriptionType.NONE
        self._is_given_up = False
        self.topics: frozenset[str] = frozenset()
        """The topics subscribed to by name."""
        self.pattern: re.Pattern[str] | None = None
        self.version = 0
        """Grows whenever the set of assigned partitions changes."""

    # What is wanted

    @property
    def type(self) -> SubscriptionType:
        """Who chooses the partitions."""
        return self._type

    @property
    def is_group_managed(self) -> bool:
        """Whether a group gives the partitions."""
        return self._type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    def subscribe_topics(self, topics: Collection[str]) -> bool:
        """Replace the topics; whether they changed. Partitions stay until the group says otherwise."""
        self._become(SubscriptionType.TOPICS)
        wanted = frozenset(topics)
        changed, self.topics = wanted != self.topics, wanted
        return changed

    def subscribe_pattern(self, pattern: re.Pattern[str] | None) -> None:
        """Replace the pattern; None if the broker matches it."""
        self._become(SubscriptionType.PATTERN)
        self.pattern = pattern

    def assign(self, partitions: Collection[TopicPartition]) -> bool:
        """The user's own choice of partitions; whether it changed. Kept ones keep their positions."""
        self._become(SubscriptionType.ASSIGNED)
        return self._replace(partitions)

    def assign_from_group(self, partitions: Collection[TopicPartition], *, pending_callback: bool = False) -> None:
        """The group's choice. Kept partitions keep their positions; new ones wait for the callback if there is one."""
        assert self.is_group_managed, "no group was subscribed to"
        added = [partition for partition in partitions if partition not in self._partitions]
        self._replace(partitions)
        for partition in added:
            self._partitions[partition].is_pending_callback = pending_callback

    def callback_done(self, partitions: Collection[TopicPartition]) -> None:
        """``on_assigned`` has returned: what it was told of may be read."""
        for partition in partitions:
            if (state := self._partitions.get(partition)) is not None:
                state.is_pending_callback = False

    def mark_pending_revocation(self, partitions: Collection[TopicPartition]) -> None:
        """Hand out nothing more of these: the group takes them away."""
        for partition in partitions:
            if (state := self._partitions.get(partition)) is not None:
                state.is_pending_revocation = True

    def want_nothing(self) -> None:
        """The group is about to be left: what there is stays until then, and either kind of subscription may follow."""
        assert self.is_group_managed, "no group was subscribed to"
        self._is_given_up = True
        self.topics = frozenset()
        self.pattern = None

    def unsubscribe(self) -> None:
        """Want and have nothing."""
        self._type = SubscriptionType.NONE
        self._is_given_up = False
        self.topics = frozenset()
        self.pattern = None
        self._replace(())

    # What there is

    @property
    def partitions(self) -> Mapping[TopicPartition, PartitionState]:
        """The assigned partitions, in the order of their assignment."""
        return self._partitions

    def is_assigned(self, partition: TopicPartition) -> bool:
        """Whether the partition is assigned."""
        return partition in self._partitions

    def state(self, partition: TopicPartition) -> PartitionState:
        """Where the consumer stands; raises IllegalStateError for a partition that is not assigned."""
        state = self._partitions.get(partition)
        if state is None:
            raise IllegalStateError(f"No current assignment for partition {partition}")
        return state

    def get(self, partition: TopicPartition) -> PartitionState | None:
        """Where the consumer stands; None for a partition that is not assigned."""
        return self._partitions.get(partition)

    def in_state(self, state: FetchState) -> list[TopicPartition]:
        """The partitions in this state."""
        return [partition for partition, each in self._partitions.items() if each.fetch_state is state]

    def fetchable(self) -> Iterator[tuple[TopicPartition, PartitionState]]:
        """The partitions that may be fetched from now."""
        return ((partition, state) for partition, state in self._partitions.items() if state.is_fetchable)

    def pause(self, partition: TopicPartition) -> None:
        """Hand out and fetch nothing of it until it is resumed."""
        self.state(partition).paused = True

    def resume(self, partition: TopicPartition) -> None:
        """Undo ``pause``."""
        self.state(partition).paused = False

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {partition for partition, state in self._partitions.items() if state.paused}

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit of everything handed out says: the positions, where there are any."""
        return {
            partition: OffsetAndMetadata(*(state.held or state.position)[:2])
            for partition, state in self._partitions.items()
            if state.position is not None
            and state.fetch_state in (FetchState.FETCHING, FetchState.AWAIT_VALIDATION)
            and not state.is_pending_callback
        }

    def hold(self, partition: TopicPartition) -> bool:
        """What comes next is on its way to the user; whether the partition was not held before."""
        state = self._partitions[partition]
        if state.held is not None:
            return False
        state.held = state.position
        return True

    def release(self, partition: TopicPartition) -> None:
        """The user has what was on its way."""
        if (state := self._partitions.get(partition)) is not None:
            state.held = None

    def take_back(self, partition: TopicPartition) -> None:
        """The user never got what was on its way: stand where that begins."""
        state = self._partitions.get(partition)
        if state is None or (held := state.held) is None:
            return
        state.held = None
        if state.position is not None and held.offset < state.position.offset:
            state.position = FetchPosition(held.offset, held.offset_epoch, state.position.current_leader_epoch)

    # Where it stands

    def seek(self, partition: TopicPartition, offset: int, offset_epoch: int = NO_LEADER_EPOCH) -> None:
        """Read on from here; validated before anything is fetched if an epoch is given and a newer leader known."""
        state = self.state(partition)
        state.position = FetchPosition(offset, offset_epoch)
        state.is_epoch_doubted = False
        state.reset_policy = None
        state.preferred_read_replica = -1
        state.become(FetchState.FETCHING)

    def advance(self, partition: TopicPartition, offset: int, offset_epoch: int) -> None:
        """Records up to here were handed out (or skipped, if no user may see them)."""
        state = self._partitions[partition]
        assert state.position is not None
        state.position = FetchPosition(offset, offset_epoch, state.position.current_leader_epoch)

    def request_reset(self, partition: TopicPartition, policy: OffsetResetPolicy | None = None) -> None:
        """Look up where to read from, by this policy or ``auto.offset.reset``."""
        state = self.state(partition)
        state.become(FetchState.AWAIT_RESET)
        state.position = None
        state.reset_policy = policy if policy is not None else self._default_reset
        state.retry_at_ms = 0
        state.preferred_read_replica = -1

    @property
    def default_reset(self) -> OffsetResetPolicy:
        """``auto.offset.reset``."""
        return self._default_reset

    def complete_reset(self, partition: TopicPartition, policy: OffsetResetPolicy, offset: int, epoch: int) -> bool:
        """Take a looked-up offset, unless the partition went away, was sought or is now reset otherwise."""
        state = self._partitions.get(partition)
        if state is None or state.fetch_state is not FetchState.AWAIT_RESET or state.reset_policy != policy:
            return False
        state.position = FetchPosition(offset, epoch)
        state.reset_policy = None
        state.become(FetchState.FETCHING)
        return True

    def leader_changed(self, partition: TopicPartition, leader_epoch: int) -> None:
        """Another leader epoch is known: what was read in another one is validated first.

        It may be a lower one: then the topic was deleted and made again.
        """
        state = self._partitions.get(partition)
        if state is None or (position := state.position) is None or leader_epoch == position.current_leader_epoch:
            return
        state.position = FetchPosition(position.offset, position.offset_epoch, leader_epoch)
        state.is_epoch_doubted = False
        state.preferred_read_replica = -1
        if position.offset_epoch not in (NO_LEADER_EPOCH, leader_epoch):
            state.become(FetchState.AWAIT_VALIDATION)
            state.retry_at_ms = 0
        else:
            state.become(FetchState.FETCHING)

    def complete_validation(self, partition: TopicPartition, position: FetchPosition) -> None:
        """The leader has what was read, unless another position or leader is known by now."""
        state = self._partitions.get(partition)
        if state is not None and state.fetch_state is FetchState.AWAIT_VALIDATION and state.position == position:
            state.become(FetchState.FETCHING)

    def doubt_epoch(self, partition: TopicPartition) -> bool:
        """The leader that is known is older than the position; whether that is new."""
        state = self.state(partition)
        was_doubted, state.is_epoch_doubted = state.is_epoch_doubted, True
        return not was_doubted

    def reposition(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Read on from a position that the leader is known to have."""
        state = self.state(partition)
        state.position = position
        state.become(FetchState.FETCHING)

    def _become(self, kind: SubscriptionType) -> None:
        may_change = self._is_given_up and kind is not SubscriptionType.ASSIGNED
        if self._type not in (SubscriptionType.NONE, kind) and not may_change:
            raise IllegalStateError(
                "Subscription to topics, partitions and pattern are mutually exclusive; unsubscribe first"
            )
        self._type = kind
        self._is_given_up = False

    def _replace(self, partitions: Collection[TopicPartition]) -> bool:
        old = self._partitions
        self._partitions = {partition: old.get(partition) or PartitionState() for partition in partitions}
        changed = self._partitions.keys() != old.keys()
        self.version += changed
        for state in self._partitions.values():
            state.is_pending_revocation = False
        return changed
