"""A disk that fails takes its data directory offline, alone, whenever it fails."""

from collections.abc import Callable

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.log.checkpoints import OffsetCheckpoint
from ottla.log.clean_shutdown import CLEAN_SHUTDOWN_FILE
from ottla.log.housekeeping import Housekeeping
from ottla.log.manager import LogManager
from ottla.log.offset_lookup import offset_for_timestamp
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, T0, T1, T2, T3, A, B, Machine, append
from tests.sim.crash_files import CrashPolicy


def serving(machine: Machine) -> LogManager:
    """Two logs in each directory."""
    manager = machine.start()
    for partition, directory in ((T0, A), (T1, B), (T2, A), (T3, B)):
        append(manager.get_or_create_log(partition, directory=directory), 2)
    return manager


def assert_offline_alone(machine: Machine, manager: LogManager) -> None:
    """A is offline and everybody knows; B goes on."""
    assert machine.failed_directories == [A]
    assert manager.directories.offline_paths == [A]
    assert set(manager.logs) == {T1, T3}
    append(manager.logs[T1], 1)
    run(manager.logs[T1].flush())
    assert manager.logs[T1].recovery_point == manager.logs[T1].log_end_offset
    assert manager.get_or_create_log(T0).data_directory == B


def test_while_appending() -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    failing, neighbour = manager.logs[T0], manager.logs[T2]
    machine.files.fail_next("pwrite", f"{A}/topic-0/*.log")
    with pytest.raises(KafkaStorageError, match="Error while appending records for topic-0 in dir /data/a"):
        append(failing)
    for log in (failing, neighbour):
        with pytest.raises(KafkaStorageError, match="/data/a is already offline due to a previous IO exception"):
            append(log)
        with pytest.raises(KafkaStorageError, match="already offline"):
            log.read(0, 100)
    assert_offline_alone(machine, manager)


@pytest.mark.parametrize(
    ("operation", "path", "what"),
    [
        ("create", "*.log", "rolling log segment"),
        ("pread", "*.log", "reading"),
        ("pread", "*.log", "fetching offset by timestamp"),
        ("pread", "*.log", "looking up an offset"),
        ("pread", "*.log", "loading"),
        ("sync", "*.log", "flushing"),
        ("rename", "*", "deleting segments"),
    ],
)
def test_whatever_the_log_does(operation: str, path: str, what: str) -> None:
    machine = Machine(A, B)
    machine.overrides["topic"] = {"retention.ms": "1"}
    manager = serving(machine)
    log = manager.logs[T0]
    machine.clock.advance_ms(1000)
    if what == "deleting segments":
        log.roll()
    found = log.read(0, 100)
    machine.files.fail_next(operation, f"{A}/topic-0/{path}")
    doing: dict[str, Callable[[], object]] = {
        "rolling log segment": log.roll,
        "reading": lambda: log.read(0, 100),
        "fetching offset by timestamp": lambda: offset_for_timestamp(log, NOW_MS),
        "looking up an offset": lambda: log.position_of(1),
        "loading": lambda: run(log.load(found, "loading")),
        "flushing": lambda: run(log.flush()),
        "deleting segments": log.delete_old_segments,
    }
    with pytest.raises(KafkaStorageError, match=f"Error while {what} for topic-0 in dir /data/a"):
        doing[what]()
    assert_offline_alone(machine, manager)


def test_while_making_a_log() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    append(manager.get_or_create_log(T1, directory=B))
    append(manager.get_or_create_log(T3, directory=B))
    machine.files.fail_next("make_dir", f"{A}/*")
    with pytest.raises(KafkaStorageError, match="Error while creating log for topic-0 in /data/a"):
        manager.get_or_create_log(T0)
    assert_offline_alone(machine, manager)


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"])
def test_while_writing_recovery_points(name: str) -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    machine.files.fail_next("sync", f"{A}/{name}.tmp")
    run(manager.checkpoint_recovery_points())
    assert_offline_alone(machine, manager)
    assert set(OffsetCheckpoint(machine.files, f"{B}/recovery-point-offset-checkpoint").read()) == {T1, T3}


def test_while_writing_log_start_offsets() -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    machine.files.fail_next(None, f"{A}/log-start-offset-checkpoint*")
    run(manager.checkpoint_log_start_offsets())
    assert_offline_alone(machine, manager)


def test_while_lowering_a_recovery_point_for_a_truncation() -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    log = manager.logs[T0]
    run(log.flush())
    machine.files.fail_next("rename", f"{A}/recovery-point-offset-checkpoint.tmp")
    with pytest.raises(KafkaStorageError, match="Disk error while writing"):
        run(manager.truncate_to(T0, 0))
    assert log.log_end_offset == 2, "what the disk would not vouch for was not done"
    assert_offline_alone(machine, manager)


