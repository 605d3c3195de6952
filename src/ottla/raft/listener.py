"""Who is told of what the quorum commits, and how far each one has been told."""

from collections.abc import Awaitable
from typing import Final, Generic, Protocol, TypeVar

from ottla.raft.batch import CommittedBatch
from ottla.raft.offset_and_epoch import UNKNOWN_LEADER, LeaderAndEpoch
from ottla.raft.snapshot_reader import SnapshotReader

T = TypeVar("T")

_STARTING_OFFSET: Final = -1


class RaftListener(Protocol[T]):
    """A state machine over the metadata log. It sees each offset once, in order, from a snapshot or as a batch."""

    def handle_commit(self, batch: CommittedBatch[T]) -> None:
        """A batch is committed; a control batch has no records."""

    def handle_load_snapshot(self, snapshot: SnapshotReader[T]) -> Awaitable[None] | None:
        """Throw everything away and begin anew with a snapshot. A coroutine may read it in slices: it is awaited."""

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """The leader or the epoch changed. This node is named only once the listener has seen all that is committed
        before its epoch.
        """


class ListenerContext(Generic[T]):
    """One listener: the next offset that it must see, and the leader that it knows of."""

    __slots__ = ("_known_leader", "listener", "next_offset")

    def __init__(self, listener: RaftListener[T]) -> None:
        self.listener = listener
        self.next_offset = _STARTING_OFFSET
        self._known_leader = UNKNOWN_LEADER

    @property
    def is_new(self) -> bool:
        """Whether it has seen nothing yet."""
        return self.next_offset == _STARTING_OFFSET

    def fire_commit(self, batch: CommittedBatch[T]) -> None:
        """Tell of a batch, which is the next one."""
        assert batch.base_offset <= self.next_offset <= batch.last_offset, f"{self.next_offset} is not in {batch}"
        self.next_offset = batch.last_offset + 1
        self.listener.handle_commit(batch)

    def maybe_fire_leader_change(self, leader: LeaderAndEpoch, own_epoch_start_offset: int | None) -> None:
        """Tell of a leader that is news; of this node (whose epoch has a start offset) only when caught up with it."""
        known = self._known_leader
        is_news = leader.epoch > known.epoch or (leader.leader_id is not None and known.leader_id is None)
        if leader == known or not is_news:
            return
        if own_epoch_start_offset is not None and self.next_offset <= own_epoch_start_offset:
            return
        self._known_leader = leader
        self.listener.handle_leader_change(*leader)
