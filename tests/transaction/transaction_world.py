"""A transaction coordinator on a log in memory: the test moves clock and high watermark, and writes the markers."""

import itertools
from collections.abc import Callable, Iterable

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.loader import Loader
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.metadata.features import TRANSACTION_VERSION
from ottla.metadata.image.features import FeaturesImage
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metrics.registry import Registry
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.records.batch import RecordBatch
from ottla.records.record import decode_records
from ottla.runtime.completion import Completion
from ottla.transaction.coordinator import TransactionCoordinator
from ottla.transaction.markers import MarkersDone, TransactionMarkers
from ottla.transaction.metadata import NO_PRODUCER, ProducerIdAndEpoch, TransactionMetadata
from ottla.transaction.records import RECORD_TYPES, TransactionLogKey, TransactionLogValue
from ottla.transaction.shard import TransactionCoordinatorShard
from ottla.transaction.transaction_log import metadata_of, new_transaction_record
from ottla.transaction.transaction_version import TransactionVersion
from tests.coordinator.coordinator_world import Partition, run

PARTITION = TopicPartition("__transaction_state", 0)
SERDE = RecordSerde(RECORD_TYPES)
TIMEOUT_MS = 60_000
ID = "tx"
A, B, C = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Markers:
    """A sender whose markers the test writes; ``on_send`` sees them first."""

    def __init__(self) -> None:
        self.sent: list[TransactionMarkers] = []
        self.pending: list[tuple[TransactionMarkers, MarkersDone]] = []
        self.is_immediate = False
        self.on_send: Callable[[TransactionMarkers], None] = lambda _: None

    def send(self, markers: TransactionMarkers, done: MarkersDone) -> None:
        self.on_send(markers)
        self.sent.append(markers)
        if self.is_immediate:
            done(None)
        else:
            self.pending.append((markers, done))

    def cancel(self, transaction_log_partition: int) -> None:
        self.pending = [one for one in self.pending if one[0].transaction_log_partition != transaction_log_partition]

    def write(self, index: int = 0, error: KafkaError | None = None) -> None:
        """All markers of a pending transaction are written, or refused for good."""
        self.pending.pop(index)[1](error)


