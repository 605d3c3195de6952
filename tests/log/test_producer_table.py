import pytest

from ottla.common.errors import InvalidProducerEpochError, InvalidTxnStateError, KafkaError, OutOfOrderSequenceError
from ottla.common.topic_partition import TopicPartition
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.producer_table import LATE_TRANSACTION_BUFFER_MS, ProducerTable
from ottla.log.producer_update import NextBatch, ProducerUpdates
from ottla.log.transaction import CompletedTxn, TxnMetadata, TxnsByFirstOffset
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch
from tests.log.producer_batches import ABORT, SEQUENCES, data, marker

CLIENT, COORDINATOR, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION


@pytest.fixture
def table() -> ProducerTable:
    config = ProducerStateManagerConfig(producer_id_expiration_ms=1000, transaction_verification_enabled=False)
    return ProducerTable(TopicPartition("t", 0), config)


def append(table: ProducerTable, *batches: RecordBatch, origin: AppendOrigin = CLIENT, version: int = 0) -> list[int]:
    """Both phases and what lies between; the last stable offsets of the completed transactions."""
    pending = table.check(batches, origin, transaction_version=version)
    assert pending.duplicate is None
    table.apply(pending)
    last_stable_offsets = []
    for txn in pending.completed_txns:
        last_stable_offsets.append(table.last_stable_offset(txn))
        table.complete_txn(txn)
    table.update_map_end_offset(batches[-1].next_offset)
    return last_stable_offsets


def entry_of(table: ProducerTable, producer_id: int) -> ProducerEntry:
    entry = table.last_entry(producer_id)
    assert entry is not None
    return entry


def image(table: ProducerTable) -> tuple[object, ...]:
    return (repr(dict(table.active_producers)), table.first_unstable_offset(), table.map_end_offset)


# Two phases


def test_check_changes_nothing_until_apply(table: ProducerTable) -> None:
    append(table, data(1, 0, 0, 0))
    before = image(table)
    plain = table.check([data(1, 0, 1, 1)], CLIENT)
    general = table.check([data(2, 0, 0, 1, txn=True), marker(2, 0, 2)], CLIENT, transaction_version=0)
    assert isinstance(plain, NextBatch)
    assert isinstance(general, ProducerUpdates)
    assert image(table) == before
    table.apply(plain)
    assert entry_of(table, 1).batches == [BatchMetadata(0, 0, 0, 1000), BatchMetadata(1, 1, 0, 1000)]


@pytest.mark.parametrize(
    "batches",
    [
        [data(1, 0, 5, 1)],
        [data(1, 0, 1, 1), data(1, 0, 3, 2)],
        [data(2, 0, 0, 1, txn=True), data(2, 0, 1, 2)],
        [data(3, 0, 0, 1), data(1, -1, 0, 2)],
    ],
)
def test_a_refused_append_leaves_no_trace(table: ProducerTable, batches: list[RecordBatch]) -> None:
    append(table, data(1, 0, 0, 0))
    before = image(table)
    with pytest.raises(KafkaError):
        table.check(batches, CLIENT)
    assert image(table) == before


@pytest.mark.parametrize(
    ("batch", "fast"),
    [
        (data(1, 0, 4, 4, count=3), True),
        (data(1, 0, 4, 4, txn=True), False),  # begins a transaction
        (data(1, 1, 0, 4), False),  # begins an epoch
        (data(9, 0, 0, 4), False),  # unknown
        (data(2, 0, 1, 4, txn=True), True),  # goes on with a transaction
        (data(3, 0, 0, 4), False),  # wraps around
    ],
)
def test_both_ways_lead_to_the_same_state(table: ProducerTable, batch: RecordBatch, fast: bool) -> None:
    def fill(table: ProducerTable) -> None:
        append(table, data(1, 0, 0, 0, count=4))
        append(table, data(2, 0, 0, 4, txn=True))
        append(table, data(3, 0, SEQUENCES - 1, 5))

    fill(table)
    pending = table.check([batch], CLIENT)
    assert isinstance(pending, NextBatch) is fast
    table.apply(pending)
    by_hand = ProducerTable(TopicPartition("t", 0), table.config)
    fill(by_hand)
    info = by_hand.prepare_update(batch.producer_id, CLIENT)
    assert info.append(batch) is None
    by_hand.update(info)
    assert image(table) == image(by_hand)


