"""The same requests to Apache Kafka's transaction coordinator and to ours: the same answers, the same records."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any, Final

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.batches import BatchBuilder
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.records.batch import batches, patch_offset_and_epoch
from ottla.records.record import decode_records
from ottla.transaction.metadata import (
    NO_PARTITIONS,
    NO_PRODUCER,
    PRODUCER_EPOCH_MAX,
    ProducerIdAndEpoch,
    TransactionMetadata,
)
from ottla.transaction.records import TransactionLogKey, TransactionLogValue
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_log import metadata_of, new_transaction_record, new_transaction_tombstone_record
from ottla.transaction.transaction_version import TransactionVersion
from tests.apache.broker import ApacheBroker
from tests.oracle import Oracle
from tests.server.wire import Wire, create_topic
from tests.transaction.transaction_world import PARTITION, SERDE, TransactionWorld

S = TransactionState
TOPIC = "t"
PARTITIONS = tuple(TopicPartition(TOPIC, index) for index in range(3))
LAST = PRODUCER_EPOCH_MAX - 1
PROPERTIES = {"transaction.state.log.num.partitions": "1"}
BOUND_S = 30
WRITTEN_MS = 2_000_000_000_000
USED, NEXT = 1_000_000, 2_000_000
"""Producer ids that neither coordinator gives out."""

Answer = tuple[ErrorCode, ProducerIdAndEpoch]
_WAIT: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Apache:
    """Apache's coordinator, over the wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def init(self, name: str, expected: ProducerIdAndEpoch) -> Answer:
        request = InitProducerIdRequest(
            transactional_id=name,
            transaction_timeout_ms=60_000,
            producer_id=expected.producer_id,
            producer_epoch=expected.producer_epoch,
        )
        response = self._wire.ask(request, 5)
        return ErrorCode(response.error_code), ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def add(self, name: str, producer: ProducerIdAndEpoch, partition: TopicPartition, *, v2: bool) -> Answer:
        return self._partitions(name, producer, partition, v2=v2, verify_only=False)

    def verify(self, name: str, producer: ProducerIdAndEpoch, partition: TopicPartition) -> Answer:
        return self._partitions(name, producer, partition, v2=True, verify_only=True)

    def end(self, name: str, producer: ProducerIdAndEpoch, *, committed: bool, v2: bool) -> Answer:
        request = EndTxnRequest(
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=committed,
        )
        response = self._wire.ask(request, 5 if v2 else 4)
        return ErrorCode(response.error_code), ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def _partitions(
        self, name: str, producer: ProducerIdAndEpoch, partition: TopicPartition, *, v2: bool, verify_only: bool
    ) -> Answer:
        topics = [AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])]
        producer_id, producer_epoch = producer
        if v2:
            transaction = AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=verify_only,
                topics=topics,
            )
            response = self._wire.ask(AddPartitionsToTxnRequest(transactions=[transaction]), 5)
            (result,) = response.results_by_transaction[0].topic_results[0].results_by_partition
        else:
            old = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=producer_epoch,
                v3_and_below_topics=topics,
            )
            (result,) = self._wire.ask(old, 3).results_by_topic_v3_and_below[0].results_by_partition
        return ErrorCode(result.partition_error_code), NO_PRODUCER


class Ours:
    """Our coordinator, whose markers are written at once."""

    def __init__(self, world: TransactionWorld) -> None:
        self._world = world

    def init(self, name: str, expected: ProducerIdAndEpoch) -> Answer:
        response = self._world.init(expected, transactional_id=name).result()
        return ErrorCode(response.error_code), ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def add(self, name: str, producer: ProducerIdAndEpoch, partition: TopicPartition, *, v2: bool) -> Answer:
        error = self._world.add(producer, partition, version=2 if v2 else 0, transactional_id=name).error
        return ErrorCode.NONE if error is None else ErrorCode(error.code), NO_PRODUCER

    def verify(self, name: str, producer: ProducerIdAndEpoch, partition: TopicPartition) -> Answer:
        return ErrorCode(self._world.verify(producer, partition, transactional_id=name)[partition]), NO_PRODUCER

    def end(self, name: str, producer: ProducerIdAndEpoch, *, committed: bool, v2: bool) -> Answer:
        response = self._world.end(
            producer, committed=committed, api_version=5 if v2 else 4, transactional_id=name
        ).result()
        return ErrorCode(response.error_code), ProducerIdAndEpoch(response.producer_id, response.producer_epoch)


