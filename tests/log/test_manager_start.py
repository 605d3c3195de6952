"""Starting and stopping the log manager: clean, unclean, what it restores and what it says."""

import json
import logging

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.log import log_startup
from ottla.log.checkpoints import OffsetCheckpoint
from ottla.log.clean_shutdown import CLEAN_SHUTDOWN_FILE
from ottla.log.log import Log
from ottla.runtime.inline import run
from tests.log.log_machine import T0, T1, T2, T3, A, B, Machine, append, offsets_in
from tests.sim.crash_files import CrashPolicy


def messages(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records)


def test_a_clean_stop_leaves_the_marker_with_the_broker_epoch_and_a_start_removes_it_for_good() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    run(manager.stop(broker_epoch=42))
    assert json.loads(machine.files.read(f"{A}/{CLEAN_SHUTDOWN_FILE}")) == {"version": 0, "brokerEpoch": 42}

    machine.start()
    machine.crash()
    assert not machine.files.exists(f"{A}/{CLEAN_SHUTDOWN_FILE}"), (
        "a marker that comes back vouches for what it saw not"
    )


def test_a_clean_start_opens_without_scanning(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    run(manager.stop())
    caplog.set_level(logging.INFO)
    manager = machine.start()
    assert manager.logs[T0].log_end_offset == 3
    assert manager.logs[T0].recovery_point == 3
    assert f"Skipping recovery of 1 logs from {A} since clean shutdown file was found" in messages(caplog)
    assert "Recovering unflushed segment" not in messages(caplog)


def test_an_unclean_start_says_what_it_does_and_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    for partition in (T0, T1):
        log = manager.get_or_create_log(partition)
        append(log, 3)
        log.roll()
        append(log, 2)
    machine.crash(CrashPolicy.KEEP_ALL)
    caplog.set_level(logging.INFO)
    manager = machine.start()
    assert [manager.logs[partition].log_end_offset for partition in (T0, T1)] == [5, 5]
    said = messages(caplog)
    lines = [
        f"Loading logs from log dirs {A}",
        f"Recovering 2 logs from {A} since no clean shutdown file was found",
        "Recovering unflushed segment 0. 0/2 recovered for topic-0.",
        "Recovering unflushed segment 3. 1/2 recovered for topic-0.",
        "Loaded log for partition topic-0 with 2 segments, log start offset 0 and log end offset 5 in 0ms "
        f"(1 remaining in {A})",
        "Loaded log for partition topic-1 with 2 segments, log start offset 0 and log end offset 5 in 0ms "
        f"(0 remaining in {A})",
        "Loaded 2 logs in 0ms. Recovery complete.",
    ]
    positions = [said.index(line) for line in lines]
    assert positions == sorted(positions)


def test_only_what_lies_behind_the_recovery_point_is_scanned(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    for _ in range(3):
        append(log, 2)
        log.roll()
    append(log, 2)
    run(log.flush())
    run(manager.checkpoint_recovery_points())
    append(log, 1)
    machine.crash(CrashPolicy.KEEP_ALL)
    caplog.set_level(logging.INFO)
    assert machine.start().logs[T0].log_end_offset == 9
    scanned = [line for line in messages(caplog).splitlines() if line.startswith("Recovering unflushed segment")]
    assert scanned == ["Recovering unflushed segment 6. 0/1 recovered for topic-0."]


def test_remaining_logs_count_down() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    for partition in (T0, T1, T2, T3):
        append(manager.get_or_create_log(partition))
    run(manager.stop())
    manager = machine.manager()
    seen: list[tuple[int, int]] = []
    manager._startup._on_loaded = lambda _log: seen.append(
        (manager.remaining_logs[A], manager.remaining_logs.get(B, -1))
    )
    run(manager.start())
    assert seen == [(1, 2), (0, 2), (0, 1), (0, 0)]
    assert manager.remaining_logs == {A: 0, B: 0}


@pytest.mark.parametrize("worker_bytes_min", [0, 1 << 30], ids=["in a worker", "in the broker"])
def test_remaining_segments_count_down(worker_bytes_min: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_startup, "WORKER_BYTES_MIN", worker_bytes_min)
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    for _ in range(2):
        append(log)
        log.roll()
    append(log)
    machine.crash(CrashPolicy.KEEP_ALL)
    manager = machine.manager()
    seen: list[int] = []

    class Watched(dict[str, int]):
        def __setitem__(self, path: str, remaining: int) -> None:
            seen.append(remaining)
            super().__setitem__(path, remaining)

    manager._startup.remaining_segments = Watched()
    run(manager.start())
    assert [remaining for remaining in seen if remaining] == [3, 2, 1]
    assert manager.remaining_segments == {}


def test_high_watermarks_are_restored() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 3)
    append(log, 3)
    log.update_high_watermark(4)
    run(manager.checkpoint_recovery_points())
    machine.crash(CrashPolicy.KEEP_ALL)
    assert machine.start().logs[T0].high_watermark == 4


def test_deleted_records_stay_deleted() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 1)
    append(log, 1)
    log.maybe_increment_log_start_offset(1, "client record deletion")
    run(manager.checkpoint_log_start_offsets())
    machine.crash(CrashPolicy.KEEP_ALL)
    manager = machine.start()
    assert manager.logs[T0].log_start_offset == 1
    run(manager.stop())
    log = machine.start().logs[T0]
    assert log.log_start_offset == 1
    assert offsets_in(log.read(1, 1000).read()) == [1]