def test_while_flushing_many_logs() -> None:
    machine = Machine(A, B)
    machine.overrides["topic"] = {"flush.ms": "10"}
    manager = serving(machine)
    machine.clock.advance_ms(10)
    machine.files.fail_next("sync", f"{A}/topic-*", times=None)
    run(manager.flush_dirty_logs())
    assert manager.logs[T3].recovery_point == 2
    assert_offline_alone(machine, manager)


def test_while_deleting_old_segments() -> None:
    machine = Machine(A, B)
    machine.overrides["topic"] = {"retention.ms": "10"}
    manager = serving(machine)
    machine.clock.advance_ms(1000)
    machine.files.fail_next("create", f"{A}/*", times=None)
    assert manager.clean_up_logs() == 2
    assert_offline_alone(machine, manager)


def test_a_deletion_that_fails_does_not_end_the_housekeeping(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    run(manager.delete_log(T0))
    machine.files.fail_next("remove", f"{A}/topic-0.*", times=None)
    machine.clock.advance_ms(machine.config.log_initial_task_delay_ms + 60_000)
    housekeeping = Housekeeping(machine.runtime, manager)
    machine.clock.advance_ms(machine.config.log_initial_task_delay_ms)
    run(housekeeping.run_due())
    assert "Could not delete" in caplog.text


@pytest.mark.parametrize(
    ("operation", "path", "clean"),
    [
        ("list_dir", "*", True),
        ("remove", f"*{CLEAN_SHUTDOWN_FILE}", True),
        ("open", "*/topic-0/*.log", True),
        ("read", "*recovery-point*", True),
        ("read", "*/cleaner-offset-checkpoint", True),
        ("pread", "*/topic-0/*.log", False),
        ("sync", "*/topic-0/*.log", False),
        ("sync_dir", "*/topic-0", False),
    ],
)
def test_at_a_start(operation: str, path: str, clean: bool) -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    machine.write(f"{A}/cleaner-offset-checkpoint", b"0\n0\n")
    if clean:
        run(manager.stop())
    else:
        machine.crash(CrashPolicy.KEEP_ALL)
    machine.files.fail_next(operation, f"{A}{path}", times=None)
    manager = machine.start()
    machine.files.heal()
    if "cleaner" in path:  # costs a cleaning at most
        assert set(manager.logs) == {T0, T1, T2, T3}
        return
    assert manager.remaining_logs == {A: 0, B: 0}
    assert_offline_alone(machine, manager)
    run(manager.stop())
    # Where nothing could be listed, nothing was touched: it is as it was stopped.
    assert not machine.files.exists(f"{A}/{CLEAN_SHUTDOWN_FILE}") or operation in ("remove", "list_dir", "read")
    assert machine.files.exists(f"{B}/{CLEAN_SHUTDOWN_FILE}")


def test_at_a_stop() -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    machine.files.fail_next("sync", f"{A}/topic-2/*.log")
    run(manager.stop())
    assert not machine.files.exists(f"{A}/{CLEAN_SHUTDOWN_FILE}")
    assert machine.files.exists(f"{B}/{CLEAN_SHUTDOWN_FILE}")
    manager = machine.start()
    assert [manager.logs[partition].log_end_offset for partition in (T0, T1, T2, T3)] == [2, 2, 2, 2]


def test_all_of_them(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A, B)
    run(serving(machine).stop())
    machine.files.fail_next("open", "*.log", times=None)
    with pytest.raises(KafkaStorageError, match=r"None of the log directories can be used: .*injected failure"):
        machine.start()
    assert sorted(machine.failed_directories) == [A, B]


def test_what_may_lie_in_an_offline_directory_is_not_made_anew() -> None:
    machine = Machine(A, B)
    manager = serving(machine)
    manager.handle_directory_failure(A, OSError("pulled"))
    with pytest.raises(KafkaStorageError, match="log directories /data/a are offline"):
        manager.get_or_create_log(T0, is_new=False)
    with pytest.raises(KafkaStorageError, match="log directories /data/a are offline"):
        run(manager.delete_log(T0))
    with pytest.raises(KafkaStorageError, match="Log directory /data/a is offline: pulled"):
        manager.get_or_create_log(T0, directory=A)
    with pytest.raises(KafkaStorageError, match="current or the future log of topic-0 is offline"):
        run(manager.replace_current_with_future(T0))