class SideBySide:
    """Producer ids differ between the two: those that came in the same answers are the same."""

    def __init__(self, apache: Apache, world: TransactionWorld) -> None:
        self._apache = apache
        self._ours = Ours(world)
        self._world = world
        self.our_ids = {-1: -1}

    def _translated(self, producer: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        return producer._replace(producer_id=self.our_ids[producer.producer_id])

    def ask(self, method: str, name: str, producer: ProducerIdAndEpoch, *args: Any, **options: Any) -> Answer:
        """Ask both until neither wants to be asked again; the answers are the same."""
        code, fresh = self._settled(self._apache, method, name, producer, *args, **options)
        our_code, our_fresh = self._settled(self._ours, method, name, self._translated(producer), *args, **options)
        assert our_code is code, (method, name, producer, args, options, self._world.shard.get(name))
        self.our_ids.setdefault(fresh.producer_id, our_fresh.producer_id)
        assert self._translated(fresh) == our_fresh
        return code, fresh

    def differs_on_end(self, name: str, producer: ProducerIdAndEpoch, *, committed: bool) -> None:
        """Apache takes it for a retry, and we do not; neither changes anything."""
        code, _ = self._settled(self._apache, "end", name, producer, committed=committed, v2=True)
        assert code in (ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE)
        code, _ = self._ours.end(name, self._translated(producer), committed=committed, v2=True)
        assert code is ErrorCode.PRODUCER_FENCED

    @staticmethod
    def _settled(coordinator: Any, method: str, *args: Any, **options: Any) -> Answer:
        deadline = monotonic() + BOUND_S
        while True:
            answer: Answer = getattr(coordinator, method)(*args, **options)
            if answer[0] not in _WAIT:
                return answer
            assert monotonic() < deadline, answer
            sleep(0.005)


@pytest.fixture
def apache(oracle: Oracle, tmp_path: Path) -> Iterator[ApacheBroker]:
    with oracle.broker(tmp_path, PROPERTIES) as broker:
        create_topic(broker.bootstrap, TOPIC, partitions=len(PARTITIONS))
        yield broker


def await_coordinator(wire: Wire) -> None:
    """Have __transaction_state made, and wait until it has a leader."""
    deadline = monotonic() + BOUND_S
    while wire.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["?"]), 4).coordinators[0].error_code:
        assert monotonic() < deadline
        sleep(0.05)


def test_random_histories_have_the_same_answers_and_the_same_records(apache: ApacheBroker) -> None:
    world = TransactionWorld()
    world.markers.is_immediate = True
    world.load()
    with Wire(apache.bootstrap) as wire:
        await_coordinator(wire)
        both = SideBySide(Apache(wire), world)
        for seed in range(40):
            run_history(both, Random(seed), f"history-{seed}", world)
    apache.stop()
    assert comparable(states_in(apache.partition_dir(*PARTITION)), both.our_ids) == comparable(
        [one for _, one in world.records() if one is not None], {}
    )


def run_history(both: SideBySide, rng: Random, name: str, world: TransactionWorld) -> None:
    """Producers and zombies of both versions, for a while."""
    known = [NO_PRODUCER]
    for _ in range(25):
        producer, partition = rng.choice(known[-3:]), rng.choice(PARTITIONS)
        v2, committed = rng.random() < 0.5, rng.random() < 0.6
        step = rng.randrange(10)
        if step < 2:
            _, fresh = both.ask("init", name, rng.choice((NO_PRODUCER, producer)))
        elif step < 5:
            _, fresh = both.ask("add", name, producer, partition, v2=v2)
        elif step < 6:
            _, fresh = both.ask("verify", name, producer, partition)
        else:
            if v2 and is_taken_for_a_retry(world.shard.get(name), both, producer):
                both.differs_on_end(name, producer, committed=committed)
                continue
            _, fresh = both.ask("end", name, producer, committed=committed, v2=v2)
        if fresh != NO_PRODUCER and fresh not in known:
            known.append(fresh)


def is_taken_for_a_retry(metadata: TransactionMetadata | None, both: SideBySide, producer: ProducerIdAndEpoch) -> bool:
    """Where we differ on purpose: an epoch before that of an end of v1 is not a retry but a fenced producer."""
    return (
        metadata is not None
        and metadata.state.is_complete
        and not metadata.client_transaction_version.supports_epoch_bump
        and metadata.producer == (both.our_ids[producer.producer_id], producer.producer_epoch + 1)
    )


def states_in(directory: Path) -> list[TransactionMetadata]:
    """What Apache has written, as we read it."""
    found = []
    for file in sorted(directory.glob("*.log")):
        for batch in batches(file.read_bytes()):
            for record in decode_records(batch):
                decoded = SERDE.decode(record.key, record.value)
                assert isinstance(decoded.key, TransactionLogKey)
                assert isinstance(decoded.value, TransactionLogValue)
                assert decoded.version == 1
                written = SERDE.encode(decoded)
                assert written == (record.key, record.value), "we write what we have read"
                found.append(metadata_of(decoded.key.transactional_id, decoded.value))
    return found