def test_a_batch_that_wraps_inside_takes_the_long_way(table: ProducerTable) -> None:
    append(table, data(1, 0, SEQUENCES - 3, 0))
    append(table, data(1, 0, SEQUENCES - 2, 1, count=5))
    assert entry_of(table, 1).last_sequence == 2
    append(table, data(1, 0, 3, 6))


def test_batches_without_a_producer_are_passed_over(table: ProducerTable) -> None:
    append(table, data(-1, -1, -1, 0), data(5, 0, 0, 1), data(-1, -1, -1, 2))
    assert list(table.active_producers) == [5]


def test_the_first_offset_of_a_transaction_knows_its_position(table: ProducerTable) -> None:
    batches = [data(-1, -1, -1, 10), data(1, 0, 0, 11, txn=True)]
    table.apply(table.check(batches, REPLICATION, segment_base_offset=5, position=100))
    assert table.first_unstable_offset() == LogOffsetMetadata(11, 5, 100 + batches[0].size_in_bytes)


# Duplicates


def test_a_retry_of_one_of_the_last_five_is_a_duplicate(table: ProducerTable) -> None:
    for i in range(7):
        append(table, data(1, 0, i, i))
    for i in range(2, 7):
        pending = table.check([data(1, 0, i, 99)], CLIENT)
        assert pending.duplicate == BatchMetadata(i, i, 0, 1000)
    for i in range(2):
        with pytest.raises(OutOfOrderSequenceError):
            table.check([data(1, 0, i, 99)], CLIENT)


def test_only_clients_repeat_themselves(table: ProducerTable) -> None:
    append(table, data(1, 0, 0, 0))
    assert table.check([data(1, 0, 0, 1)], COORDINATOR).duplicate is None


# Transactions


def test_the_first_unstable_offset_waits_for_the_high_watermark(table: ProducerTable) -> None:
    append(table, data(1, 0, 0, 0, txn=True))
    append(table, data(2, 0, 0, 1, txn=True))
    assert table.first_unstable_offset() == LogOffsetMetadata(0)
    assert table.first_undecided_offset() == 0
    assert append(table, marker(1, 0, 2), origin=COORDINATOR) == [1]
    assert table.first_undecided_offset() == 1
    assert table.first_unstable_offset() == LogOffsetMetadata(0)
    table.on_high_watermark_updated(2)
    assert table.first_unstable_offset() == LogOffsetMetadata(0)
    table.on_high_watermark_updated(3)
    assert table.first_unstable_offset() == LogOffsetMetadata(1)
    assert append(table, marker(2, 0, 3, kind=ABORT), origin=COORDINATOR) == [4]
    assert not table.is_empty
    table.on_high_watermark_updated(4)
    assert table.first_unstable_offset() is None
    assert table.first_undecided_offset() is None


def test_a_later_transaction_decided_first_does_not_move_the_stable_offset(table: ProducerTable) -> None:
    append(table, data(1, 0, 0, 0, txn=True))
    append(table, data(2, 0, 0, 1, txn=True))
    assert append(table, marker(2, 0, 2), origin=COORDINATOR) == [0]
    table.on_high_watermark_updated(3)
    assert table.first_unstable_offset() == LogOffsetMetadata(0)


def test_many_transactions_in_one_replicated_append(table: ProducerTable) -> None:
    last_stable_offsets = append(
        table,
        data(1, 0, 0, 0, txn=True),
        data(2, 0, 0, 1, txn=True),
        marker(1, 0, 2),
        data(1, 0, 1, 3, txn=True),
        marker(2, 0, 4),
        origin=REPLICATION,
        version=-1,
    )
    # As Apache Kafka: producer 1's second transaction is known already when the first is indexed, 2's is not done yet.
    assert last_stable_offsets == [1, 3]
    assert table.first_undecided_offset() == 3
    table.on_high_watermark_updated(5)
    assert table.first_unstable_offset() == LogOffsetMetadata(3)


def test_completing_what_never_began_is_a_bug(table: ProducerTable) -> None:
    with pytest.raises(AssertionError):
        table.complete_txn(CompletedTxn(1, 5, 6, False))


