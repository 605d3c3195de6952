"""Reading: ranges of files, bounded in bytes and by what the reader may see."""

import pytest

from ottla.common.errors import OffsetOutOfRangeError
from ottla.config.topic import LogConfig
from ottla.log.local_log import GAP_MAX
from ottla.log.log import FetchIsolation, Log
from ottla.log.txn_index import AbortedTxn
from ottla.records.batch import RecordBatch
from tests.log.log_machine import A, Machine, append, append_transaction, batch, end_transaction, offsets_in

MAX = 1 << 20
LOG_END, HIGH_WATERMARK, COMMITTED = FetchIsolation.LOG_END, FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED


@pytest.fixture
def log() -> Log:
    """Two segments: batches 0–2, 3–5 and 6–8, 9–11."""
    made = Machine(A).load()
    append(made, 3)
    append(made, 3)
    made.roll()
    append(made, 3)
    append(made, 3)
    return made


@pytest.mark.parametrize(
    ("start_offset", "offsets"), [(0, range(6)), (2, range(6)), (3, range(3, 6)), (5, range(3, 6)), (6, range(6, 12))]
)
def test_whole_batches_of_one_segment_from_the_one_that_holds_the_offset(
    log: Log, start_offset: int, offsets: range
) -> None:
    fetched = log.read(start_offset, MAX)
    assert offsets_in(fetched.read()) == list(offsets)
    assert fetched.start.message_offset == offsets[0]
    assert not fetched.first_entry_incomplete
    assert fetched.aborted_transactions is None


def test_a_read_is_a_place_in_a_file(log: Log) -> None:
    fetched = log.read(3, MAX)
    size = len(batch(3))
    assert fetched.records is not None
    assert (fetched.records.file, fetched.records.position, fetched.records.size) == (
        log.segments.first.log_file,
        size,
        size,
    )
    assert fetched.start == (3, 0, size)


def test_max_bytes_may_cut_the_last_batch(log: Log) -> None:
    size = len(batch(3))
    assert len(log.read(0, size + 5).read()) == size + 5
    assert len(log.read(0, size).read()) == size
    assert log.read(0, 0, min_one_message=False).records is None


def test_an_oversized_first_batch_comes_whole_if_it_must(log: Log) -> None:
    size = len(batch(3))
    for max_bytes in (0, 1, size - 1):
        fetched = log.read(4, max_bytes)
        assert offsets_in(fetched.read()) == [3, 4, 5]
        assert not fetched.first_entry_incomplete


def test_and_otherwise_it_is_cut_and_says_so(log: Log) -> None:
    fetched = log.read(4, 10, min_one_message=False)
    assert len(fetched.read()) == 10
    assert fetched.first_entry_incomplete


def test_at_the_end_there_is_nothing_yet(log: Log) -> None:
    fetched = log.read(12, MAX)
    assert fetched.records is None
    assert fetched.read() == b""
    assert fetched.start == log.local.log_end


def test_offsets_the_log_does_not_have(log: Log) -> None:
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 13 for partition topic-0.*upto 12"):
        log.read(13, MAX)
    log.maybe_increment_log_start_offset(4, "client record deletion")
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 3 for partition topic-0.*starting from offset: 4"):
        log.read(3, MAX)
    assert offsets_in(log.read(4, MAX).read()) == [3, 4, 5], "deletion is by offset, files hold batches"
    with pytest.raises(OffsetOutOfRangeError):
        log.read(-1, MAX)


def test_consumers_stop_at_the_high_watermark(log: Log) -> None:
    log.update_high_watermark(9)
    assert offsets_in(log.read(6, MAX, HIGH_WATERMARK).read()) == [6, 7, 8]
    assert offsets_in(log.read(0, MAX, HIGH_WATERMARK).read()) == [0, 1, 2, 3, 4, 5]
    assert log.read(9, MAX, HIGH_WATERMARK).records is None
    assert log.read(11, MAX, HIGH_WATERMARK).records is None
    assert offsets_in(log.read(9, MAX, LOG_END).read()) == [9, 10, 11]
    log.update_high_watermark(12)
    assert offsets_in(log.read(6, MAX, HIGH_WATERMARK).read()) == [6, 7, 8, 9, 10, 11]


def test_the_high_watermark_limits_an_oversized_batch_too(log: Log) -> None:
    log.update_high_watermark(3)
    assert offsets_in(log.read(0, 1, HIGH_WATERMARK).read()) == [0, 1, 2]
    assert log.read(3, 1, HIGH_WATERMARK).records is None