def comparable(states: Sequence[TransactionMetadata], our_ids: dict[int, int]) -> list[TransactionMetadata]:
    """States without times, with our producer ids."""

    def ours(producer_id: int) -> int:
        return our_ids.get(producer_id, producer_id) if our_ids else producer_id

    return [
        one._replace(
            producer_id=ours(one.producer_id),
            prev_producer_id=ours(one.prev_producer_id),
            next_producer_id=ours(one.next_producer_id),
            txn_start_timestamp_ms=min(one.txn_start_timestamp_ms, 0),
            txn_last_update_timestamp_ms=0,
        )
        for one in sorted(states, key=lambda one: one.transactional_id)  # sorting is stable
    ]


def states_of_every_kind() -> list[TransactionMetadata]:
    """One transactional id in each state that is written, and some whose epochs end; each with a producer id."""
    base = TransactionMetadata(
        "", USED, USED, -1, 3, -1, 60_000, S.EMPTY, NO_PARTITIONS, -1, WRITTEN_MS, TransactionVersion.TV_2
    )
    begun = base._replace(
        topic_partitions=dict.fromkeys(PARTITIONS), txn_start_timestamp_ms=WRITTEN_MS, state=S.ONGOING
    )
    prepared = begun._replace(state=S.PREPARE_COMMIT)
    states = {
        "empty": base,
        "ongoing": begun,
        "commit": prepared,
        "abort": prepared._replace(state=S.PREPARE_ABORT),
        "complete": base._replace(state=S.COMPLETE_COMMIT, txn_start_timestamp_ms=7),
        "last": base._replace(producer_epoch=LAST),
        "last-ongoing": begun._replace(producer_epoch=LAST),
        "rotating": prepared._replace(producer_epoch=PRODUCER_EPOCH_MAX, next_producer_id=NEXT),
        "gone": base,
    }
    return [
        state._replace(transactional_id=name, producer_id=USED + index, prev_producer_id=USED + index)
        for index, (name, state) in enumerate(states.items())
    ]


def test_apache_goes_on_where_we_stopped(apache: ApacheBroker) -> None:
    """A log that we wrote, under Apache's broker: every state is understood, also where epochs end."""
    with Wire(apache.bootstrap) as wire:
        await_coordinator(wire)
    apache.stop()
    world = TransactionWorld()
    world.markers.is_immediate = True
    states = states_of_every_kind()
    records = [new_transaction_record(one, TransactionVersion.TV_2) for one in states]
    records.append(new_transaction_tombstone_record(states[-1].prepare_dead()))
    batch = BatchBuilder().build(records, WRITTEN_MS, -1, -1)
    append(apache.partition_dir(*PARTITION), batch)
    for one in states[:-1]:
        world.write_state(one)
    world.load()
    apache.start()
    with Wire(apache.bootstrap) as wire:
        both = SideBySide(Apache(wire), world)
        both.our_ids |= {NEXT: NEXT} | {one.producer_id: one.producer_id for one in states}
        known = {one.transactional_id: one.producer for one in states}
        for name in ("commit", "abort", "rotating"):
            await_complete(wire, name)
            assert world.state(name).state.is_complete
        for name in ("commit", "abort", "complete", "empty", "ongoing", "rotating", "last-ongoing"):
            before = known[name]._replace(producer_epoch=min(known[name].producer_epoch - 1, LAST))
            for committed in (True, False):
                both.ask("end", name, before, committed=committed, v2=True)
        for _ in range(2):
            both.ask("init", "last", known["last"])
            both.ask("end", "last-ongoing", known["last-ongoing"], committed=True, v2=True)
        for name in known:
            code, fresh = both.ask("init", name, NO_PRODUCER)
            assert code is ErrorCode.NONE
            both.ask("add", name, fresh, PARTITIONS[0], v2=True)
            both.ask("end", name, fresh, committed=True, v2=True)


def await_complete(wire: Wire, name: str) -> None:
    """Apache goes on with a prepared transaction after loading it."""
    deadline = monotonic() + BOUND_S
    while True:
        (state,) = wire.ask(DescribeTransactionsRequest(transactional_ids=[name]), 0).transaction_states
        if state.transaction_state.startswith("Complete"):
            return
        assert monotonic() < deadline, state
        sleep(0.02)


def append(directory: Path, batch: bytearray) -> None:
    """Put a batch behind those in a partition that nobody has open."""
    file = max(directory.glob("*.log"))
    existing = list(batches(file.read_bytes()))
    next_offset = existing[-1].next_offset if existing else 0
    patch_offset_and_epoch(batch, 0, next_offset, 0)
    with file.open("ab") as log:
        log.write(batch)
