"""Leader epochs against a plain model, and their file."""

import logging
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.leader_epochs import EpochEntry, LeaderEpochCache, LeaderEpochs
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss

PATH = "/t-0/leader-epoch-checkpoint"
# What Apache Kafka 4.3.1 left in a partition that had one leader.
APACHE = b"0\n1\n0 0\n"


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochEntry(*entry) for entry in entries)


def disk() -> CrashFiles:
    files = CrashFiles()
    files.make_dir("/t-0")
    files.sync_all()
    return files


def test_assigning() -> None:
    cache = epochs()
    assert (cache.latest_epoch, cache.latest_entry, cache.earliest_entry, bool(cache)) == (None, None, None, False)
    assert cache.assign(2, 6)
    assert not cache.assign(2, 7), "an epoch keeps its start"
    assert cache.assign(3, 10)
    assert cache.entries == ((2, 6), (3, 10))
    assert (cache.latest_epoch, cache.latest_entry, cache.earliest_entry) == (3, (3, 10), (2, 6))
    assert cache.assign(3, 8), "unless it began earlier"
    assert cache.entries == ((2, 6), (3, 8))
    with pytest.raises(ValueError, match="no leader epoch"):
        cache.assign(-1, 0)
    with pytest.raises(ValueError, match="no leader epoch"):
        cache.assign(4, -1)


def test_contradicting_entries_give_way(caplog: pytest.LogCaptureFixture) -> None:
    cache = epochs((1, 0), (2, 6), (3, 10))
    with caplog.at_level(logging.WARNING):
        cache.assign(4, 10)
        assert not caplog.records, "a leader that wrote nothing is no surprise"
        cache.assign(2, 7)
    assert cache.entries == ((1, 0), (2, 7))
    assert "conflicting" in caplog.text


@pytest.mark.parametrize(
    ("requested", "expected"),
    [(-1, (-1, -1)), (0, (0, 5)), (1, (1, 5)), (2, (2, 9)), (3, (2, 9)), (5, (5, 20)), (7, (7, 100)), (8, (-1, -1))],
)
def test_end_offsets(requested: int, expected: tuple[int, int]) -> None:
    assert epochs((2, 5), (5, 9), (7, 20)).end_offset_for(requested, 100) == expected
    assert epochs().end_offset_for(requested, 100) == (-1, -1)


def test_neighbours() -> None:
    cache = epochs((2, 5), (5, 9))
    assert [cache.previous_epoch(epoch) for epoch in (2, 3, 5, 9)] == [None, 2, 2, 5]
    assert [cache.next_epoch(epoch) for epoch in (1, 2, 4, 5)] == [2, 5, 5, None]
    assert cache.previous_entry(5) == (2, 5)
    assert (cache.entry(5), cache.entry(4), cache.entry(9)) == ((5, 9), None, None)
    assert [cache.epoch_for_offset(offset) for offset in (4, 5, 8, 9, 99)] == [None, 2, 2, 5, 5]


def test_truncating() -> None:
    cache = epochs((2, 5), (5, 9), (7, 20))
    assert cache.entries_in_range(6, 20) == ((2, 6), (5, 9))
    assert cache.entries_in_range(-1, 9) == ((2, 5),)
    assert not cache.truncate_from_end(21)
    assert not cache.truncate_from_end(-1)
    assert cache.truncate_from_end(20)
    assert list(cache.entries) == [(2, 5), (5, 9)]
    assert not cache.truncate_from_start(4)
    assert not cache.truncate_from_start(5)
    assert cache.truncate_from_start(7)
    assert list(cache.entries) == [(2, 7), (5, 9)]
    assert cache.truncate_from_start(9)
    assert list(cache.entries) == [(5, 9)]
    assert cache.truncate_from_start(50)
    assert list(cache.entries) == [(5, 50)]
    cache.clear()
    assert list(cache.entries) == []


steps = st.lists(
    st.tuples(st.sampled_from(["assign", "end", "start"]), st.integers(0, 8), st.integers(0, 30)), max_size=20
)


