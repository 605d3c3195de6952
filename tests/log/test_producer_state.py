from pathlib import Path
from random import Random

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_state import ProducerStateManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch
from ottla.runtime.posix import PosixFiles
from tests.log.producer_batches import data, marker
from tests.sim.crash_files import CrashFiles, CrashPolicy

DIRECTORY = "/data/t-0"
NOW = 2000


@pytest.fixture
def files() -> CrashFiles:
    files = CrashFiles()
    files.make_dir(DIRECTORY)
    files.sync_all()
    return files


@pytest.fixture
def manager(files: CrashFiles) -> ProducerStateManager:
    return reopened(files)


def reopened(files: CrashFiles) -> ProducerStateManager:
    config = ProducerStateManagerConfig(transaction_verification_enabled=False)
    return ProducerStateManager(TopicPartition("t", 0), DIRECTORY, files, config)


def write(manager: ProducerStateManager, *batches: RecordBatch) -> None:
    pending = manager.check(batches, AppendOrigin.REPLICATION)
    manager.apply(pending)
    for txn in pending.completed_txns:
        manager.complete_txn(txn)
    manager.update_map_end_offset(batches[-1].next_offset)


def write_plain(manager: ProducerStateManager, first: int, last: int) -> None:
    for offset in range(first, last + 1):
        write(manager, data(1, 0, offset, offset))


def path_of(offset: int) -> str:
    return f"{DIRECTORY}/{offset:020d}.snapshot"


def last_sequence(manager: ProducerStateManager, producer_id: int = 1) -> int | None:
    entry = manager.last_entry(producer_id)
    return None if entry is None else entry.last_sequence


def test_a_snapshot_is_taken_once_an_offset(manager: ProducerStateManager, files: CrashFiles) -> None:
    assert manager.take_snapshot() is None
    write_plain(manager, 0, 4)
    assert manager.take_snapshot() == path_of(5)
    assert manager.take_snapshot() is None
    assert files.list_dir(DIRECTORY) == ["00000000000000000005.snapshot"]
    assert manager.fetch_snapshot(5) == path_of(5)
    assert manager.fetch_snapshot(4) is None


def test_a_snapshot_replaces_a_longer_file_of_its_name(manager: ProducerStateManager, files: CrashFiles) -> None:
    write_plain(manager, 0, 4)
    files.open(path_of(5), create=True).pwrite(bytes(1000), 0)
    manager.take_snapshot()
    other = reopened(files)
    other.truncate_and_reload(0, 5, NOW)
    assert last_sequence(other) == 4


def test_reloading_gives_producers_and_transactions_back(manager: ProducerStateManager, files: CrashFiles) -> None:
    write(manager, data(1, 0, 0, 0, count=3))
    write(manager, data(2, 5, 0, 3, txn=True))
    manager.take_snapshot()
    other = reopened(files)
    assert other.map_end_offset == 0
    other.truncate_and_reload(0, 10, NOW)
    assert other.map_end_offset == 4
    assert repr(dict(other.active_producers)) == repr(dict(manager.active_producers))
    assert other.first_undecided_offset() == 3
    assert other.take_snapshot() is None
    write(other, marker(2, 6, 4))
    assert other.first_undecided_offset() is None


def test_expired_producers_are_not_loaded(manager: ProducerStateManager, files: CrashFiles) -> None:
    write(manager, data(1, 0, 0, 0, timestamp=1000), data(2, 0, 0, 1, timestamp=1001), data(3, 0, 0, 2, txn=True))
    manager.take_snapshot()
    other = reopened(files)
    other.truncate_and_reload(0, 3, 1000 + other.config.producer_id_expiration_ms)
    assert list(other.active_producers) == [2, 3]


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"])
def test_corrupt_snapshots_are_deleted_and_passed_over(
    manager: ProducerStateManager, files: CrashFiles, damage: bytes
) -> None:
    for offset in (3, 6, 9):
        write_plain(manager, offset - 3, offset - 1)
        manager.take_snapshot()
    for offset in (6, 9):
        file = files.open(path_of(offset))
        file.truncate(0)
        file.pwrite(damage, 0)
    other = reopened(files)
    other.truncate_and_reload(0, 9, NOW)
    assert (other.map_end_offset, last_sequence(other)) == (3, 2)
    assert other.snapshot_offsets() == [3]
    assert not files.exists(path_of(6))
    files.open(path_of(3)).truncate(5)
    other = reopened(files)
    other.truncate_and_reload(1, 9, NOW)
    assert (other.map_end_offset, last_sequence(other)) == (1, None)


def test_truncation_goes_back_to_the_snapshot_before(manager: ProducerStateManager, files: CrashFiles) -> None:
    for offset in (2, 4, 6, 8):
        write_plain(manager, offset - 2, offset - 1)
        manager.take_snapshot()
    manager.truncate_and_reload(2, 7, NOW)
    assert manager.snapshot_offsets() == [4, 6]
    assert (manager.map_end_offset, last_sequence(manager)) == (6, 5)
    assert files.list_dir(DIRECTORY) == [f"{offset:020d}.snapshot" for offset in (4, 6)]


def test_truncation_to_where_the_state_is_keeps_it(manager: ProducerStateManager) -> None:
    write_plain(manager, 0, 5)
    write(manager, data(2, 0, 0, 6, txn=True), marker(2, 0, 7))
    manager.truncate_and_reload(3, 8, NOW)
    assert len(manager.active_producers) == 2
    assert manager.first_unstable_offset() is not None
    manager.on_log_start_offset_incremented(8)
    assert manager.first_unstable_offset() is None


