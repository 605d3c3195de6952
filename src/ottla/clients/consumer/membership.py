"""The seam between the consumer and its group.

The consumer owns positions and fetches; a membership owns the group: it finds the coordinator, joins, heartbeats in a
background task, and decides which partitions this member may read. It never touches positions: it tells a
:class:`PartitionOwner` what changed, in the caller's task, from within :meth:`Membership.process`, so that no record
of a partition is handed out after its revocation and no listener runs beside the user's code.

How a consumer drives it, at every poll and for every record it hands out of its buffer::

    if membership.poll(now_ms):              # cheap: notes that the user is alive; true when there is work to do
        await membership.process()           # runs callbacks, raises what the user must know

While the consumer waits for records, ``PartitionOwner.wake_up`` tells it that ``poll`` would be true now; as it waits
it calls ``poll`` now and then, and so is not taken for dead after ``max.poll.interval.ms``.

One object lives as long as its consumer: ``start`` when it subscribes (or assigns by hand: then there are only
commits), ``leave`` when it unsubscribes, ``close`` at the end.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ottla.clients.consumer.coordinator_metrics import CoordinatorMetrics
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], KafkaError | None], object]
"""Told the offsets of an asynchronous commit and its error, if any; may be a coroutine function."""


class MembershipState(Enum):
    """Where a member stands, the same for both protocols.

    UNJOINED → JOINING → RECONCILING → STABLE; from any of these back to JOINING at a rebalance of the classic protocol,
    to RECONCILING when the assignment changes, to FENCED when the group dropped us (then JOINING again once the
    partitions are given up), to STALLED when the user did not poll for ``max.poll.interval.ms`` (JOINING at the next
    poll), to LEAVING → UNJOINED, and to FATAL, which is final.
    """

    UNJOINED = "unjoined"
    """Not in a group: not started, left, or partitions assigned by hand."""
    JOINING = "joining"
    """Finding the coordinator, or waiting for the group."""
    RECONCILING = "reconciling"
    """The assignment is known and partitions are about to be revoked or assigned, which needs the user to poll."""
    STABLE = "stable"
    """In the group, with its assignment."""
    FENCED = "fenced"
    """The group dropped this member: its partitions are lost, and it joins again at the next poll."""
    STALLED = "stalled"
    """Left the group because the user did not poll for max.poll.interval.ms; joins again at the next poll."""
    LEAVING = "leaving"
    """Committing, giving up partitions and saying goodbye."""
    FATAL = "fatal"
    """Cannot be in this group: see ``error``."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What the user wants to read: topics by name, a regular expression matched here, or one matched by the broker."""

    topics: frozenset[str] = frozenset()
    pattern: "re.Pattern[str] | None" = None
    """Matched against the whole name of every topic in the client's metadata, by this client."""
    server_pattern: str | None = None
    """RE2 syntax, matched by the broker; only ``group.protocol=consumer``."""


class PartitionOwner(Protocol):
    """What the consumer does when partitions come and go. Everything is called from within ``poll``, ``process``,
    ``leave`` or ``close``, except ``wake_up`` and ``on_committed``, which background tasks call.

    Promised: ``on_assigned`` names only partitions that are not owned; every partition that was assigned is named by
    exactly one ``on_revoked`` or ``on_lost`` before it is assigned again; ``stop_delivery`` comes before each of them.
    """

    def stop_delivery(self, partitions: frozenset[TopicPartition]) -> None:
        """Hand out no record of these any more and drop what is buffered; their positions stay until the revocation.

        The membership commits the consumed positions between this and ``on_revoked`` when auto commit is on.
        """

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """These are ours now: add them to the assignment, then run the listener (who may seek).

        ``partitions`` are only the added ones and may be empty: listeners hear of every completed rebalance.
        """

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Run the listener (who may commit), then forget these; forget them even if the listener raises."""

    async def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """As ``on_revoked``, but others may own these already: commits of them will fail."""

    def consumed_offsets(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """The position (next offset to hand out) of every owned partition that has one, for auto commit.

        A poll means that all that was handed out before is processed.
        """

    def on_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were committed, in whatever way."""

    def wake_up(self) -> None:
        """``poll`` would return True: end the wait for records."""


class Membership(Protocol):
    """A consumer's place in its group. Two implementations: ``ClassicMembership`` and ``ConsumerMembership``.

    Times are of ``runtime.clock.monotonic_ms()``.
    """

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""

    @property
    def reason(self) -> str:
        """One sentence for people: what the member waits for, or why it is not in the group."""

    @property
    def error(self) -> KafkaError | None:
        """Why the state is FATAL; every further ``process``, ``commit`` and ``fetch_committed`` raises it."""

    @property
    def metrics(self) -> CoordinatorMetrics:
        """What the member counts."""

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Group, member and generation, as ``Producer.send_offsets_to_transaction`` needs them."""

    @property
    def is_telling(self) -> bool:
        """Whether a listener runs: the group is not left before it returns."""

    async def start(self, subscription: Subscription | None, now_ms: int) -> None:
        """Begin to join, in the background; None: partitions are assigned by hand and only commits are wanted.

        Also sets which topics the client's metadata follows (``want_topics``) when there is a subscription.
        """

    def update_subscription(self, subscription: Subscription) -> None:
        """The user subscribed anew: join again (classic) or tell the coordinator (KIP-848)."""

    def poll(self, now_ms: int) -> bool:
        """The user is alive (for ``max.poll.interval.ms``). True when ``process`` has something to do."""

    async def process(self, timeout_ms: int | None = None) -> None:
        """Run what must run in the user's task: commit before revocation, callbacks, asynchronous commits' callbacks.

        A commit that takes longer than ``timeout_ms`` goes on, and the revocation follows in a later call.

        Raises the fatal ``error``, an error that the user can act on (authorization, invalid topic; the state stays and
        the next poll tries again), or RebalanceListenerError from a listener, after the transition ended. Never waits
        for the group itself.
        """

    def request_rejoin(self, reason: str) -> None:
        """Ask for a new rebalance: joins anew with the reason (classic); nothing under KIP-848."""

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, *, timeout_ms: int | None = None
    ) -> None:
        """Commit and wait; None: all consumed positions. Retries what is retriable until ``default.api.timeout.ms``.

        CommitFailedError: the group went on without this member; RebalanceInProgressError: poll, then commit again;
        KafkaTimeoutError; FencedInstanceIdError and authorization errors.
        """

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, callback: CommitCallback | None = None
    ) -> None:
        """Commit in the background, in order and without retries; ``callback`` runs from a later ``process``."""

    async def fetch_committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets, None where there is none; waits for pending transactions (require_stable)."""

    async def leave(self, *, timeout_ms: int | None = None) -> None:
        """Commit if auto commit is on, revoke all partitions and leave the group; ``start`` may follow."""

    async def close(self, *, timeout_ms: int | None = None) -> None:
        """As ``leave``, wait for asynchronous commits, and end the background work. A static member keeps its place."""