@given(steps)
def test_epochs_and_offsets_always_increase(history: list[tuple[str, int, int]]) -> None:
    cache = epochs()
    for step, epoch, offset in history:
        if step == "assign":
            cache.assign(epoch, offset)
            latest = cache.latest_entry
            assert latest is not None
            assert latest.epoch == epoch
            assert latest.start_offset <= offset
        elif step == "end":
            cache.truncate_from_end(offset)
            assert all(entry.start_offset < offset for entry in cache.entries)
        else:
            before = cache.epoch_for_offset(offset)
            cache.truncate_from_start(offset)
            assert cache.epoch_for_offset(offset) == before
            assert all(entry.start_offset >= offset for entry in cache.entries)
        for one, two in zip(cache.entries, cache.entries[1:], strict=False):
            assert one.epoch < two.epoch
            assert one.start_offset < two.start_offset
        for probe in range(32):
            starts = [entry.epoch for entry in cache.entries if entry.start_offset <= probe]
            assert cache.epoch_for_offset(probe) == (starts[-1] if starts else None)


def test_apaches_bytes() -> None:
    files = disk()
    LeaderEpochCache(files, PATH).assign(0, 0)
    assert files.read(PATH) == APACHE
    assert LeaderEpochCache(files, PATH).entries == ((0, 0),)


def test_an_assigned_epoch_is_durable() -> None:
    files = disk()
    cache = LeaderEpochCache(files, PATH)
    cache.assign(1, 0)
    cache.assign_all([EpochEntry(2, 5), EpochEntry(3, 9)])
    files.crash(Random(1), policy=CrashPolicy.DROP_UNSYNCED)
    assert LeaderEpochCache(files, PATH).entries == ((1, 0), (2, 5), (3, 9))


def test_truncations_wait_for_a_flush() -> None:
    files = disk()
    cache = LeaderEpochCache(files, PATH)
    cache.assign_all([EpochEntry(1, 0), EpochEntry(2, 5), EpochEntry(3, 9)])
    written = len(files.journal)
    cache.truncate_from_end(9)
    cache.truncate_from_start(2)
    assert len(files.journal) == written, "the reactor does not wait for the disk"
    assert LeaderEpochCache(files, PATH).entries == ((1, 0), (2, 5), (3, 9))
    cache.flush()
    cache.flush()
    assert [operation.name for operation in files.journal].count("rename") == 2
    files.crash(Random(1), policy=CrashPolicy.DROP_UNSYNCED)
    assert LeaderEpochCache(files, PATH).entries == ((1, 2), (2, 5))


def test_a_crash_in_a_write_leaves_the_old_or_the_new() -> None:
    outcomes = set()
    for changes in range(7):
        for seed in range(10):
            files = disk()
            cache = LeaderEpochCache(files, PATH)
            cache.assign(1, 0)
            files.power_off_after(changes)
            try:
                cache.assign(2, 5)
                allowed = [((1, 0), (2, 5))]
            except PowerLoss:
                allowed = [((1, 0),), ((1, 0), (2, 5))]  # type: ignore[list-item]
            files.crash(Random(seed))
            reopened = LeaderEpochCache(files, PATH)
            assert not reopened.damaged
            assert reopened.entries in allowed
            outcomes.add(reopened.entries)
    assert len(outcomes) == 2


def test_a_failed_write_is_tried_again() -> None:
    files = disk()
    cache = LeaderEpochCache(files, PATH)
    files.fail_next("sync")
    with pytest.raises(OSError, match="injected"):
        cache.assign(1, 0)
    cache.flush()
    assert LeaderEpochCache(files, PATH).entries == ((1, 0),)


def test_a_damaged_file_is_reported_and_replaced(caplog: pytest.LogCaptureFixture) -> None:
    files = disk()
    files.open(PATH, create=True).pwrite(b"0\n1\n0 zero\n", 0)
    with caplog.at_level(logging.WARNING):
        cache = LeaderEpochCache(files, PATH)
    assert cache.damaged
    assert cache.entries == ()
    assert "Line 3" in caplog.text
    cache.flush()
    assert files.read(PATH) == b"0\n0\n"
    assert not LeaderEpochCache(files, PATH).damaged


def test_the_cache_follows_its_directory() -> None:
    files = disk()
    cache = LeaderEpochCache(files, PATH)
    cache.assign(1, 0)
    files.rename("/t-0", "/t-0.x-delete")
    cache.move_to("/t-0.x-delete/leader-epoch-checkpoint")
    cache.clear()
    cache.flush()
    assert files.read(cache.path) == b"0\n0\n"
