"""What survives a cleaning, case by case, on logs that a leader wrote."""

import pytest

from ottla.common.errors import CorruptRecordError
from ottla.records.batch import TimestampType
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import SimpleRecord, decode_records
from ottla.runtime.inline import run
from tests.log.cleaner.cleaner_logs import NOW_MS, PARTITION, CleanerBench

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def bench(tmp_path: object) -> CleanerBench:
    return CleanerBench(str(tmp_path))


def clean(bench: CleanerBench) -> None:
    """Clean all but a last batch, which keeps the end of the run out of the way."""
    bench.append([(b"end", b"%d" % bench.log.log_end_offset)])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert not [name for name in bench.runtime.files.list_dir(bench.log.directory) if name.endswith(".cleaned")]


def test_the_latest_value_of_each_key_stays(bench: CleanerBench) -> None:
    bench.append([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    bench.roll()
    bench.append([(b"b", b"4"), (b"c", b"5")])
    clean(bench)
    assert bench.values() == [(2, b"a", b"3"), (3, b"b", b"4"), (4, b"c", b"5"), (5, b"end", b"5")]
    first, second, _ = bench.batches()
    assert (first.base_offset, first.last_offset, first.records_count) == (0, 2, 1)
    assert first.base_timestamp == first.max_timestamp == NOW_MS + 2
    assert second.delete_horizon_ms is None


def test_a_batch_that_loses_nothing_keeps_its_bytes(bench: CleanerBench) -> None:
    for codec in Compression:
        bench.append([(b"k%d" % codec, b"value" * 20), (b"l%d" % codec, b"value" * 20)], codec=codec)
    before = [bytes(batch.bytes) for batch in bench.batches()]
    clean(bench)
    assert [bytes(batch.bytes) for batch in bench.batches()][:-1] == before


@pytest.mark.parametrize("codec", list(Compression))
def test_a_rewritten_batch_keeps_its_codec(bench: CleanerBench, codec: Compression) -> None:
    bench.append([(b"a", b"x" * 100), (b"b", b"y" * 100)], codec=codec)
    bench.append([(b"a", b"z" * 100)], codec=codec)
    clean(bench)
    batches = bench.batches()
    assert [batch.compression for batch in batches] == [codec, codec, Compression.NONE]
    assert bench.values()[:2] == [(1, b"b", b"y" * 100), (2, b"a", b"z" * 100)]


def test_a_tombstone_stays_until_its_horizon(bench: CleanerBench) -> None:
    bench.append([(b"a", b"1"), (b"b", b"2")])
    bench.append([(b"a", None), (b"c", b"3")])
    clean(bench)
    assert [value[:2] for value in bench.values()] == [(1, b"b"), (2, b"a"), (3, b"c"), (4, b"end")]
    batch = bench.batches()[1]
    assert batch.delete_horizon_ms == NOW_MS + DAY_MS
    assert (batch.base_offset, batch.max_timestamp) == (2, NOW_MS + 1)
    assert [record.timestamp for record in decode_records(batch)] == [NOW_MS, NOW_MS + 1]

    bench.clock.advance_ms(DAY_MS - 1)
    clean(bench)
    assert (2, b"a", None) in bench.values()
    assert bench.batches()[1].delete_horizon_ms == NOW_MS + DAY_MS  # the first one counts
    bench.clock.advance_ms(1)
    clean(bench)
    assert [value[:2] for value in bench.values()] == [(1, b"b"), (3, b"c"), (6, b"end")]
    survivor = bench.batches()[1]
    assert survivor.delete_horizon_ms == NOW_MS + DAY_MS
    assert [record.timestamp for record in decode_records(survivor)] == [NOW_MS + 1]


def test_records_without_a_key_are_dropped_and_counted(bench: CleanerBench) -> None:
    bench.log.update_config(bench.config.override({"cleanup.policy": "delete"}))
    bench.append([(None, b"1"), (b"a", b"2")])
    bench.log.update_config(bench.config)
    clean(bench)
    assert bench.values() == [(1, b"a", b"2"), (2, b"end", b"2")]
    assert bench.cleaner.last_stats[0].invalid_messages_read == 1


def test_log_append_time_survives_a_rewrite(bench: CleanerBench) -> None:
    records = [SimpleRecord(NOW_MS - 50, b"a", b"1"), SimpleRecord(NOW_MS - 40, b"b", b"2")]
    bench.log.update_config(bench.config.override({"message.timestamp.type": "LogAppendTime"}))
    bench.append_batch(build_batch(records))
    bench.append([(b"a", None)])
    bench.log.update_config(bench.config)
    clean(bench)
    kept, tombstone, _ = bench.batches()
    assert kept.is_log_append_time
    assert tombstone.is_log_append_time
    assert kept.base_timestamp == kept.max_timestamp == NOW_MS
    assert (tombstone.base_timestamp, tombstone.max_timestamp) == (NOW_MS + DAY_MS, NOW_MS)
    assert [record.timestamp for record in bench.records()][:2] == [NOW_MS, NOW_MS]


def test_the_last_batch_of_an_active_producer_stays_empty(bench: CleanerBench) -> None:
    bench.append([(b"a", b"1"), (b"b", b"2")], producer_id=9)
    bench.append([(b"a", b"3"), (b"b", b"4")], producer_id=9)
    bench.append([(b"a", b"5"), (b"b", b"6")])
    clean(bench)
    empty, *_ = bench.batches()
    assert (empty.base_offset, empty.last_offset, empty.records_count, empty.size_in_bytes) == (2, 3, 0, 61)
    assert (empty.producer_id, empty.base_sequence, empty.last_sequence) == (9, 2, 3)
    assert (empty.base_timestamp, empty.max_timestamp) == (-1, NOW_MS + 1)
    bench.append([(b"z", b"7")], producer_id=9)
    clean(bench)
    assert [batch.base_offset for batch in bench.batches() if batch.producer_id == 9] == [7]


def test_the_last_batch_of_the_run_keeps_the_end_of_the_log(bench: CleanerBench) -> None:
    bench.append([(b"a", b"1")])
    bench.append([(b"a", None)])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    bench.clock.advance_ms(2 * DAY_MS)
    bench.append([(b"b", b"2")])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert bench.values() == [(2, b"b", b"2")]
    bench.append([(b"b", b"3")])
    bench.log.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert bench.values() == [(3, b"b", b"3")]
    assert bench.log.segments.first.read_next_offset() == 4


def test_aborted_data_goes_at_once_and_its_marker_later(bench: CleanerBench) -> None:
    bench.append([(b"a", b"kept")])
    bench.append([(b"a", b"aborted"), (b"b", b"aborted")], producer_id=1, transactional=True)
    bench.end_transaction(1, commit=False)
    bench.append([(b"c", b"committed")], producer_id=1, transactional=True)
    bench.end_transaction(1, commit=True)
    clean(bench)
    assert bench.values()[:2] == [(0, b"a", b"kept"), (4, b"c", b"committed")]
    markers = [batch for batch in bench.batches() if batch.is_control]
    assert [marker.base_offset for marker in markers] == [3, 5]
    assert [marker.delete_horizon_ms for marker in markers] == [None, None]
    assert len(bench.log.segments.first.txn_index.entries()) == 1

    # The next cleaning finds no data of the aborted transaction any more; the marker gets its horizon.
    clean(bench)
    markers = [batch for batch in bench.batches() if batch.is_control]
    assert [marker.delete_horizon_ms for marker in markers] == [NOW_MS + DAY_MS, None]
    assert not bench.log.segments.first.txn_index.entries()
    bench.clock.advance_ms(DAY_MS)
    clean(bench)
    assert [batch.base_offset for batch in bench.batches() if batch.is_control] == [5]

    bench.append([(b"c", b"newer")])
    clean(bench)  # empties the committed batch, which stays for its producer's sequence
    clean(bench)
    empty = next(batch for batch in bench.batches() if batch.base_offset == 4)
    assert empty.records_count == 0
    assert empty.is_transactional


def test_an_undecided_transaction_is_not_cleaned(bench: CleanerBench) -> None:
    bench.append([(b"a", b"1")])
    bench.append([(b"a", b"2")])
    bench.roll()
    bench.append([(b"a", b"3")], producer_id=1, transactional=True)
    bench.append([(b"a", b"4")])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert bench.values() == [(1, b"a", b"2"), (2, b"a", b"3"), (3, b"a", b"4")]
    assert bench.cleaner.cleaner_checkpoints() == {PARTITION: 2}
    bench.end_transaction(1, commit=False)
    clean(bench)
    assert bench.values()[:1] == [(3, b"a", b"4")]


def test_a_delete_horizon_survives_other_losses(bench: CleanerBench) -> None:
    bench.append([(b"a", None), (b"b", b"1"), (b"c", b"2")])
    clean(bench)
    bench.clock.advance_ms(5)
    bench.append([(b"b", b"3")])
    clean(bench)
    batch = bench.batches()[0]
    assert batch.delete_horizon_ms == NOW_MS + DAY_MS
    assert [(r.offset, r.timestamp) for r in decode_records(batch)] == [(0, NOW_MS), (2, NOW_MS + 2)]
    assert batch.max_timestamp == NOW_MS + 2
    assert batch.is_log_append_time == bool(TimestampType.CREATE_TIME)


def test_a_corrupt_batch_makes_the_partition_uncleanable(bench: CleanerBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.append([(b"a", b"1"), (b"a", b"2")])
    bench.roll()
    segment = bench.log.segments.first
    segment.log_file.pwrite(b"\xff", segment.size - 2)
    before = segment.log_file.pread(segment.size, 0)
    assert run(bench.cleaner.clean_filthiest()) is None
    assert bench.cleaner.uncleanable_partitions(bench.directory) == {PARTITION}
    assert f"Marking its partition ({PARTITION}) as uncleanable" in caplog.text
    assert isinstance(caplog.records[-1].exc_info[1] if caplog.records[-1].exc_info else None, CorruptRecordError)
    assert bench.log.segments.first is segment
    assert segment.log_file.pread(segment.size, 0) == before
    assert run(bench.cleaner.clean_filthiest()) is None
    del bench.logs[PARTITION]
    assert run(bench.cleaner.clean_filthiest()) is None
    assert bench.cleaner.uncleanable_partitions(bench.directory) == frozenset()
