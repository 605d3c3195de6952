"""What the user has, what it is to get, and what must happen in its task for that.

Promised: a partition is owned only between an ASSIGN and a REVOKE or LOSE that names it; whoever was assigned it is
told of its end exactly once before it is assigned again.
"""

from collections.abc import Collection

from ottla.clients.consumer.assignors.assignor import RebalanceProtocol
from ottla.clients.consumer.member_machine import Duty, DutyKind
from ottla.common.topic_partition import TopicPartition

_NOTHING: frozenset[TopicPartition] = frozenset()


class AssignmentProgress:
    """The partitions of a classic member between rebalances.

    ``receive`` brings an assignment, ``lose`` says that the group dropped the member, ``prepare`` that it wants to join
    again; each may make duties, which are done one after the other.
    """

    __slots__ = ("_is_lost", "_pending", "_preparing_for", "_protocol", "_revoked_some", "owned")

    def __init__(self, protocol: RebalanceProtocol) -> None:
        self._protocol = protocol
        self.owned = _NOTHING
        self._pending: frozenset[TopicPartition] | None = None
        self._is_lost = False
        self._preparing_for: frozenset[str] | None = None
        self._revoked_some = False

    @property
    def is_pending(self) -> bool:
        """Whether an assignment came that the user does not know of."""
        return self._pending is not None

    @property
    def is_lost(self) -> bool:
        """Whether the user has partitions that the group has taken away."""
        return self._is_lost and bool(self.owned)

    def receive(self, partitions: Collection[TopicPartition]) -> None:
        """The assignment of a new generation."""
        self._is_lost = False
        self._pending = frozenset(partitions)
        self._preparing_for = None
        self._revoked_some = False

    def lose(self) -> None:
        """The member is out of its group: what it has may be others' already; what it did not get yet is void."""
        self._is_lost = True
        self._pending = None
        self._preparing_for = None

    def prepare(self, topics: frozenset[str]) -> None:
        """A new rebalance begins, for a subscription to these topics."""
        self._preparing_for = topics

    def duty(self) -> Duty | None:
        """The next thing to do in the user's task. A pending assignment is told before a new rebalance begins."""
        if self._is_lost:
            return Duty(DutyKind.LOSE, self.owned) if self.owned else None
        if self._pending is not None:
            if revoked := self.owned - self._pending:
                return Duty(DutyKind.REVOKE, revoked)
            return Duty(DutyKind.ASSIGN, self._pending - self.owned)
        if self._preparing_for is None:
            return None
        revoked = self.owned
        if self._protocol is RebalanceProtocol.COOPERATIVE:
            revoked = frozenset(tp for tp in self.owned if tp.topic not in self._preparing_for)
        return Duty(DutyKind.REVOKE, revoked) if revoked else None

    def done(self, duty: Duty) -> bool:
        """A duty was performed. True: the new assignment took some away, so the group must rebalance once more.

        What is lost while the user's listener runs is still noted: the loss of what it was just given comes next.
        """
        if duty.kind is not DutyKind.ASSIGN:
            self.owned -= duty.partitions
            self._revoked_some |= self._pending is not None
            return False
        self.owned |= duty.partitions
        self._pending = None
        revoked_some, self._revoked_some = self._revoked_some, False
        return revoked_some and not self._is_lost

    def left(self) -> None:
        """The member is out by its own will, with nothing owned."""
        assert not self.owned, f"left with partitions: {sorted(self.owned)}"
        self._pending = None
        self._is_lost = False
        self._preparing_for = None
