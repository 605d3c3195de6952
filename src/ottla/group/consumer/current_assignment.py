"""The next step of one member towards its target assignment."""

from collections.abc import Callable, Collection, Container
from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.group.assignor.spec import Assignment
from ottla.group.consumer.assignment import NO_PARTITIONS, PartitionEpochs, owns_any
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.partition_owners import NOT_OWNED
from ottla.metadata.image.topics import TopicsImage


class CurrentAssignmentBuilder(NamedTuple):
    """All that decides a member's next assignment.

    A member first gives up what it should not have, staying at its epoch, and says so by no longer naming it in
    ``owned``; then it moves to the target's epoch and gets whatever of the target nobody else owns. It gets the rest as
    others let it go. Thus no partition ever has two owners.
    """

    member: ConsumerGroupMember
    target_epoch: int
    target: Assignment
    subscribed_topic_names: Collection[str]
    """The topics that the member wants now: the target may have been computed before it changed its mind."""
    topics: TopicsImage
    has_subscription_changed: bool
    owner_epoch: Callable[[Uuid, int], int]
    """The epoch at which somebody owns a partition, or NOT_OWNED."""
    owned: Assignment | None
    """What the member says that it owns; None if it does not say."""

    def build(self) -> ConsumerGroupMember:
        """The member after its next step; the same one if there is none to take."""
        return _STEPS[self.member.state](self)

    def _from_stable(self) -> ConsumerGroupMember:
        if self.member.member_epoch != self.target_epoch:
            return self._next(self.member.member_epoch)
        return self._unsubscribed() if self.has_subscription_changed else self.member

    def _from_unrevoked(self) -> ConsumerGroupMember:
        if self._owns(self.member.partitions_pending_revocation):
            return self._unsubscribed() if self.has_subscription_changed else self.member
        return self._next(self.member.member_epoch)

    def _from_unreleased(self) -> ConsumerGroupMember:
        return self._next(self.member.member_epoch)

    def _from_unknown(self) -> ConsumerGroupMember:
        if self.owned is None or self.owned:
            raise ApiError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. "
                "The member must abandon all its partitions and rejoin.",
            )
        return self._next(self.target_epoch)

    def _owns(self, partitions: PartitionEpochs) -> bool:
        """Whether the member may still read some partitions; it does until it says otherwise."""
        return self.owned is None or owns_any(self.owned, partitions)

    def _subscribed_topic_ids(self) -> Container[Uuid]:
        ids = self.topics.topic_id
        return {topic_id for name in self.subscribed_topic_names if (topic_id := ids(name)) is not None}

    def _unsubscribed(self) -> ConsumerGroupMember:
        """Take away the topics that the member no longer wants, without waiting for the next target assignment."""
        member = self.member
        subscribed = self._subscribed_topic_ids()
        dropped = [topic_id for topic_id in member.assigned_partitions if topic_id not in subscribed]
        if not dropped and (self.subscribed_topic_names or member.partitions_pending_revocation):
            return member  # one that wants nothing forgets its last epoch, as in Apache
        assigned = dict(member.assigned_partitions)
        pending = dict(member.partitions_pending_revocation)
        for topic_id in dropped:
            pending[topic_id] = {**pending.get(topic_id, {}), **assigned.pop(topic_id)}
        if pending and self._owns(pending):
            return member.with_epoch(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, pending)
        return member.with_epoch(
            member.member_epoch, member.state, assigned, member.partitions_pending_revocation
        )  # it has already let them go

    def _next(self, member_epoch: int) -> ConsumerGroupMember:
        """The step towards the target; ``member_epoch`` is where the member stays if it has to give something up."""
        member, target_epoch = self.member, self.target_epoch
        assigned: dict[Uuid, dict[int, int]] = {}
        revoked: dict[Uuid, dict[int, int]] = {}
        added: dict[Uuid, list[int]] = {}
        has_unreleased = False
        subscribed = self._subscribed_topic_ids()
        for topic_id in dict.fromkeys((*self.target, *member.assigned_partitions)):
            target = self.target.get(topic_id, ()) if topic_id in subscribed else ()
            wanted = frozenset(target)
            current = member.assigned_partitions.get(topic_id, {})
            kept = {partition: epoch for partition, epoch in current.items() if partition in wanted}
            if kept:
                assigned[topic_id] = kept
            if len(kept) < len(current):
                revoked[topic_id] = {
                    partition: epoch for partition, epoch in current.items() if partition not in wanted
                }
            # What the member itself is giving up is not another's: it may get that back.
            own = member.partitions_pending_revocation.get(topic_id, ())
            missing = [partition for partition in target if partition not in kept]
            free = [each for each in missing if each in own or self.owner_epoch(topic_id, each) == NOT_OWNED]
            has_unreleased = has_unreleased or len(free) < len(missing)
            if free:
                added[topic_id] = free
        if revoked and self._owns(revoked):
            return member.with_epoch(member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoked)
        for topic_id, partitions in added.items():
            assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, target_epoch))
        state = MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE
        return member.with_epoch(target_epoch, state, assigned, NO_PARTITIONS)


_STEPS: dict[MemberState, Callable[[CurrentAssignmentBuilder], ConsumerGroupMember]] = {
    MemberState.STABLE: CurrentAssignmentBuilder._from_stable,
    MemberState.UNREVOKED_PARTITIONS: CurrentAssignmentBuilder._from_unrevoked,
    MemberState.UNRELEASED_PARTITIONS: CurrentAssignmentBuilder._from_unreleased,
    MemberState.UNKNOWN: CurrentAssignmentBuilder._from_unknown,
}