def test_the_high_watermark_stays_within_the_log(log: Log) -> None:
    assert log.update_high_watermark(99) == 12
    log.update_high_watermark(5)
    log.maybe_increment_log_start_offset(4, "client record deletion")
    assert log.update_high_watermark(0) == 4
    assert log.maybe_increment_high_watermark(6)
    assert not log.maybe_increment_high_watermark(5)
    assert log.high_watermark == 6
    with pytest.raises(OffsetOutOfRangeError, match="larger than the high watermark 6"):
        log.maybe_increment_log_start_offset(7, "client record deletion")
    assert not log.maybe_increment_log_start_offset(3, "client record deletion")


def test_committed_reads_stop_before_an_open_transaction() -> None:
    log = Machine(A).load()
    append(log, 2)
    append_transaction(log, 7, commit=None)
    append(log, 1)
    log.update_high_watermark(log.log_end_offset)
    assert (log.last_stable_offset, log.high_watermark) == (2, 4)
    assert offsets_in(log.read(0, MAX, COMMITTED).read()) == [0, 1]
    assert offsets_in(log.read(0, MAX, HIGH_WATERMARK).read()) == [0, 1, 2, 3]
    assert log.read(2, MAX, COMMITTED).records is None
    end_transaction(log, 7, commit=True)
    assert log.last_stable_offset == 2, "the marker is not replicated yet"
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 5
    fetched = log.read(0, MAX, COMMITTED)
    assert offsets_in(fetched.read()) == [0, 1, 2, 3, 4]
    assert fetched.aborted_transactions == []


def test_committed_reads_are_told_what_was_aborted() -> None:
    log = Machine(A).load(LogConfig(index_interval_bytes=1))
    append_transaction(log, 1, commit=False, count=2)  # 0, 1 and marker 2
    append_transaction(log, 2, commit=True)  # 3 and marker 4
    append_transaction(log, 3, commit=None)  # 5
    log.roll()
    append_transaction(log, 4, commit=False)  # 6 and marker 7
    end_transaction(log, 3, commit=False)  # marker 8
    append(log, 1)
    one, four, three = AbortedTxn(1, 0, 2, 3), AbortedTxn(4, 6, 7, 5), AbortedTxn(3, 5, 8, 9)
    assert log.read(0, MAX, COMMITTED).aborted_transactions == [one, three]
    assert log.read(0, 1, COMMITTED).aborted_transactions == [one], "not those of batches that did not come along"
    assert log.read(3, MAX, COMMITTED).aborted_transactions == [three]
    assert log.read(6, MAX, COMMITTED).aborted_transactions == [four, three]
    assert log.read(9, MAX, COMMITTED).aborted_transactions == []
    assert log.read(0, MAX, HIGH_WATERMARK).aborted_transactions is None
    assert log.aborted_transactions(0, 10) == [one, four, three]
    assert log.aborted_transactions(2, 3) == [one]


def test_reads_across_what_compaction_left_out() -> None:
    log = Machine(A).load(LogConfig(index_interval_bytes=1))
    for offset in (0, 5, 9):
        log.append_as_follower(batch(2, base_offset=offset), 0)
    log.roll(30)
    log.append_as_follower(batch(2, base_offset=30), 0)
    assert log.segments.base_offsets == [0, 11], "a segment begins where the one before it ends"
    expected = {2: 5, 4: 5, 6: 5, 7: 9, 10: 9, 11: 30, 19: 30, 20: 30, 29: 30, 31: 30}
    assert {offset: RecordBatch(log.read(offset, MAX).read()).base_offset for offset in expected} == expected
    assert log.read(32, MAX).records is None


def test_a_gap_at_the_end_of_the_log() -> None:
    log = Machine(A).load()
    append(log, 2)
    far = 2 + GAP_MAX + 1
    log.roll(far)
    log.local.log_end_offset = far
    fetched = log.read(5, MAX)
    assert fetched.records is None
    assert fetched.start == (far, far, 0)


def test_what_was_read_before_a_deletion_can_still_be_sent_until_the_delay_is_over() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(file_delete_delay_ms=100))
    append(log, 2)
    log.roll()
    fetched = log.read(0, MAX)
    log.maybe_increment_log_start_offset(2, "client record deletion")
    log.delete_old_segments()
    names = machine.names(log.directory)
    assert "00000000000000000000.log.deleted" in names
    assert "00000000000000000000.log" not in names
    machine.clock.advance_ms(99)
    log.context.deletions.run_due()
    assert offsets_in(fetched.read()) == [0, 1]
    machine.clock.advance_ms(1)
    log.context.deletions.run_due()
    assert not [name for name in machine.names(log.directory) if name.endswith(".deleted")]
