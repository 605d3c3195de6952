import pytest

from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from tests.log.producer_batches import SEQUENCES, data


def entry_with(*batches: BatchMetadata, epoch: int = 0) -> ProducerEntry:
    entry = ProducerEntry(7, epoch)
    for batch in batches:
        entry.add_batch(epoch, batch)
    return entry


def test_a_new_entry_knows_nothing() -> None:
    entry = ProducerEntry(7)
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp) == (-1, -1, -1)
    assert (entry.first_sequence, entry.last_sequence) == (-1, -1)
    assert (entry.first_data_offset, entry.last_data_offset, entry.last_offset_delta) == (-1, -1, 0)
    assert entry.current_txn_first_offset is None


def test_batch_metadata_counts_back_to_its_first_record() -> None:
    batch = BatchMetadata(last_sequence=4, last_offset=104, offset_delta=4, timestamp=1)
    assert (batch.first_sequence, batch.first_offset) == (0, 100)
    assert BatchMetadata(1, 104, 4, 1).first_sequence == SEQUENCES - 3


def test_five_batches_are_kept() -> None:
    entry = entry_with(*(BatchMetadata(i, 10 + i, 0, i) for i in range(7)))
    assert [batch.last_sequence for batch in entry.batches] == [2, 3, 4, 5, 6]
    assert (entry.first_sequence, entry.last_sequence) == (2, 6)
    assert (entry.first_data_offset, entry.last_data_offset) == (12, 16)
    assert entry.last_timestamp == 6


def test_a_new_epoch_forgets_batches() -> None:
    entry = entry_with(BatchMetadata(3, 3, 3, 1))
    entry.add_batch(1, BatchMetadata(0, 4, 0, 2))
    assert entry.batches == [BatchMetadata(0, 4, 0, 2)]
    assert entry.producer_epoch == 1


def test_update_takes_over_what_a_copy_collected() -> None:
    entry = entry_with(*(BatchMetadata(i, i, 0, i) for i in range(4)))
    copy = entry.without_batches()
    assert copy.batches == []
    copy.add_batch(0, BatchMetadata(4, 4, 0, 9))
    copy.add_batch(0, BatchMetadata(5, 5, 0, 10))
    copy.current_txn_first_offset = 4
    entry.update(copy)
    assert [batch.last_sequence for batch in entry.batches] == [1, 2, 3, 4, 5]
    assert (entry.last_timestamp, entry.current_txn_first_offset) == (10, 4)


def test_a_marker_ends_the_transaction_and_keeps_batches_of_its_epoch() -> None:
    entry = entry_with(BatchMetadata(3, 3, 3, 1))
    entry.current_txn_first_offset = 0
    entry.end_transaction(0, 5, 77)
    assert entry.current_txn_first_offset is None
    assert (entry.coordinator_epoch, entry.last_timestamp) == (5, 77)
    assert entry.last_sequence == 3
    entry.end_transaction(1, 5, 78)
    assert (entry.producer_epoch, entry.batches) == (1, [])


@pytest.mark.parametrize(
    ("epoch", "sequence", "count", "offset"),
    [
        (0, 0, 2, 100),
        (0, 2, 3, 102),
        (1, 2, 3, None),  # another epoch
        (0, 2, 2, None),  # only a part
        (0, 0, 5, None),  # two in one
        (0, 5, 1, None),  # the next
    ],
)
def test_a_duplicate_has_the_epoch_and_the_exact_range(
    epoch: int, sequence: int, count: int, offset: int | None
) -> None:
    entry = entry_with(BatchMetadata(1, 101, 1, 1), BatchMetadata(4, 104, 2, 1))
    found = entry.find_duplicate(data(7, epoch, sequence, 999, count=count))
    assert (None if found is None else found.first_offset) == offset


def test_a_duplicate_may_wrap_around() -> None:
    entry = entry_with(BatchMetadata(1, 104, 4, 1))
    found = entry.find_duplicate(data(7, 0, SEQUENCES - 3, 999, count=5))
    assert found is not None
    assert found.first_offset == 100


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (9, 9, True),  # the one before
        (5, 6, True),
        (10, 11, False),  # known
        (8, 10, False),  # reaches into what is known
        (12, 12, False),  # the next
        (500, 500, False),
        (SEQUENCES - 3, 1, True),  # before it wrapped around
        (12 + SEQUENCES // 2, 12 + SEQUENCES // 2, True),
        (9 + SEQUENCES // 2, 9 + SEQUENCES // 2, False),
    ],
)
def test_only_what_comes_before_can_have_been_forgotten(first: int, last: int, expected: bool) -> None:
    entry = entry_with(BatchMetadata(11, 111, 1, 1))
    batch = data(7, 0, first, 999, count=(last - first) % SEQUENCES + 1)
    assert not entry.may_have_forgotten(batch)
    entry.is_partial = True
    assert entry.may_have_forgotten(batch) == expected
    assert not entry.may_have_forgotten(data(7, 1, first, 999, count=(last - first) % SEQUENCES + 1))


def test_recalled_batches_come_before_the_others() -> None:
    entry = entry_with(BatchMetadata(11, 111, 1, 5))
    entry.is_partial = True
    entry.recall([BatchMetadata(7, 107, 0, 9), BatchMetadata(9, 109, 1, 9)])
    assert [batch.last_sequence for batch in entry.batches] == [7, 9, 11]
    assert (entry.last_timestamp, entry.is_partial) == (5, True)
    entry.recall([])
    assert not entry.is_partial


def test_an_entry_with_five_batches_or_of_a_new_epoch_lacks_nothing() -> None:
    entry = entry_with(BatchMetadata(10, 110, 0, 1))
    entry.is_partial = True
    for sequence in range(11, 15):
        assert entry.may_have_forgotten(data(7, 0, 5, 999))
        entry.retain(BatchMetadata(sequence, 100 + sequence, 0, 1))
    assert not entry.may_have_forgotten(data(7, 0, 5, 999))
    entry = entry_with(BatchMetadata(10, 110, 0, 1))
    entry.is_partial = True
    entry.add_batch(1, BatchMetadata(9, 111, 9, 1))
    assert not entry.is_partial
