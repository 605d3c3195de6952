"""The shards of the transaction coordinator, and what comes of their decisions.

When a transaction is prepared and committed to the log, whoever asked gets the answer and the markers go out; when they
are all written, the shard notes that the transaction is complete.
"""

from collections.abc import Callable
from typing import TypeVar

from ottla.common.errors import InvalidRequestError
from ottla.common.internal_topics import TRANSACTION_STATE_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.coordinator.partitioner import CoordinatorPartitioner
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.coordinator.timers import Timers
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.runtime.completion import Completion
from ottla.transaction.marker_dispatch import MarkerDispatch
from ottla.transaction.markers import MarkerSender, TransactionMarkers
from ottla.transaction.metadata import ProducerIdAndEpoch
from ottla.transaction.metrics import TransactionCoordinatorMetrics
from ottla.transaction.outcomes import NeedsProducerId, Outcome
from ottla.transaction.ports import GenerateProducerId
from ottla.transaction.shard import TransactionCoordinatorShard

T = TypeVar("T")

Decision = Callable[[TransactionCoordinatorShard, int | None, int], CoordinatorResult[Outcome | NeedsProducerId]]
"""An operation that may need a new producer id, at a time in ms."""


class TransactionShards:
    """See the module. It is the ``TransactionEffects`` of the shards, which the runtime makes with ``new_shard``."""

    def __init__(
        self,
        config: TransactionConfig,
        *,
        generate_producer_id: GenerateProducerId,
        marker_sender: MarkerSender,
        metrics: TransactionCoordinatorMetrics,
    ) -> None:
        self._config = config
        self._generate_producer_id = generate_producer_id
        self._metrics = metrics
        self._markers = MarkerDispatch(marker_sender, self._complete)
        self._runtime: CoordinatorRuntime[TransactionCoordinatorShard] | None = None
        self.partitioner = CoordinatorPartitioner(TRANSACTION_STATE_TOPIC)

    def new_shard(
        self, topic_partition: TopicPartition, leader_epoch: int, timers: Timers
    ) -> TransactionCoordinatorShard:
        """An empty shard: what the runtime is made with."""
        return TransactionCoordinatorShard(
            topic_partition, leader_epoch, timers, config=self._config, effects=self, metrics=self._metrics
        )

    def run_on(self, runtime: CoordinatorRuntime[TransactionCoordinatorShard]) -> None:
        """Take the runtime that has been made with ``new_shard``."""
        self._runtime = runtime

    # -- leadership and metadata --------------------------------------------------------------------------------------

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """A partition of __transaction_state is led by this broker."""
        self.runtime.load(TopicPartition(TRANSACTION_STATE_TOPIC, partition), leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Another broker leads it from a leader epoch on; None: it is gone altogether."""
        self.runtime.unload(TopicPartition(TRANSACTION_STATE_TOPIC, partition), leader_epoch)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """The cluster's transaction.version may have changed."""
        self.runtime.on_metadata(delta, image)

    # -- operations ---------------------------------------------------------------------------------------------------

    def write(
        self, transactional_id: str, operation: Callable[[TransactionCoordinatorShard, int], CoordinatorResult[T]]
    ) -> Completion[T]:
        """Run an operation on the shard of a transactional id; INVALID_REQUEST for the empty one."""
        return self.runtime.write(self._topic_partition_for(transactional_id), operation)

    def read(self, transactional_id: str, operation: Callable[[TransactionCoordinatorShard], T]) -> Completion[T]:
        """Ask the shard of a transactional id; INVALID_REQUEST for the empty one."""
        return self.runtime.read(self._topic_partition_for(transactional_id), lambda shard, _now_ms: operation(shard))

    def decide(self, transactional_id: str, decision: Decision) -> Completion[Outcome]:
        """Run an operation, again with a producer id if it needs one; what it prepares, markers complete."""
        answer: Completion[Outcome] = Completion()

        def decided(done: Completion[Outcome | NeedsProducerId]) -> None:
            if done.error is not None:
                answer.fail(done.error)
                return
            outcome = done.result()
            if isinstance(outcome, NeedsProducerId):
                self._generate_producer_id().add_done_callback(generated)
                return
            answer.complete(outcome)
            if outcome.markers is not None:
                self._markers.send(outcome.markers)

        def generated(done: Completion[int]) -> None:
            if done.error is not None:
                answer.fail(done.error)
            else:
                run(done.result())

        def run(new_producer_id: int | None) -> None:
            self.runtime.write(
                topic_partition, lambda shard, now_ms: decision(shard, new_producer_id, now_ms)
            ).add_done_callback(decided)

        topic_partition = self._topic_partition_for(transactional_id)
        run(None)
        return answer

    @property
    def runtime(self) -> CoordinatorRuntime[TransactionCoordinatorShard]:
        """Where the shards live."""
        assert self._runtime is not None, "run_on comes first"
        return self._runtime

    def _topic_partition_for(self, transactional_id: str) -> TopicPartition:
        if not transactional_id:
            raise InvalidRequestError("a transactional id is not empty")
        return self.partitioner.topic_partition_for(transactional_id)

    # -- effects ------------------------------------------------------------------------------------------------------

    def send_markers(self, markers: TransactionMarkers) -> None:
        """See :class:`ottla.transaction.ports.TransactionEffects`."""
        self._markers.send(markers)

    def abort_timed_out(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        """See :class:`ottla.transaction.ports.TransactionEffects`. What fails, the shard's next look finds again."""
        if not self.partitioner.is_started:
            return
        self.decide(
            transactional_id,
            lambda shard, new_id, now_ms: shard.abort_timed_out(transactional_id, producer, new_id, now_ms),
        )

    def unloaded(self, transaction_log_partition: int) -> None:
        """See :class:`ottla.transaction.ports.TransactionEffects`."""
        self._markers.cancel(transaction_log_partition)

    def _complete(self, markers: TransactionMarkers) -> None:
        self.runtime.write(
            TopicPartition(TRANSACTION_STATE_TOPIC, markers.transaction_log_partition),
            lambda shard, now_ms: shard.complete_transaction(markers, now_ms),
        )