def test_a_transaction_is_late_after_its_timeout_and_a_grace(table: ProducerTable) -> None:
    limit_ms = table.config.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
    assert not table.has_late_transaction(1 << 40)
    append(table, data(1, 0, 0, 0, txn=True, timestamp=1000))
    append(table, data(2, 0, 0, 1, txn=True, timestamp=5000))
    assert not table.has_late_transaction(1000 + limit_ms)
    assert table.has_late_transaction(1001 + limit_ms)
    append(table, data(1, 0, 1, 2, txn=True, timestamp=2000))
    assert not table.has_late_transaction(1001 + limit_ms)
    append(table, marker(1, 0, 3), origin=COORDINATOR)
    assert not table.has_late_transaction(5000 + limit_ms)


def test_transactions_are_ordered_by_first_offset() -> None:
    txns = TxnsByFirstOffset()
    for offset in (5, 9, 1, 7):
        txns.put(TxnMetadata(offset, LogOffsetMetadata(offset)))
    assert [txn.producer_id for txn in txns] == [1, 5, 7, 9]
    assert txns.pop(1) is not None
    assert txns.pop(1) is None
    txns.put(TxnMetadata(70, LogOffsetMetadata(7), last_offset=20))
    txns.put(TxnMetadata(5, LogOffsetMetadata(5), last_offset=30))
    txns.remove_completed_before(30)
    assert [txn.producer_id for txn in txns] == [5, 9]
    assert len(txns) == 2
    txns.clear()
    assert txns.first is None


# Expiry


def test_idle_producers_expire_but_never_in_a_transaction(table: ProducerTable) -> None:
    append(table, data(1, 0, 0, 0, timestamp=100))
    append(table, data(2, 0, 0, 1, timestamp=100, txn=True))
    append(table, data(3, 0, 0, 2, timestamp=101))
    table.remove_expired_producers(1099)
    assert list(table.active_producers) == [1, 2, 3]
    table.remove_expired_producers(1100)
    assert list(table.active_producers) == [2, 3]
    table.config.producer_id_expiration_ms = 10
    table.remove_expired_producers(1100)
    assert list(table.active_producers) == [2]


def test_entries_are_loaded_unless_expired(table: ProducerTable) -> None:
    entries = [ProducerEntry(1, 0, -1, 100), ProducerEntry(2, 0, -1, 500, 40), ProducerEntry(3, 0, -1, 100, 30)]
    table.load_producer_entries(entries, 1100)
    assert list(table.active_producers) == [2, 3]
    assert table.first_undecided_offset() == 30


# Verification


def start(table: ProducerTable, sequence: int = 0, epoch: int = 0, *, bump: bool = False) -> VerificationGuard:
    return table.maybe_start_transaction_verification(1, sequence, epoch, bump, 0)


@pytest.fixture
def verifying(table: ProducerTable) -> ProducerTable:
    table.config.transaction_verification_enabled = True
    return table


def test_the_first_batch_of_a_transaction_needs_the_guard(verifying: ProducerTable) -> None:
    batch = data(1, 0, 0, 0, txn=True)
    for origin in (CLIENT, COORDINATOR):
        with pytest.raises(InvalidTxnStateError, match="not part of an ongoing transaction"):
            verifying.check([batch], origin)
    guard = start(verifying)
    assert start(verifying) is guard
    for wrong in (SENTINEL, VerificationGuard()):
        with pytest.raises(InvalidTxnStateError):
            verifying.check([batch], CLIENT, verification_guard=wrong)
    pending = verifying.check([batch], CLIENT, verification_guard=guard)
    assert verifying.verification_guard(1) is guard
    verifying.apply(pending)
    assert verifying.verification_guard(1) is SENTINEL
    assert start(verifying, 1) is SENTINEL  # ongoing: no question
    verifying.apply(verifying.check([data(1, 0, 1, 1, txn=True)], CLIENT))


def test_a_marker_voids_the_guard(verifying: ProducerTable) -> None:
    guard = start(verifying)
    append(verifying, marker(1, 0, 0), origin=COORDINATOR)
    with pytest.raises(InvalidTxnStateError):
        verifying.check([data(1, 0, 0, 1, txn=True)], CLIENT, verification_guard=guard)
    assert start(verifying) is not guard


