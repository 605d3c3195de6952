"""A member of a consumer group."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.common.uuid import Uuid
from ottla.group.consumer.assignment import NO_PARTITIONS, PartitionEpochs
from ottla.group.consumer.member_state import MemberState
from ottla.group.records import ClassicMemberMetadata
from ottla.group.records import ClassicProtocol as ClassicProtocolRecord

JOIN_GROUP_MEMBER_EPOCH: Final = 0
"""A heartbeat at this epoch joins, or joins again."""
LEAVE_GROUP_MEMBER_EPOCH: Final = -1
"""A heartbeat at this epoch leaves."""
LEAVE_GROUP_STATIC_MEMBER_EPOCH: Final = -2
"""A heartbeat at this epoch leaves a static member's place reserved until its session ends."""


class ClassicProtocol(NamedTuple):
    """An assignor that a classic member supports, with the subscription that it sent for it."""

    name: str
    metadata: bytes


class ClassicMember(NamedTuple):
    """What only a member that speaks the classic protocol has."""

    session_timeout_ms: int
    supported_protocols: tuple[ClassicProtocol, ...]


class ConsumerGroupMember(NamedTuple):
    """An immutable member; ``_replace`` makes the next one, and equal members need no new record."""

    member_id: str
    member_epoch: int = JOIN_GROUP_MEMBER_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    """Given for a static member."""
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    """In order, none twice."""
    subscribed_topic_regex: str = ""
    server_assignor_name: str | None = None
    assigned_partitions: PartitionEpochs = NO_PARTITIONS
    partitions_pending_revocation: PartitionEpochs = NO_PARTITIONS
    """It was asked to give these up, and may still read them."""
    classic: ClassicMember | None = None

    @property
    def use_classic_protocol(self) -> bool:
        """Whether it speaks the classic protocol."""
        return self.classic is not None

    @property
    def classic_member_metadata(self) -> ClassicMemberMetadata | None:
        """What the record says of its classic protocol."""
        if self.classic is None:
            return None
        return ClassicMemberMetadata(
            session_timeout_ms=self.classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocolRecord(name=name, metadata=metadata)
                for name, metadata in self.classic.supported_protocols
            ],
        )

    def is_reconciled_to(self, target_assignment_epoch: int) -> bool:
        """Whether it has reached an epoch, and all that this gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == target_assignment_epoch

    def with_epoch(
        self, member_epoch: int, state: MemberState, assigned: PartitionEpochs, pending: PartitionEpochs
    ) -> "ConsumerGroupMember":
        """The member at its next epoch, or at the same one."""
        return self._replace(
            member_epoch=member_epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned_partitions=assigned,
            partitions_pending_revocation=pending,
        )

    def left_temporarily(self) -> "ConsumerGroupMember":
        """The static member that has left and means to come back: its partitions stay its own, as of epoch 0."""
        return self._replace(
            member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH,
            assigned_partitions={
                topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in self.assigned_partitions.items()
            },
            partitions_pending_revocation=NO_PARTITIONS,
        )

    def without_assignment(self) -> "ConsumerGroupMember":
        """The member whose assignment was deleted, as the first step of its own removal."""
        return self._replace(
            member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            previous_member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            assigned_partitions=NO_PARTITIONS,
            partitions_pending_revocation=NO_PARTITIONS,
        )

    def assignment_epoch(self, topic_id: Uuid, partition: int) -> int | None:
        """The epoch at which it got a partition that it has or is giving up; None if it has no part in it."""
        for epochs in (self.assigned_partitions.get(topic_id), self.partitions_pending_revocation.get(topic_id)):
            if epochs is not None and partition in epochs:
                return epochs[partition]
        return None


def topic_names(names: Sequence[str]) -> tuple[str, ...]:
    """A subscription by names, in the form that a member keeps."""
    return tuple(sorted(set(names)))
