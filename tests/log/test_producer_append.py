import pytest

from ottla.common.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from ottla.common.topic_partition import TopicPartition
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.producer_append import ProducerAppendInfo
from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.transaction import CompletedTxn, TxnMetadata
from ottla.log.verification import VerificationStateEntry
from ottla.records.append_origin import AppendOrigin
from tests.log.producer_batches import ABORT, COMMIT, SEQUENCES, data, emptied_marker, marker

P = TopicPartition("t", 0)
CLIENT, COORDINATOR, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION


def begin(
    entry: ProducerEntry | None = None,
    origin: AppendOrigin = CLIENT,
    verification: VerificationStateEntry | None = None,
) -> ProducerAppendInfo:
    return ProducerAppendInfo(P, 7, entry or ProducerEntry(7), origin, verification)


def known(epoch: int = 3, last_sequence: int = 9, *, txn_first_offset: int | None = None) -> ProducerEntry:
    entry = ProducerEntry(7, epoch, 1, 500, txn_first_offset)
    entry.retain(BatchMetadata(last_sequence, 99, 0, 500))
    return entry


@pytest.mark.parametrize("sequence", [0, 1, 55, SEQUENCES - 1])
def test_an_unknown_producer_may_begin_anywhere(sequence: int) -> None:
    info = begin()
    info.append(data(7, 0, sequence, 100))
    assert info.updated.last_sequence == sequence
    info.append(data(7, 0, 12345, 101))  # nothing was known before this append, so the rest of it is free, too


@pytest.mark.parametrize(
    ("last_sequence", "epoch", "sequence", "error"),
    [
        (9, 3, 10, None),
        (9, 3, 11, OutOfOrderSequenceError),
        (9, 3, 9, OutOfOrderSequenceError),
        (9, 3, 0, OutOfOrderSequenceError),
        (9, 4, 0, None),
        (9, 4, 10, OutOfOrderSequenceError),
        (9, 2, 10, InvalidProducerEpochError),
        (9, 2, 0, InvalidProducerEpochError),
        (SEQUENCES - 1, 3, 0, None),
        (SEQUENCES - 1, 3, 1, OutOfOrderSequenceError),
    ],
)
def test_epoch_and_sequence_of_a_client(
    last_sequence: int, epoch: int, sequence: int, error: type[KafkaError] | None
) -> None:
    info = begin(known(last_sequence=last_sequence))
    if error is None:
        info.append(data(7, epoch, sequence, 100))
        assert (info.updated.producer_epoch, info.updated.last_sequence) == (epoch, sequence)
    else:
        with pytest.raises(error):
            info.append(data(7, epoch, sequence, 100))


def test_batches_of_one_append_follow_each_other() -> None:
    info = begin(known())
    info.append(data(7, 3, 10, 100, count=5))
    info.append(data(7, 3, 15, 105))
    with pytest.raises(OutOfOrderSequenceError, match=r"offset 106 in partition t-0: 15 .* 15 \(current end"):
        info.append(data(7, 3, 15, 106))
    info.append(data(7, 4, 0, 106))
    info.append(data(7, 4, 1, 107))
    assert [batch.last_offset for batch in info.updated.batches] == [106, 107]


def test_after_a_marker_emptied_the_epoch_sequences_begin_at_zero() -> None:
    entry = ProducerEntry(7, 3)
    with pytest.raises(OutOfOrderSequenceError):
        begin(entry).append(data(7, 3, 1, 100))
    begin(entry).append(data(7, 3, 0, 100))


def test_the_coordinator_is_checked_for_its_epoch_only() -> None:
    begin(known(), COORDINATOR).append(data(7, 3, 55, 100))
    with pytest.raises(InvalidProducerEpochError):
        begin(known(), COORDINATOR).append(data(7, 2, 10, 100))


def test_replication_is_not_refused() -> None:
    info = begin(known(), REPLICATION)
    info.append(data(7, 2, 55, 100))
    assert info.updated.producer_epoch == 2
    info.append(marker(7, 1, 101, coordinator_epoch=0))
    assert (info.updated.producer_epoch, info.updated.coordinator_epoch) == (1, 0)


def test_nothing_of_the_current_entry_changes() -> None:
    entry = known()
    info = begin(entry)
    info.append(data(7, 3, 10, 100, txn=True))
    info.append(marker(7, 3, 101, coordinator_epoch=4), transaction_version=0)
    info.append(data(7, 4, 0, 102))
    assert repr(entry) == repr(known())


# Transactions


