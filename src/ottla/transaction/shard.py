"""The transactional ids of one partition of __transaction_state."""

from collections.abc import Collection, Iterator, Mapping

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.metadata.features import TRANSACTION_VERSION
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.transaction.end_transaction import ALREADY_ENDED, EndTransaction, decide_end, decide_fence
from ottla.transaction.errors import concurrent_transactions, invalid_producer_id_mapping, producer_fenced
from ottla.transaction.housekeeping import Housekeeping
from ottla.transaction.init_producer import InitProducerId, check_not_fenced, decide_init
from ottla.transaction.markers import TransactionMarkers
from ottla.transaction.metadata import NO_PRODUCER, ProducerIdAndEpoch, TransactionMetadata
from ottla.transaction.metrics import TransactionCoordinatorMetrics
from ottla.transaction.outcomes import NEEDS_PRODUCER_ID, NeedsProducerId, Outcome
from ottla.transaction.ports import TransactionEffects
from ottla.transaction.records import TransactionLogKey, TransactionLogValue
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_log import metadata_of, new_transaction_record
from ottla.transaction.transaction_store import TransactionStore
from ottla.transaction.transaction_version import TransactionVersion

_Result = CoordinatorResult[Outcome | NeedsProducerId]


class TransactionCoordinatorShard:
    """See :class:`ottla.coordinator.shard.CoordinatorShard`.

    Operations that may need a new producer id are called with None first, and again with one if they ask for it.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        coordinator_epoch: int,
        timers: Timers,
        *,
        config: TransactionConfig,
        effects: TransactionEffects,
        metrics: TransactionCoordinatorMetrics,
    ) -> None:
        self._partition = topic_partition.partition
        self._coordinator_epoch = coordinator_epoch
        self._version = TransactionVersion.TV_0
        self._store = TransactionStore()
        self._decided: tuple[TransactionLogValue | None, TransactionMetadata | None] = (None, None)
        self._housekeeping = Housekeeping(
            self._store, timers, config=config, effects=effects, metrics=metrics, shard=self
        )

    # -- producers ----------------------------------------------------------------------------------------------------

    def init_producer_id(self, request: InitProducerId, new_producer_id: int | None, now_ms: int) -> _Result:
        """Who the producer is; others with its transactional id are fenced.

        An ongoing transaction is aborted first, and the producer told to come again: CONCURRENT_TRANSACTIONS.
        """
        metadata = self._store.get(request.transactional_id)
        if metadata is not None and metadata.state is TransactionState.ONGOING:
            check_not_fenced(metadata, request.expected)
            return self._fence(metadata, ErrorCode.CONCURRENT_TRANSACTIONS, new_producer_id, now_ms)
        initialized = decide_init(metadata, request, new_producer_id, now_ms)
        if isinstance(initialized, NeedsProducerId):
            return CoordinatorResult((), NEEDS_PRODUCER_ID)
        return CoordinatorResult((self._record(initialized),), Outcome(producer=initialized.producer))

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        client_version: TransactionVersion,
        now_ms: int,
    ) -> CoordinatorResult[None]:
        """Let partitions take part in the transaction, which begins if there is none."""
        self._check_supported(client_version)
        metadata = self._store.get(transactional_id)
        if metadata is None:
            raise invalid_producer_id_mapping()
        # First of all: a producer whose epochs are used up has its next id already, which this state does not.
        if metadata.state.is_prepared:
            raise concurrent_transactions()
        _check_producer(metadata, producer)
        if metadata.state is TransactionState.ONGOING and all(map(metadata.topic_partitions.__contains__, partitions)):
            return NOTHING
        ongoing = metadata.prepare_add_partitions(partitions, client_version, now_ms)
        return CoordinatorResult((self._record(ongoing),), None)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Whether partitions take part: TRANSACTION_ABORTABLE for those that do not."""
        metadata = self._store.get(transactional_id)
        if metadata is None:
            raise invalid_producer_id_mapping()
        _check_producer(metadata, producer)
        if metadata.state.is_prepared:
            raise concurrent_transactions()
        known = metadata.topic_partitions
        return {
            partition: ErrorCode.NONE if partition in known else ErrorCode.TRANSACTION_ABORTABLE
            for partition in partitions
        }

    def end_transaction(self, request: EndTransaction, new_producer_id: int | None, now_ms: int) -> _Result:
        """Commit or abort. Producers of transactions v2 are told who they are from now on."""
        self._check_supported(request.client_version)
        metadata = self._store.get(request.transactional_id)
        if metadata is None:
            raise invalid_producer_id_mapping()
        decided = decide_end(metadata, request, new_producer_id, now_ms)
        if isinstance(decided, NeedsProducerId):
            return CoordinatorResult((), NEEDS_PRODUCER_ID)
        bumps_epoch = request.client_version.supports_epoch_bump
        if decided is ALREADY_ENDED:
            return CoordinatorResult((), Outcome(producer=metadata.producer if bumps_epoch else NO_PRODUCER))
        producer = decided.prepare_complete(now_ms).producer if bumps_epoch else NO_PRODUCER
        return self._prepared(decided, ErrorCode.NONE, producer)

    def abort_timed_out(
        self, transactional_id: str, producer: ProducerIdAndEpoch, new_producer_id: int | None, now_ms: int
    ) -> _Result:
        """Fence the producer of a transaction that takes too long, unless something has happened meanwhile."""
        metadata = self._store.get(transactional_id)
        if metadata is None or metadata.producer != producer or not metadata.is_timed_out(now_ms):
            return CoordinatorResult((), Outcome())
        return self._fence(metadata, ErrorCode.NONE, new_producer_id, now_ms)

    def complete_transaction(self, markers: TransactionMarkers, now_ms: int) -> CoordinatorResult[None]:
        """All markers are written: the transaction is over, unless it is already or these are another's markers."""
        metadata = self._store.get(markers.transactional_id)
        if metadata is None or not metadata.state.is_prepared or self.markers_of(metadata) != markers:
            return NOTHING
        return CoordinatorResult(
            (self._record(metadata.prepare_complete(now_ms)),),
            None,
            on_committed=self._housekeeping.completion_written(markers),
        )

    # -- looking ------------------------------------------------------------------------------------------------------

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """The state of a transactional id."""
        return self._store.get(transactional_id)

    def __iter__(self) -> Iterator[TransactionMetadata]:
        return iter(self._store)

    def markers_of(self, metadata: TransactionMetadata) -> TransactionMarkers:
        """The markers of a prepared transaction."""
        return TransactionMarkers(
            metadata.transactional_id,
            metadata.producer_id,
            metadata.producer_epoch,
            self._coordinator_epoch,
            metadata.state is TransactionState.PREPARE_COMMIT,
            tuple(metadata.topic_partitions),
            int(metadata.client_transaction_version),
            self._partition,
        )

    # -- the runtime --------------------------------------------------------------------------------------------------

    def replay(self, _offset: int, _producer_id: int, _producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a record. One that was decided here says more than the log does; see :class:`TransactionMetadata`."""
        key, value = record.key, record.value
        assert isinstance(key, TransactionLogKey)
        if value is None:
            self._store.remove(key.transactional_id)
            return
        assert isinstance(value, TransactionLogValue)
        decided_value, metadata = self._decided
        if value is not decided_value or metadata is None:
            metadata = metadata_of(key.transactional_id, value)
        self._store.put(metadata)

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Nothing in this log is part of a transaction."""

    def on_loaded(self, image: MetadataImage, _now_ms: int) -> None:
        """Go on with the transactions that were prepared, and look after the others from time to time."""
        self._follow_features(image)
        self._housekeeping.start()

    def on_unloaded(self) -> None:
        """Whoever waits for a commit has been told by the runtime."""
        self._housekeeping.stop(self._partition)

    def on_metadata(self, _delta: MetadataDelta, image: MetadataImage, _now_ms: int) -> None:
        """The level of transaction.version may have changed."""
        self._follow_features(image)

    def _follow_features(self, image: MetadataImage) -> None:
        level = image.features.finalized_versions.get(TRANSACTION_VERSION, 0)
        self._version = TransactionVersion(min(level, max(TransactionVersion)))

    # -- transitions --------------------------------------------------------------------------------------------------

    def _fence(
        self, metadata: TransactionMetadata, answer: ErrorCode, new_producer_id: int | None, now_ms: int
    ) -> _Result:
        aborted = decide_fence(metadata, self._version, new_producer_id, now_ms)
        if isinstance(aborted, NeedsProducerId):
            return CoordinatorResult((), NEEDS_PRODUCER_ID)
        return self._prepared(aborted, answer, NO_PRODUCER)

    def _prepared(self, metadata: TransactionMetadata, answer: ErrorCode, producer: ProducerIdAndEpoch) -> _Result:
        return CoordinatorResult((self._record(metadata),), Outcome(answer, producer, self.markers_of(metadata)))

    def _record(self, metadata: TransactionMetadata) -> CoordinatorRecord:
        record = new_transaction_record(metadata, self._version)
        assert isinstance(record.value, TransactionLogValue)
        self._decided = (record.value, metadata)
        return record

    def _check_supported(self, client_version: TransactionVersion) -> None:
        """A log of transaction.version 0 cannot say what transactions v2 need."""
        if client_version.supports_epoch_bump and self._version is TransactionVersion.TV_0:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "transaction.version 0 has no transactions v2")


def _check_producer(metadata: TransactionMetadata, producer: ProducerIdAndEpoch) -> None:
    if metadata.producer_id != producer.producer_id:
        raise invalid_producer_id_mapping()
    if metadata.producer_epoch != producer.producer_epoch:
        raise producer_fenced()
