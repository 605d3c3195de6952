"""What readers of committed records see of transactions, and when."""

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.log.readable_log import FetchIsolation
from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord
from ottla.replication.read_result import FetchPartition
from tests.replication.replica_machine import NODE, T0, Answer, Broker

COMMITTED = FetchIsolation.TXN_COMMITTED


class Transactions(Broker):
    """A broker whose producers write transactions; nobody verifies them."""

    def __init__(self, replicas: tuple[int, ...] = (NODE,)) -> None:
        super().__init__()
        if len(replicas) > 1:
            self.register(*replicas)
        self.create(replicas=replicas)
        self._sequences: dict[int, int] = {}

    def data(self, producer_id: int, count: int = 1) -> Answer:
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + count
        records = build_batch(
            [SimpleRecord(1, None, b"value") for _ in range(count)],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )
        answer = Answer()
        self.replicas.handle_produce_append("txn", [(T0, None, records)], -1, 1000, answer)
        return answer

    def end(self, producer_id: int, *, committed: bool, producer_epoch: int = 0) -> Answer:
        kind = ControlRecordType.COMMIT if committed else ControlRecordType.ABORT
        marker = end_transaction_batch(
            EndTransactionMarker(kind, 0), timestamp=1, producer_id=producer_id, producer_epoch=producer_epoch
        )
        answer = Answer()
        self.replicas.append_records(
            [(T0, None, marker)], -1, 1000, answer, origin=AppendOrigin.COORDINATOR, transaction_version=0
        )
        return answer

    def committed(self, offset: int, *, max_wait_ms: int = 0) -> Answer:
        return self.fetch(
            FetchPartition(T0, offset, 1 << 20), isolation=COMMITTED, max_wait_ms=max_wait_ms, min_bytes=1
        )

    def bounds(self) -> tuple[int, int, int]:
        log = self.log()
        return log.last_stable_offset, log.high_watermark, log.log_end_offset


@pytest.mark.parametrize("committed", [True, False])
def test_a_reader_of_committed_records_waits_for_the_marker(committed: bool) -> None:
    broker = Transactions()
    broker.data(7, 2)
    answer = broker.committed(0, max_wait_ms=500)
    broker.data(7)
    assert answer.results is None, "more of the transaction is not yet anything to read"
    assert broker.bounds() == (0, 3, 3)
    broker.end(7, committed=committed)
    assert broker.bounds() == (4, 4, 4)
    result = answer.one
    assert (result.last_stable_offset, result.high_watermark) == (4, 4)
    assert result.records.size == broker.log().size_in_bytes
    aborted = [(one.producer_id, one.first_offset) for one in result.aborted_transactions]
    assert aborted == ([] if committed else [(7, 0)])


def test_a_marker_counts_when_it_is_replicated() -> None:
    broker = Transactions((NODE, 2))
    broker.data(7)
    broker.follower_fetch(2, 1)
    assert broker.bounds() == (0, 1, 1)
    answer = broker.committed(0, max_wait_ms=500)
    marker = broker.end(7, committed=False)
    assert broker.bounds() == (0, 1, 2)
    assert (marker.results, answer.results) == (None, None)
    broker.follower_fetch(2, 2)
    assert broker.bounds() == (2, 2, 2)
    assert marker.one.error_code == 0
    assert [one.producer_id for one in answer.one.aborted_transactions] == [7]


def test_the_oldest_open_transaction_holds_all_later_ones_back() -> None:
    broker = Transactions()
    broker.data(7)  # offset 0
    broker.data(8)  # 1
    broker.end(8, committed=False)  # 2
    broker.append()  # 3, no transaction
    assert broker.bounds() == (0, 4, 4)
    assert broker.committed(0).one.records is None
    broker.data(8)  # 4
    broker.end(7, committed=True)  # 5
    assert broker.bounds() == (4, 6, 6)
    result = broker.committed(0).one
    assert [(one.producer_id, one.first_offset) for one in result.aborted_transactions] == [(8, 1)]
    broker.end(8, committed=True)
    assert broker.bounds() == (7, 7, 7)
    assert broker.committed(3).one.aborted_transactions == []


def test_a_reader_of_everything_waits_for_no_marker() -> None:
    broker = Transactions()
    broker.data(7)
    result = broker.read()
    assert result.records is not None
    assert result.records.size > 0
    assert not result.aborted_transactions


def test_a_transaction_that_is_open_outlives_a_restart() -> None:
    broker = Transactions()
    broker.data(7)
    broker.append()
    again = broker.restart()
    log = again.log()
    assert (log.last_stable_offset, log.log_end_offset) == (0, 2)
    (producer,) = again.partition().active_producers()
    assert (producer.producer_id, producer.current_txn_start_offset) == (7, 0)


def test_the_producers_of_a_partition_are_described_with_their_open_transaction() -> None:
    broker = Transactions()
    broker.append()
    broker.data(7, 2)
    (open_one,) = broker.partition().active_producers()
    assert (open_one.producer_id, open_one.last_sequence, open_one.current_txn_start_offset) == (7, 1, 1)
    assert open_one.coordinator_epoch == -1
    broker.end(7, committed=True)
    (ended,) = broker.partition().active_producers()
    assert (ended.current_txn_start_offset, ended.coordinator_epoch) == (-1, 0)


def test_nothing_is_held_back_by_a_producer_that_is_only_idempotent() -> None:
    broker = Transactions()
    topic_partition = TopicPartition("topic", 0)
    records = build_batch([SimpleRecord(1, None, b"v")], producer_id=9, producer_epoch=0, base_sequence=0)
    assert broker.append(topic_partition, records=records).error_code == 0
    assert broker.bounds() == (1, 1, 1)