def test_a_transaction_begins_with_its_first_batch_and_ends_with_its_marker() -> None:
    info = begin(known())
    assert info.append(data(7, 3, 10, 100, txn=True), LogOffsetMetadata(100, 50, 1234)) is None
    assert info.append(data(7, 3, 11, 101, txn=True), LogOffsetMetadata(101, 50, 1300)) is None
    assert info.started_transactions == [TxnMetadata(7, LogOffsetMetadata(100, 50, 1234))]
    assert info.updated.current_txn_first_offset == 100
    assert info.append(marker(7, 3, 102, kind=ABORT, coordinator_epoch=1, timestamp=2000), None, 0) == CompletedTxn(
        7, 100, 102, True
    )
    assert info.updated.current_txn_first_offset is None
    assert info.updated.last_timestamp == 2000
    info.append(data(7, 3, 12, 103, txn=True))
    assert info.append(marker(7, 3, 104, kind=COMMIT, coordinator_epoch=1), None, 0) == CompletedTxn(7, 103, 104, False)
    assert info.started_transactions[1] == TxnMetadata(7, LogOffsetMetadata(103))


def test_plain_data_in_an_open_transaction_is_refused() -> None:
    with pytest.raises(InvalidTxnStateError, match="Expected transactional write from producer 7"):
        begin(known(txn_first_offset=90)).append(data(7, 3, 10, 100))


def test_a_marker_without_data_completes_nothing_but_bumps_the_epoch() -> None:
    info = begin()
    assert info.append(marker(7, 4, 100, coordinator_epoch=2), None, 2) is None
    assert (info.updated.producer_epoch, info.updated.coordinator_epoch) == (4, 2)


def test_a_marker_that_compaction_emptied_means_nothing() -> None:
    info = begin(known(txn_first_offset=90))
    assert info.append(emptied_marker(7, 9, 100), None, 0) is None
    assert info.updated.producer_epoch == 3


@pytest.mark.parametrize(
    ("version", "epoch", "txn_first_offset", "fine"),
    [
        (0, 2, 90, False),
        (0, 3, 90, True),
        (1, 4, 90, True),
        (2, 2, 90, False),
        (2, 3, 90, False),  # not bumped: a late marker of the transaction before
        (2, 3, None, True),  # a repeated one: its transaction has ended
        (2, 4, 90, True),
    ],
)
def test_epochs_of_markers(version: int, epoch: int, txn_first_offset: int | None, fine: bool) -> None:
    info = begin(known(txn_first_offset=txn_first_offset), COORDINATOR)
    if fine:
        info.append(marker(7, epoch, 100, coordinator_epoch=1), None, version)
        assert info.updated.producer_epoch == epoch
    else:
        with pytest.raises(InvalidProducerEpochError, match=f"TV{version}"):
            info.append(marker(7, epoch, 100, coordinator_epoch=1), None, version)


def test_the_last_epoch_may_end_its_own_transaction() -> None:
    last = (1 << 15) - 1
    info = begin(known(epoch=last, txn_first_offset=90), COORDINATOR)
    assert info.append(marker(7, last, 100, coordinator_epoch=1), None, 2) == CompletedTxn(7, 90, 100, False)


def test_a_replaced_coordinator_is_fenced() -> None:
    info = begin(known(), COORDINATOR)
    with pytest.raises(TransactionCoordinatorFencedError, match=r"0 \(zombie\), 1 \(current\)"):
        info.append(marker(7, 3, 100, coordinator_epoch=0), None, 0)
    info.append(marker(7, 3, 100, coordinator_epoch=1), None, 0)


def test_a_marker_must_say_its_version_unless_replicated() -> None:
    with pytest.raises(AssertionError):
        begin(known(), COORDINATOR).append(marker(7, 3, 100, coordinator_epoch=1))
    begin(known(), REPLICATION).append(marker(7, 3, 100, coordinator_epoch=1))


# Verification


def test_transactions_v2_begin_with_sequence_zero() -> None:
    verification = VerificationStateEntry(0, 5, 0, supports_epoch_bump=True)
    with pytest.raises(OutOfOrderSequenceError, match="Expected sequence 0"):
        begin(verification=verification).append(data(7, 0, 5, 100, txn=True))
    begin(verification=verification).append(data(7, 0, 0, 100, txn=True))


def test_a_sequence_above_the_lowest_that_waits_is_refused() -> None:
    verification = VerificationStateEntry(0, 5, 0, supports_epoch_bump=False)
    with pytest.raises(OutOfOrderSequenceError, match="earliest seen sequence"):
        begin(verification=verification).append(data(7, 0, 6, 100, txn=True))
    begin(verification=verification).append(data(7, 0, 5, 100, txn=True))
