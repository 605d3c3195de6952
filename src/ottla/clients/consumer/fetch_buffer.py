"""Fetched and not yet handed out: bounded, in order, fair.

Each partition has a queue of at most two answers: one that is being handed out and one that was fetched ahead.
Partitions take turns, an answer at a time. Whatever is not at its partition's position any more (a seek, a reset) or
not assigned is dropped; what is paused, or waits to be validated, stays.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any, Final, TypeVar

from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.partition_state import PartitionState
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.consumer.record_errors import CorruptFetchError, RecordDeserializationError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition

T = TypeVar("T")

ANSWERS_PER_PARTITION_MAX: Final = 2


class Chunk:
    """Records of one partition that are handed out one by one; ``settle`` of the buffer says how far that went."""

    __slots__ = ("fetch", "iterator", "offset", "records")

    def __init__(self, fetch: CompletedFetch, records: list[ConsumerRecord[Any, Any]], offset: int) -> None:
        self.fetch = fetch
        self.records = records
        self.offset = offset
        """The partition's position: before the first of these, or where ``checkpoint`` moved it."""
        self.iterator = iter(records)
        """Hand these out; it knows by itself how many are left."""


class FetchBuffer:
    """Answers come in by ``add``; records go out by ``take``, or by ``next_chunk`` and ``settle``."""

    __slots__ = (
        "_bytes_by_node",
        "_chunk",
        "_decoder",
        "_held",
        "_held_records",
        "_is_gathering",
        "_order",
        "_queues",
        "_subscription",
        "has_room",
        "records_handed_out",
    )

    def __init__(self, subscription: SubscriptionState, decoder: RecordDecoder) -> None:
        self._subscription = subscription
        self._decoder = decoder
        self._queues: dict[TopicPartition, deque[CompletedFetch]] = {}
        self._order: deque[TopicPartition] = deque()
        self._bytes_by_node: dict[int, int] = {}
        self._chunk: Chunk | None = None
        self._held: list[TopicPartition] = []
        self._held_records = 0
        self._is_gathering = False
        self.records_handed_out = 0
        self.has_room = True
        """Set whenever an answer left; whoever plans fetches clears it."""

    # What comes in

    def expected_offset(self, partition: TopicPartition) -> int | None:
        """Where the next fetch of the partition begins; None if it has no position, or as much as may wait."""
        state = self._subscription.get(partition)
        if state is None or not state.has_valid_position or state.position is None:
            return None
        queue = self._queue(partition, state)
        if not queue:
            return state.position.offset
        return queue[-1].end_offset if len(queue) < ANSWERS_PER_PARTITION_MAX else None

    def _queue(self, partition: TopicPartition, state: PartitionState | None) -> deque[CompletedFetch] | None:
        """What waits of a partition; what does not begin at its position is dropped."""
        queue = self._queues.get(partition)
        if queue is None:
            return None
        if state is not None and state.position is not None:
            chunk = self._chunk
            begins_at = chunk.offset if chunk is not None and chunk.fetch is queue[0] else queue[0].next_offset
            if begins_at == state.position.offset:
                return queue
        self.drop(partition)
        return None

    def add(self, fetch: CompletedFetch) -> bool:
        """Take an answer, unless it is not what comes next in its partition (any more)."""
        if fetch.next_offset != self.expected_offset(fetch.partition):
            return False
        if fetch.is_drained:
            return True
        queue = self._queues.get(fetch.partition)
        if queue is None:
            queue = self._queues[fetch.partition] = deque()
            self._order.append(fetch.partition)
        queue.append(fetch)
        self._bytes_by_node[fetch.node_id] = self.bytes_from(fetch.node_id) + fetch.size_in_bytes
        return True

    def bytes_from(self, node_id: int) -> int:
        """How many bytes of this node's answers wait."""
        return self._bytes_by_node.get(node_id, 0)

    @property
    def size_in_bytes(self) -> int:
        """How many bytes wait in all."""
        return sum(self._bytes_by_node.values())

    def partitions(self) -> Collection[TopicPartition]:
        """The partitions of which something waits."""
        return self._queues.keys()

    # What goes out

    def take(self, max_records: int) -> list[ConsumerRecord[Any, Any]]:
        """Up to so many records, and the positions move past them; nothing if nothing may be handed out.

        They count as on their way until ``release``; before that, ``take_back`` undoes all takes since the last one.
        Raises CorruptFetchError or RecordDeserializationError at a record that cannot be read, when it comes first.
        """
        self.settle()
        taken: list[ConsumerRecord[Any, Any]] = []
        while len(taken) < max_records and (fetch := self.front()) is not None:
            try:
                records = self._decoder.take(fetch, max_records - len(taken))
            except (CorruptFetchError, RecordDeserializationError):
                if taken:
                    break
                raise
            finally:
                self._hold(fetch.partition)
                self.advance(fetch)
            taken += records
        self._hand_out(len(taken))
        return taken

    def take_by(self, read: Callable[[CompletedFetch], T | None]) -> T | None:
        """What ``read`` makes of the next answers, at the first that gives something; otherwise as ``take``."""
        self.settle()
        while (fetch := self.front()) is not None:
            before = fetch.records_taken
            try:
                made = read(fetch)
            finally:
                self._hold(fetch.partition)
                self.advance(fetch)
                self._hand_out(fetch.records_taken - before)
            if made is not None:
                return made
        return None

    def _hold(self, partition: TopicPartition) -> None:
        if self._subscription.hold(partition):
            self._held.append(partition)

    def _hand_out(self, count: int) -> None:
        self.records_handed_out += count
        self._held_records += count

    def release(self) -> None:
        """What was taken has arrived: whoever got it is here again, unless somebody still gathers."""
        if self._is_gathering:
            return
        for partition in self._held:
            self._subscription.release(partition)
        self._held.clear()
        self._held_records = 0

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Several takes that arrive together: nothing but the end of this releases them."""
        self.release()
        self._is_gathering = True
        try:
            yield
        finally:
            self._is_gathering = False

    def take_back(self) -> None:
        """What was taken since ``release`` did not arrive: it comes again, where nobody has moved the position."""
        for partition in self._held:
            self._subscription.take_back(partition)
        self._held.clear()
        self.records_handed_out -= self._held_records
        self._held_records = 0

    def marks(self) -> dict[TopicPartition, object]:
        """The partitions of which something is on its way; another object for one that was sought or lost meanwhile."""
        states = ((partition, self._subscription.get(partition)) for partition in self._held)
        return {partition: state.held for partition, state in states if state is not None and state.held is not None}

    def next_chunk(self, max_records: int) -> Chunk | None:
        """The next records of one partition; the position moves at ``settle``, which the next call includes."""
        self.settle()
        while (fetch := self.front()) is not None:
            offset = fetch.next_offset
            records = self._decoder.take(fetch, max_records)
            if records:
                self._chunk = Chunk(fetch, records, offset)
                self.records_handed_out += len(records)
                return self._chunk
            self.advance(fetch)
        return None

    def checkpoint(self) -> None:
        """Move the position past what the current chunk handed out so far; it goes on."""
        chunk = self._chunk
        if chunk is None:
            return
        left = length_hint(chunk.iterator)
        if not left:
            self.settle()
        elif left < len(chunk.records) and self._is_current(chunk):
            following = chunk.records[-left]
            self._subscription.advance(chunk.fetch.partition, following.offset, following.leader_epoch)
            chunk.offset = following.offset

    def settle(self) -> None:
        """Move the position past what the current chunk handed out, which ends it; the rest comes again."""
        chunk = self._chunk
        if chunk is None:
            return
        self._chunk = None
        fetch = chunk.fetch
        left = length_hint(chunk.iterator)
        if left:
            fetch.put_back(left)
            self.records_handed_out -= left
            deque(chunk.iterator, maxlen=0)  # whoever holds it must not go on
        if self._is_current(chunk):
            self.advance(fetch)

    def _is_current(self, chunk: Chunk) -> bool:
        """Whether its partition was not sought, reset or taken away meanwhile."""
        state = self._subscription.get(chunk.fetch.partition)
        return state is not None and state.position is not None and state.position.offset == chunk.offset

    def front(self) -> CompletedFetch | None:
        """The answer to go on with; None if nothing may be handed out. The turn stays with it until it is drained."""
        order = self._order
        for _ in range(len(order)):
            partition = order[0]
            state = self._subscription.get(partition)
            queue = self._queue(partition, state)
            if queue is None or state is None:
                continue
            if state.is_fetchable:
                return queue[0]
            order.rotate(-1)
        return None

    def advance(self, fetch: CompletedFetch) -> None:
        """Move the position to where the answer stands, and let go of the answer when it is drained."""
        partition = fetch.partition
        self._subscription.advance(partition, fetch.next_offset, fetch.last_epoch)
        if not fetch.is_drained:
            return
        queue = self._queues[partition]
        assert queue[0] is fetch, "only the first answer of a partition is handed out"
        queue.popleft()
        self._release(fetch)
        self._order.remove(partition)
        if queue:
            self._order.append(partition)
        else:
            del self._queues[partition]

    # What is let go of

    def drop(self, partition: TopicPartition) -> None:
        """Forget what waits of a partition."""
        for fetch in self._queues.pop(partition, ()):
            self._release(fetch)
        if partition in self._order:
            self._order.remove(partition)

    def make_room(self, node_id: int) -> None:
        """Forget what waits of this node's answers and may not be handed out, unless something else waits that may.

        What is paused for long must not keep its neighbours from being fetched; it is fetched again when it is resumed.
        """
        of_node = [partition for partition, queue in self._queues.items() if queue[0].node_id == node_id]
        states = [self._subscription.get(partition) for partition in of_node]
        if not any(state is not None and state.is_fetchable for state in states):
            for partition in of_node:
                self.drop(partition)

    def retain_assigned(self) -> None:
        """Forget what waits of partitions that are not assigned any more."""
        for partition in list(self._queues):
            if not self._subscription.is_assigned(partition):
                self.drop(partition)

    def clear(self) -> None:
        """Forget everything."""
        self._chunk = None
        for partition in list(self._queues):
            self.drop(partition)

    def _release(self, fetch: CompletedFetch) -> None:
        self._bytes_by_node[fetch.node_id] -= fetch.size_in_bytes
        self.has_room = True