class TransactionWorld:
    """One partition of __transaction_state with its coordinator."""

    def __init__(
        self,
        *,
        autocommit: bool = True,
        version: int = TransactionVersion.TV_2,
        config: TransactionConfig | None = None,
    ) -> None:
        self.log = Partition(autocommit=autocommit)
        self.time_ms = 1_000_000
        self.wall_ahead_ms = 0
        self.leader_epoch = 4
        self.markers = Markers()
        self.producer_ids = itertools.count(1000)
        self.no_producer_ids: KafkaError | None = None
        self.registry = Registry()
        self.coordinator = TransactionCoordinator(
            TransactionConfig() if config is None else config,
            generate_producer_id=self._generate,
            marker_sender=self.markers,
            offsets_partition=len,
            registry=self.registry,
        )
        self.runtime = CoordinatorRuntime(
            self.coordinator.new_shard,
            Loader(self.log, SERDE, buffer_bytes=1 << 20, now_us=lambda: 0, pause=_never),
            writer=self.log,
            batches=BatchBuilder(),
            clock=self,
            metrics=CoordinatorRuntimeMetrics(self.registry, "transaction-coordinator-metrics", lambda: 0),
            on_loading=lambda: None,
            on_earlier_deadline=lambda _: None,
        )
        self.coordinator.run_on(self.runtime)
        self.coordinator.startup(1)
        self.finalize(version)

    def finalize(self, version: int) -> None:
        """Set the cluster's transaction.version."""
        features = FeaturesImage({TRANSACTION_VERSION: version} if version else {})
        image = MetadataImage(features=features)
        self.runtime.on_metadata(MetadataDelta(MetadataImage()), image)

    def now_ms(self) -> int:
        return self.time_ms + self.wall_ahead_ms

    def monotonic_ms(self) -> int:
        return self.time_ms

    def _generate(self) -> Completion[int]:
        if self.no_producer_ids is not None:
            return Completion.failed(self.no_producer_ids)
        return Completion.done(next(self.producer_ids))

    # -- leadership and time ------------------------------------------------------------------------------------------

    def load(self) -> TransactionCoordinatorShard:
        """Load the partition under a new leader epoch, and run what is due."""
        self.leader_epoch += 1
        self.runtime.load(PARTITION, self.leader_epoch)
        while self.runtime.is_loading:
            run(self.runtime.load_next())
        self.runtime.tick(self.time_ms)
        return self.shard

    def crash(self, keep: int = 0) -> TransactionCoordinatorShard:
        """Lose what is not committed, but for ``keep`` batches, and load again."""
        self.log.give_up(ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.runtime.unload(PARTITION)
        committed = [one for one in self.log.batches if RecordBatch(one).base_offset < self.log.high_watermark]
        kept = self.log.batches[: len(committed) + keep]
        self.log.batches = kept
        self.log.end_offset = RecordBatch(kept[-1]).next_offset if kept else 0
        return self.load()

    def advance(self, ms: int) -> None:
        """Time goes by."""
        self.time_ms += ms
        self.runtime.tick(self.time_ms)

    def commit(self) -> None:
        """Everything in the log is committed."""
        self.log.commit(self.log.end_offset)

    @property
    def shard(self) -> TransactionCoordinatorShard:
        found: list[TransactionCoordinatorShard] = []
        self.runtime.read(PARTITION, lambda shard, _now_ms: found.append(shard))
        return found[0]

    def state(self, transactional_id: str = ID) -> TransactionMetadata:
        metadata = self.shard.get(transactional_id)
        assert metadata is not None
        return metadata

    # -- the log ------------------------------------------------------------------------------------------------------

    def write_state(self, metadata: TransactionMetadata, version: TransactionVersion = TransactionVersion.TV_2) -> None:
        """Put a state into the log before it is loaded, as an earlier coordinator would have."""
        records = [new_transaction_record(metadata, version)]
        batch = BatchBuilder().build(records, self.time_ms, -1, -1)
        self.log.append(PARTITION, batch, lambda _: None)
        self.log.waiting.clear()
        self.log.high_watermark = self.log.end_offset

    def records(self, end_offset: int | None = None) -> list[tuple[str, TransactionMetadata | None]]:
        """What the log says, up to an offset."""
        return list(_read(self.log.batches, self.log.end_offset if end_offset is None else end_offset))

    # -- requests -----------------------------------------------------------------------------------------------------

    def init(
        self,
        expected: ProducerIdAndEpoch | None = None,
        *,
        transactional_id: str | None = ID,
        api_version: int = 5,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Completion[InitProducerIdResponse]:
        producer_id, producer_epoch = NO_PRODUCER if expected is None else expected
        return self.coordinator.init_producer_id(
            InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
            ),
            api_version,
        )

    def producer(self, expected: ProducerIdAndEpoch | None = None, transactional_id: str = ID) -> ProducerIdAndEpoch:
        """Initialize successfully."""
        response = self.init(expected, transactional_id=transactional_id).result()
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        return ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def add(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, version: int = 2, transactional_id: str = ID
    ) -> Completion[None]:
        return self.coordinator.add_partitions(
            transactional_id, *producer, partitions or (A,), client_transaction_version=version
        )

    def verify(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, transactional_id: str = ID
    ) -> dict[TopicPartition, int]:
        return dict(self.coordinator.verify_partitions(transactional_id, *producer, partitions).result())

    def add_offsets(
        self, producer: ProducerIdAndEpoch, group_id: str, *, api_version: int = 4
    ) -> Completion[AddOffsetsToTxnResponse]:
        return self.coordinator.add_offsets_to_txn(
            AddOffsetsToTxnRequest(
                transactional_id=ID,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                group_id=group_id,
            ),
            api_version,
        )

    def end(
        self, producer: ProducerIdAndEpoch, *, committed: bool, api_version: int = 5, transactional_id: str = ID
    ) -> Completion[EndTxnResponse]:
        return self.coordinator.end_txn(
            EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                committed=committed,
            ),
            api_version,
        )


async def _never() -> None:
    raise AssertionError("a load this short needs no pause")


def _read(batches: Iterable[bytes], end_offset: int) -> Iterable[tuple[str, TransactionMetadata | None]]:
    for batch in batches:
        for record in decode_records(RecordBatch(batch)):
            if record.offset < end_offset:
                decoded = SERDE.decode(record.key, record.value)
                assert isinstance(decoded.key, TransactionLogKey)
                assert decoded.value is None or isinstance(decoded.value, TransactionLogValue)
                yield (
                    decoded.key.transactional_id,
                    None if decoded.value is None else metadata_of(decoded.key.transactional_id, decoded.value),
                )