def test_the_log_start_draws_the_end_along(manager: ProducerStateManager) -> None:
    write_plain(manager, 0, 5)
    manager.on_log_start_offset_incremented(100)
    assert manager.map_end_offset == 100
    assert manager.take_snapshot() is None
    assert last_sequence(manager) == 5


def test_full_truncation_forgets_all(manager: ProducerStateManager, files: CrashFiles) -> None:
    write(manager, data(1, 0, 0, 0, txn=True))
    manager.take_snapshot()
    manager.truncate_fully_and_start_at(50)
    assert manager.is_empty
    assert manager.first_unstable_offset() is None
    assert manager.map_end_offset == 50
    assert files.list_dir(DIRECTORY) == []
    assert manager.take_snapshot() == path_of(50)


def test_snapshots_are_found_again_after_a_full_truncation(manager: ProducerStateManager, files: CrashFiles) -> None:
    write_plain(manager, 0, 0)
    manager.take_snapshot()
    files.open(path_of(7), create=True)
    manager.truncate_fully_and_reload_snapshots()
    assert manager.snapshot_offsets() == [7]


@pytest.mark.parametrize(
    ("segments", "left"),
    [
        ([0, 4, 8], [4, 8]),
        ([0, 4], [4, 10]),
        ([0, 4, 10], [4, 10]),
        ([0, 4, 20], [4]),
        ([0], [10]),
        ([], [10]),
    ],
)
def test_strays_go_but_for_the_last_beyond_the_segments(
    files: CrashFiles, segments: list[int], left: list[int]
) -> None:
    present = [2, 4, 6, 8] if segments == [0, 4, 8] else [2, 4, 6, 8, 10]
    for offset in present:
        files.open(path_of(offset), create=True)
    manager = reopened(files)
    manager.remove_stray_snapshots(segments)
    assert manager.snapshot_offsets() == left
    assert files.list_dir(DIRECTORY) == [f"{offset:020d}.snapshot" for offset in left]


def test_old_snapshots_are_deleted(manager: ProducerStateManager) -> None:
    for offset in (2, 4, 6):
        write_plain(manager, offset - 2, offset - 1)
        manager.take_snapshot()
    assert (manager.oldest_snapshot_offset(), manager.latest_snapshot_offset()) == (2, 6)
    manager.delete_snapshots_before(4)
    assert manager.snapshot_offsets() == [4, 6]


def test_marking_for_deletion_renames(manager: ProducerStateManager, files: CrashFiles) -> None:
    write_plain(manager, 0, 1)
    manager.take_snapshot()
    assert manager.remove_and_mark_snapshot_for_deletion(1) is None
    assert manager.remove_and_mark_snapshot_for_deletion(2) == path_of(2) + ".deleted"
    assert manager.snapshot_offsets() == []
    assert files.list_dir(DIRECTORY) == ["00000000000000000002.snapshot.deleted"]
    assert reopened(files).snapshot_offsets() == []


def test_files_that_others_deleted_are_no_error(manager: ProducerStateManager, files: CrashFiles) -> None:
    for offset in (1, 2, 3):
        write_plain(manager, offset - 1, offset - 1)
        manager.take_snapshot()
        files.remove(path_of(offset))
    manager.flush_snapshot(1)
    manager.delete_snapshots_before(2)
    assert manager.remove_and_mark_snapshot_for_deletion(2) is None
    assert manager.snapshot_offsets() == [3]


def test_the_directory_can_be_renamed(manager: ProducerStateManager, files: CrashFiles) -> None:
    write_plain(manager, 0, 1)
    manager.take_snapshot()
    files.rename(DIRECTORY, DIRECTORY + ".x-delete")
    manager.update_parent_dir(DIRECTORY + ".x-delete")
    manager.truncate_fully_and_start_at(0)
    assert files.list_dir(DIRECTORY + ".x-delete") == []


def test_a_missing_directory_has_no_snapshots() -> None:
    assert reopened(CrashFiles()).snapshot_offsets() == []


def test_it_works_on_a_real_disk(tmp_path: Path) -> None:
    manager = ProducerStateManager(TopicPartition("t", 0), str(tmp_path), PosixFiles())
    write_plain(manager, 0, 4)
    manager.take_snapshot(sync=False)
    manager.flush_snapshot(5)
    other = ProducerStateManager(TopicPartition("t", 0), str(tmp_path), PosixFiles())
    other.truncate_and_reload(0, 5, NOW)
    assert last_sequence(other) == 4


# Durability


def after_power_loss(files: CrashFiles) -> list[int]:
    files.crash(Random(0), policy=CrashPolicy.DROP_UNSYNCED)
    manager = reopened(files)
    manager.truncate_and_reload(0, 100, NOW)
    return manager.snapshot_offsets()


@pytest.mark.parametrize("synced", [True, False])
def test_the_contents_of_a_snapshot_are_durable(manager: ProducerStateManager, files: CrashFiles, synced: bool) -> None:
    write_plain(manager, 0, 4)
    if not synced:
        files.ignore_sync_at(lambda site: site.function == "write")
    manager.take_snapshot()
    files.sync_dir(DIRECTORY)
    assert after_power_loss(files) == ([5] if synced else [])


def test_an_unsynced_snapshot_survives_once_flushed(manager: ProducerStateManager, files: CrashFiles) -> None:
    write_plain(manager, 0, 4)
    manager.take_snapshot(sync=False)
    manager.flush_snapshot(5)
    files.sync_dir(DIRECTORY)
    assert after_power_loss(files) == [5]
