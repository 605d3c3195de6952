"""Markers on partitions that a broker leads: data partitions by replication, offsets by the group coordinator."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.log.readable_log import FetchIsolation
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker
from ottla.records.record import SimpleRecord, decode_records
from ottla.runtime.completion import Completion
from ottla.server.txn_marker_writer import TxnMarker, TxnMarkerWriter
from tests.replication.replica_machine import NODE, T0, Broker

T1 = TopicPartition("topic", 1)
GONE = TopicPartition("gone", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)


class Groups:
    """A group coordinator that answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.answer: Completion[None] = Completion()

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
        self.asked.append(
            (topic_partition, producer_id, producer_epoch, coordinator_epoch, committed, transaction_version)
        )
        return self.answer


class Markers:
    """A broker with a topic of two partitions and one of offsets; what was written is in ``errors``."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.broker.create(partitions=2)
        self.broker.create("__consumer_offsets")
        self.groups = Groups()
        self.errors: list[Mapping[TopicPartition, int]] = []
        self.writer = TxnMarkerWriter(
            self.broker.replicas,
            self.broker.machine.clock,
            pending_offsets=lambda: self.groups,
            request_timeout_ms=lambda: 1000,
        )

    def write(self, *partitions: TopicPartition, **marker: object) -> None:
        self.writer.write(marker_of(**marker), partitions, self.errors.append)

    def data(self, producer_epoch: int = 0, sequence: int = 0) -> None:
        """A transactional batch of producer 7 on the first partition."""
        records = build_batch(
            [SimpleRecord(1, None, b"value")],
            producer_id=7,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        assert self.broker.append(records=records).error_code == 0


def marker_of(**changes: object) -> TxnMarker:
    marker = TxnMarker(producer_id=7, producer_epoch=0, coordinator_epoch=3, committed=True, transaction_version=0)
    return marker._replace(**changes)  # type: ignore[arg-type]


def last_batch(broker: Broker, topic_partition: TopicPartition = T0) -> RecordBatch:
    log = broker.log(topic_partition)
    data = log.read(log.log_end_offset - 1, 1 << 20, FetchIsolation.LOG_END).read()
    return RecordBatch(data)


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_ends_the_transaction_in_its_partition(committed: bool) -> None:
    markers = Markers()
    markers.data()
    log = markers.broker.log()
    assert (log.high_watermark, log.last_stable_offset) == (1, 0)
    markers.write(T0, committed=committed)
    assert markers.errors == [{T0: 0}]
    assert (log.high_watermark, log.last_stable_offset) == (2, 2)
    batch = last_batch(markers.broker)
    assert (batch.is_control, batch.is_transactional, batch.producer_id, batch.producer_epoch) == (True, True, 7, 0)
    (record,) = decode_records(batch)
    kind = ControlRecordType.COMMIT if committed else ControlRecordType.ABORT
    assert EndTransactionMarker.decode(record) == EndTransactionMarker(kind, 3)
    assert record.timestamp == markers.broker.machine.clock.now_ms()


def test_each_partition_has_its_own_outcome() -> None:
    markers = Markers()
    markers.data(producer_epoch=1)
    markers.write(T0, T1, GONE)
    assert markers.errors == [{GONE: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, T0: ErrorCode.INVALID_PRODUCER_EPOCH, T1: 0}]


def test_a_partition_that_is_known_and_not_here() -> None:
    markers = Markers()
    markers.broker.create("elsewhere", replicas=(2,), leader=2)
    elsewhere = TopicPartition("elsewhere", 0)
    markers.write(elsewhere)
    assert markers.errors == [{elsewhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]


def test_a_partition_that_is_named_twice_gets_one_marker() -> None:
    markers = Markers()
    markers.write(T0, T0)
    assert markers.errors == [{T0: 0}]
    assert markers.broker.log().log_end_offset == 1


def test_a_marker_without_partitions_is_done() -> None:
    markers = Markers()
    markers.write()
    assert markers.errors == [{}]


def test_a_replaced_coordinator_is_fenced() -> None:
    markers = Markers()
    markers.write(T0, coordinator_epoch=5)
    markers.write(T0, coordinator_epoch=4)
    assert markers.errors[1:] == [{T0: ErrorCode.TRANSACTION_COORDINATOR_FENCED}]


def test_with_transactions_v2_the_marker_has_the_next_epoch_and_may_come_twice() -> None:
    markers = Markers()
    markers.data()
    markers.write(T0, producer_epoch=0, transaction_version=2)
    markers.write(T0, producer_epoch=1, transaction_version=2)
    markers.write(T0, producer_epoch=1, transaction_version=2)
    assert [errors[T0] for errors in markers.errors] == [ErrorCode.INVALID_PRODUCER_EPOCH, 0, 0]
    markers.data(producer_epoch=1)
    markers.write(T0, producer_epoch=1, transaction_version=2)
    assert markers.errors[-1] == {T0: ErrorCode.INVALID_PRODUCER_EPOCH}, "that one belongs to the transaction before"


def test_offsets_follow_the_group_coordinator_and_the_answer_waits_for_it() -> None:
    markers = Markers()
    markers.write(T0, OFFSETS, producer_epoch=2, committed=False, transaction_version=2)
    assert markers.groups.asked == [(OFFSETS, 7, 2, 3, False, 2)]
    assert markers.errors == []
    assert markers.broker.log().log_end_offset == 1
    markers.groups.answer.complete(None)
    assert markers.errors == [{T0: 0, OFFSETS: 0}]
    assert markers.broker.log(OFFSETS).log_end_offset == 0, "the coordinator writes there, not we"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_group_coordinator_that_is_not_ready_is_a_leader_that_moves(error: ErrorCode, told: ErrorCode) -> None:
    markers = Markers()
    markers.write(OFFSETS)
    markers.groups.answer.fail(ApiError(error))
    assert markers.errors == [{OFFSETS: told}]


def test_markers_wait_for_the_in_sync_replicas() -> None:
    markers = Markers()
    broker = markers.broker
    broker.register(2)
    broker.create("shared", replicas=(NODE, 2))
    shared = TopicPartition("shared", 0)
    markers.write(shared)
    assert markers.errors == []
    broker.follower_fetch(2, 1, shared)
    assert markers.errors == [{shared: 0}]


def test_too_few_replicas_in_sync_refuse_a_marker() -> None:
    markers = Markers()
    broker = markers.broker
    broker.register(2)
    broker.create("shared", replicas=(NODE, 2), isr=(NODE,), configs={"min.insync.replicas": "2"})
    shared = TopicPartition("shared", 0)
    markers.write(shared)
    assert markers.errors == [{shared: ErrorCode.NOT_ENOUGH_REPLICAS}]
    assert broker.log(shared).log_end_offset == 0