def test_with_transactions_v2_the_marker_before_leaves_the_guard(verifying: ProducerTable) -> None:
    guard = start(verifying, epoch=1, bump=True)
    append(verifying, marker(1, 1, 0), origin=COORDINATOR, version=2)
    assert verifying.verification_guard(1) is guard
    append(verifying, marker(1, 2, 1), origin=COORDINATOR, version=2)
    assert verifying.verification_guard(1) is SENTINEL


def test_stale_epochs_are_refused_before_the_question(verifying: ProducerTable) -> None:
    append(verifying, data(1, 5, 0, 0))
    with pytest.raises(InvalidProducerEpochError, match="smaller than the last seen epoch 5"):
        start(verifying, epoch=4)
    with pytest.raises(InvalidProducerEpochError):
        verifying.check([data(1, 4, 0, 1, txn=True)], CLIENT)


def test_replication_needs_no_guard(verifying: ProducerTable) -> None:
    append(verifying, data(1, 0, 0, 0, txn=True), origin=REPLICATION)
    assert verifying.has_ongoing_transaction(1, 0)
    assert not verifying.has_ongoing_transaction(1, 1)
    assert not verifying.has_ongoing_transaction(2, 0)


def test_the_lowest_sequence_and_the_highest_epoch_are_kept(verifying: ProducerTable) -> None:
    def noted(sequence: int, epoch: int) -> tuple[int, int]:
        entry = verifying.maybe_create_verification_state_entry(1, sequence, epoch, False, 0)
        return entry.lowest_sequence, entry.epoch

    assert noted(5, 1) == (5, 1)
    assert noted(7, 1) == (5, 1)
    assert noted(3, 1) == (3, 1)
    assert noted(0, 0) == (3, 1)
    assert noted(9, 2) == (9, 2)


def test_a_waiting_lower_sequence_keeps_plain_batches_out_too(verifying: ProducerTable) -> None:
    append(verifying, data(1, 0, 0, 0))
    verifying.maybe_create_verification_state_entry(1, 1, 0, False, 0)
    append(verifying, data(1, 0, 1, 1))
    with pytest.raises(OutOfOrderSequenceError, match="earliest seen sequence"):
        verifying.check([data(1, 0, 2, 2)], CLIENT)


def test_questions_without_an_answer_expire(verifying: ProducerTable) -> None:
    verifying.maybe_create_verification_state_entry(1, 0, 0, False, 500)
    verifying.remove_expired_producers(1499)
    assert verifying.verification_state_entry(1) is not None
    verifying.remove_expired_producers(1500)
    assert verifying.verification_state_entry(1) is None


# What a snapshot forgets


def test_an_earlier_batch_is_asked_for_and_then_known(table: ProducerTable) -> None:
    append(table, data(1, 0, 4, 4))
    entry_of(table, 1).is_partial = True
    asked = []

    def earlier(entry: ProducerEntry, repeated: RecordBatch) -> list[BatchMetadata]:
        asked.append((entry.producer_id, repeated.base_sequence))
        return [BatchMetadata(2, 2, 0, 1000), BatchMetadata(3, 3, 0, 1000)]

    table.earlier_batches = earlier
    for sequence in (2, 3):
        pending = table.check([data(1, 0, sequence, 5)], CLIENT)
        assert pending.duplicate is not None
        assert pending.duplicate.first_offset == sequence
    assert asked == [(1, 2)]
    append(table, data(1, 0, 5, 5))
    assert [batch.last_sequence for batch in entry_of(table, 1).batches] == [2, 3, 4, 5]


@pytest.mark.parametrize("origin", [COORDINATOR, REPLICATION])
def test_nothing_is_asked_for_what_does_not_come_from_a_client(table: ProducerTable, origin: AppendOrigin) -> None:
    append(table, data(1, 0, 4, 4))
    entry_of(table, 1).is_partial = True

    def earlier(entry: ProducerEntry, repeated: RecordBatch) -> list[BatchMetadata]:
        raise AssertionError((entry, repeated))

    table.earlier_batches = earlier
    append(table, data(1, 0, 2, 5), origin=origin)


def test_what_nobody_finds_is_refused(table: ProducerTable) -> None:
    append(table, data(1, 0, 4, 4))
    entry_of(table, 1).is_partial = True
    table.earlier_batches = lambda entry, repeated: []
    for _ in range(2):
        with pytest.raises(OutOfOrderSequenceError):
            table.check([data(1, 0, 2, 5)], CLIENT)
        table.earlier_batches = None
