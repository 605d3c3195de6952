"""What a consumer does when its group gives and takes partitions: the consumer's side of the membership's seam."""

from collections.abc import Callable, Mapping

from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.interceptors import Interceptors
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.rebalance_listener import notify_listener
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition


class GroupPartitions:
    """See :class:`ottla.clients.consumer.membership.PartitionOwner`, which this is."""

    __slots__ = ("_buffer", "_changed", "_subscription", "_wake_up", "interceptors", "listener")

    def __init__(
        self,
        subscription: SubscriptionState,
        buffer: FetchBuffer,
        *,
        changed: Callable[[], None],
        wake_up: Callable[[], None],
    ) -> None:
        """``changed``: there is something else to fetch; ``wake_up``: end the wait for records."""
        self._subscription = subscription
        self._buffer = buffer
        self._changed = changed
        self._wake_up = wake_up
        self.interceptors = Interceptors(())
        self.listener: object = None
        """The user's, or None."""

    def stop_delivery(self, partitions: frozenset[TopicPartition]) -> None:
        """Hand out no more of these."""
        self._buffer.settle()
        self._subscription.mark_pending_revocation(partitions)
        for partition in partitions:
            self._buffer.drop(partition)

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Add these; nothing of them is read before the listener, who may seek, has returned."""
        added = sorted(partitions)
        self._subscription.assign_from_group([*self._subscription.partitions, *added], pending_callback=True)
        try:
            await notify_listener(self.listener, "on_partitions_assigned", partitions)
        finally:
            self._subscription.callback_done(added)
            self._changed()

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Let the listener commit, then forget these."""
        try:
            await notify_listener(self.listener, "on_partitions_revoked", partitions)
        finally:
            self._forget(partitions)

    async def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Others have them: tell, and forget."""
        try:
            await notify_listener(self.listener, "on_partitions_lost", partitions)
        finally:
            self._forget(partitions)

    def _forget(self, partitions: frozenset[TopicPartition]) -> None:
        kept = [partition for partition in self._subscription.partitions if partition not in partitions]
        if self._subscription.is_group_managed:
            self._subscription.assign_from_group(kept)
        self._buffer.retain_assigned()
        self._changed()

    def consumed_offsets(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Where each partition's position is."""
        return self._subscription.consumed()

    def on_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Tell the interceptors."""
        self.interceptors.on_commit(offsets)

    def wake_up(self) -> None:
        """The membership has something for the next poll."""
        self._wake_up()