def test_a_checkpoint_names_only_starts_that_the_first_segment_does_not_tell() -> None:
    machine = Machine(A)
    manager = machine.start()
    for partition, start in ((T0, 0), (T1, 1)):
        log = manager.get_or_create_log(partition)
        append(log, 2)
        log.maybe_increment_log_start_offset(start, "client record deletion")
    run(manager.checkpoint_log_start_offsets())
    assert OffsetCheckpoint(machine.files, f"{A}/log-start-offset-checkpoint").read() == {T1: 1}


@pytest.mark.parametrize("clean", [True, False])
def test_a_start_offset_beyond_the_end_hides_the_records_but_destroys_nothing(
    caplog: pytest.LogCaptureFixture, clean: bool
) -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    run(manager.stop())
    if not clean:
        machine.files.remove(f"{A}/{CLEAN_SHUTDOWN_FILE}")
    path = f"{A}/topic-0/{0:020d}.log"
    records = machine.files.read(path)
    OffsetCheckpoint(machine.files, f"{A}/log-start-offset-checkpoint").write({T0: 900})
    log = machine.start().logs[T0]
    assert (log.log_start_offset, log.log_end_offset) == (900, 900)
    append(log, 1)
    assert offsets_in(log.read(900, 1000).read()) == [900]
    assert machine.files.read(f"{path}.stray") == records
    assert "or the checkpoint is damaged" in messages(caplog)


@pytest.mark.parametrize(("checkpoint", "ends_at"), [("readable", 2), ("damaged", 6), ("missing", 6)])
def test_a_gap_is_a_loss_only_if_the_recovery_point_says_so(checkpoint: str, ends_at: int) -> None:
    """Without a checkpoint it may stem from a compaction, when the topic was still compacted."""
    machine = Machine(A)
    machine.overrides["topic"] = {"internal.segment.bytes": 200}
    log = machine.start().get_or_create_log(T0)
    for _ in range(3):
        append(log, 2, value_bytes=60)
    assert log.segments.base_offsets == [0, 2, 4]
    machine.crash(CrashPolicy.KEEP_ALL)
    machine.files.remove(f"{A}/topic-0/{2:020d}.log")
    path = f"{A}/recovery-point-offset-checkpoint"
    if checkpoint == "damaged":
        machine.write(path, b"not a checkpoint")
    elif checkpoint == "missing":
        machine.files.remove(path)
    assert machine.start().logs[T0].log_end_offset == ends_at


def test_a_damaged_checkpoint_costs_a_scan_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    run(manager.stop())
    machine.files.remove(f"{A}/{CLEAN_SHUTDOWN_FILE}")
    machine.write(f"{A}/recovery-point-offset-checkpoint", b"not a checkpoint")
    machine.write(f"{A}/cleaner-offset-checkpoint", b"neither")
    assert machine.start().logs[T0].log_end_offset == 3
    assert "Ignoring a damaged checkpoint" in messages(caplog)


def test_what_was_recovered_need_not_be_again() -> None:
    machine = Machine(A)
    append(machine.start().get_or_create_log(T0), 3)
    machine.crash(CrashPolicy.KEEP_ALL)
    machine.start()
    assert OffsetCheckpoint(machine.files, f"{A}/recovery-point-offset-checkpoint").read() == {T0: 3}
    machine.crash()
    assert machine.start().logs[T0].log_end_offset == 3


def test_a_stop_before_everything_was_loaded_is_not_clean() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    log = manager.get_or_create_log(T0, directory=A)
    append(log, 3)
    run(manager.stop())
    machine.files.remove(f"{A}/{CLEAN_SHUTDOWN_FILE}")

    manager = machine.manager()
    manager.directories.open(None, None)
    run(manager.stop())
    assert not machine.files.exists(f"{A}/{CLEAN_SHUTDOWN_FILE}")
    assert OffsetCheckpoint(machine.files, f"{A}/recovery-point-offset-checkpoint").read() == {T0: 3}


def test_raft_keeps_its_log_in_a_data_directory_to_itself() -> None:
    machine = Machine(A)
    machine.write(f"{A}/__cluster_metadata-0/00000000000000000000.log", b"")
    machine.write(f"{A}/remote-log-index-cache/whatever", b"")
    manager = machine.start()
    assert not manager.logs
    assert machine.names(f"{A}/__cluster_metadata-0") == ["00000000000000000000.log"]


def test_a_directory_that_is_no_partition_ends_the_start() -> None:
    machine = Machine(A)
    machine.write(f"{A}/lost+found/file", b"")
    with pytest.raises(KafkaStorageError, match=r"'lost\+found' is neither topic-partition nor"):
        machine.start()
    machine.files.remove_tree(f"{A}/lost+found")
    machine.start()


def test_a_foreign_file_in_a_partition_is_left_alone() -> None:
    machine = Machine(A)
    append(machine.start().get_or_create_log(T0), 2)
    machine.write(f"{A}/topic-0/notes.log", b"do not delete")
    machine.crash(CrashPolicy.KEEP_ALL)
    assert machine.start().logs[T0].log_end_offset == 2
    assert machine.files.read(f"{A}/topic-0/notes.log") == b"do not delete"


def test_a_configuration_that_changes_during_the_load_reaches_the_logs_that_are_still_closed() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0))
    append(manager.get_or_create_log(T1))
    run(manager.stop())
    manager = machine.manager()
    manager.open()
    loaded = manager._startup._on_loaded

    def change(log: Log) -> None:
        machine.overrides["topic"] = {"retention.ms": "5"}
        run(manager.update_topic_config("topic"))
        loaded(log)

    manager._startup._on_loaded = change
    run(manager.load())
    assert manager.logs[T1].config.retention_ms == 5
