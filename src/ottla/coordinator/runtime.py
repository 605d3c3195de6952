"""The runtime of a coordinator: a shard for each partition of its topic that this broker leads.

It lives on the reactor. Partitions are loaded one after the other, in slices; the others work meanwhile.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.errors import not_coordinator
from ottla.coordinator.loader import Loader
from ottla.coordinator.ports import PartitionWriter
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.coordinator.shard import CoordinatorShard
from ottla.coordinator.shard_context import CoordinatorState, ShardContext, TransactionalAppend
from ottla.coordinator.timers import Timers
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.runtime.completion import Completion
from ottla.runtime.port import Clock

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=CoordinatorShard)
T = TypeVar("T")

NewShard = Callable[[TopicPartition, int, Timers], S]
"""Makes an empty shard for a partition and a leader epoch, with the timers that it may use."""


class CoordinatorRuntime(Generic[S]):
    """See the module. ``on_loading`` is called when there is something for ``load_next`` to do."""

    def __init__(
        self,
        new_shard: NewShard[S],
        loader: Loader,
        *,
        writer: PartitionWriter,
        batches: BatchBuilder,
        clock: Clock,
        metrics: CoordinatorRuntimeMetrics,
        on_loading: Callable[[], None],
        on_earlier_deadline: Callable[[int], None],
    ) -> None:
        self._new_shard = new_shard
        self._loader = loader
        self._writer = writer
        self._batches = batches
        self._clock = clock
        self._metrics = metrics
        self._on_loading = on_loading
        self._on_earlier_deadline = on_earlier_deadline
        self._contexts: dict[TopicPartition, ShardContext[S]] = {}
        self._to_load: deque[ShardContext[S]] = deque()
        self._image = MetadataImage()

    # -- leadership ---------------------------------------------------------------------------------------------------

    def load(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        """Load the shard of a partition that this broker leads; anew for a new leader epoch."""
        before = self._contexts.get(topic_partition)
        if before is not None:
            if before.leader_epoch >= leader_epoch:
                return
            self._close(before)
        timers = Timers(self._clock.monotonic_ms, self._on_earlier_deadline)
        context = ShardContext(
            topic_partition,
            leader_epoch,
            self._new_shard(topic_partition, leader_epoch, timers),
            timers,
            writer=self._writer,
            batches=self._batches,
            clock=self._clock,
            metrics=self._metrics,
        )
        self._contexts[topic_partition] = context
        self._metrics.state_changed("", context.state.value)
        self._to_load.append(context)
        self._on_loading()

    def unload(self, topic_partition: TopicPartition, leader_epoch: int | None = None) -> None:
        """Give up a partition that somebody else leads from a leader epoch on; None: it is gone altogether."""
        context = self._contexts.get(topic_partition)
        if context is not None and (leader_epoch is None or context.leader_epoch < leader_epoch):
            logger.info("Unloading the coordinator of %s with epoch %d", topic_partition, context.leader_epoch)
            del self._contexts[topic_partition]
            self._close(context)

    def close(self) -> None:
        """The broker stops."""
        for topic_partition in list(self._contexts):
            self.unload(topic_partition)

    def _close(self, context: ShardContext[S]) -> None:
        self._metrics.state_changed(context.state.value, "")
        context.close()

    @property
    def is_loading(self) -> bool:
        """Whether a shard waits to be loaded."""
        return bool(self._to_load)

    async def load_next(self) -> None:
        """Load the shard that has waited longest."""
        context = self._to_load.popleft()
        topic_partition = context.topic_partition
        if context.state is not CoordinatorState.LOADING:
            return
        started_ns = self._metrics.now_ns()
        try:
            summary = await self._loader.load(
                topic_partition, context.shard, lambda: context.state is CoordinatorState.LOADING
            )
            if context.state is not CoordinatorState.LOADING:
                return
            context.activate(summary.end_offset, self._image)
        except Exception as error:  # noqa: BLE001  see there
            self._load_failed(context, error)
            return
        elapsed_us = self._metrics.elapsed_us(started_ns)
        self._metrics.partition_load.record(elapsed_us)
        self._metrics.state_changed("loading", "active")
        logger.info(
            "Finished loading %s with epoch %d in %d ms: %d records, %d bytes, longest slice %d us of CPU",
            topic_partition,
            context.leader_epoch,
            elapsed_us // 1000,
            summary.records_count,
            summary.size_bytes,
            summary.longest_slice_us,
        )

    def _load_failed(self, context: ShardContext[S], error: Exception) -> None:
        """Whatever is wrong with one partition, the others are still served."""
        if context.state is CoordinatorState.CLOSED:
            return  # while it was being loaded: nobody asks what became of it
        is_expected = isinstance(error, KafkaError)
        logger.error(
            "Failed to load the coordinator of %s: %s",
            context.topic_partition,
            error,
            exc_info=None if is_expected else error,
        )
        context.fail()
        self._metrics.state_changed("loading", "failed")

    # -- operations ---------------------------------------------------------------------------------------------------

    def write(
        self,
        topic_partition: TopicPartition,
        operation: Callable[[S, int], CoordinatorResult[T]],
        transaction: TransactionalAppend | None = None,
    ) -> Completion[T]:
        """Run an operation on a shard, told the wall clock's time; its response comes when its records are committed.

        NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS where there is no shard to run it.
        """
        context = self._contexts.get(topic_partition)
        if context is None:
            return Completion.failed(not_coordinator())
        return context.write(operation) if transaction is None else context.write(operation, transaction)

    def read(self, topic_partition: TopicPartition, operation: Callable[[S, int], T]) -> Completion[T]:
        """Run an operation that changes nothing; its response comes when all that it has seen is committed."""
        context = self._contexts.get(topic_partition)
        return Completion.failed(not_coordinator()) if context is None else context.read(operation)

    def write_all(self, operation: Callable[[S, int], CoordinatorResult[T]]) -> list[Completion[T]]:
        """Run an operation on every active shard."""
        return [context.write(operation) for context in self._active()]

    def read_all(self, operation: Callable[[S, int], T]) -> list[Completion[T]]:
        """Run an operation that changes nothing on every shard; those that are being loaded refuse it."""
        return [context.read(operation) for context in list(self._contexts.values())]

    def complete_transaction(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        committed: bool,
        transaction_version: int,
    ) -> Completion[None]:
        """End a transaction that wrote to a partition of this coordinator."""
        context = self._contexts.get(topic_partition)
        if context is None:
            return Completion.failed(not_coordinator())
        return context.complete_transaction(
            producer_id,
            producer_epoch,
            coordinator_epoch,
            committed=committed,
            transaction_version=transaction_version,
        )

    # -- time and metadata --------------------------------------------------------------------------------------------

    def tick(self, monotonic_ms: int) -> int | None:
        """Run what is due; returns when to come again, if there is anything to come for. Both are monotonic."""
        deadlines = []
        for context in self._active():
            context.tick(monotonic_ms)
            deadline_ms = context.timers.next_deadline_ms
            if deadline_ms is not None:
                deadlines.append(deadline_ms)
        return min(deadlines, default=None)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Tell every shard of new metadata; one that is being loaded gets it when it is."""
        self._image = image
        now_ms = self._clock.now_ms()
        for context in self._active():
            context.shard.on_metadata(delta, image, now_ms)

    def _active(self) -> list[ShardContext[S]]:
        return [context for context in self._contexts.values() if context.state is CoordinatorState.ACTIVE]

    @property
    def active_shards(self) -> list[S]:
        """The shards that take operations, for those who measure them."""
        return [context.shard for context in self._active()]

    @property
    def states(self) -> dict[TopicPartition, CoordinatorState]:
        """The state of each partition's shard."""
        return {topic_partition: context.state for topic_partition, context in self._contexts.items()}
