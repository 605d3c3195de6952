"""Want of open files or memory refuses what was asked for; it takes no data directory offline and leaves no trace."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.config.topic import LogConfig
from ottla.log.leader_epochs import LEADER_EPOCH_CHECKPOINT
from ottla.log.log import Log
from ottla.log.offset_lookup import offset_for_timestamp
from ottla.runtime.inline import run
from ottla.runtime.open_files import OpenFiles, open_files_in_use
from ottla.runtime.posix import PosixFiles
from tests.log.log_machine import NOW_MS, T0, T1, A, B, Machine, append, append_transaction, end_transaction, offsets_in
from tests.sim.crash_files import CrashPolicy

SHORTAGES = [errno.EMFILE, errno.ENFILE, errno.ENOMEM]
OPENINGS = ("open", "create")


def lack_files(machine: Machine, path: str = "*", *, number: int = errno.EMFILE) -> None:
    """No file below the partition can be opened."""
    for operation in (*OPENINGS, "read", "list_dir", "sync_dir"):
        machine.files.fail_next(operation, f"{A}/topic-0{path}", times=None, number=number)


def all_offsets(log: Log) -> list[int]:
    found: list[int] = []
    while len(found) < log.log_end_offset:
        found += offsets_in(log.read(len(found), 1 << 20).read())
    return found


@pytest.mark.parametrize("number", SHORTAGES)
def test_a_roll_is_refused_and_the_log_goes_on_where_it_was(number: int) -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append(log, 2)
    lack_files(machine, number=number)
    for _ in range(2):
        with pytest.raises(ResourceShortageError, match="Error while rolling log segment for topic-0"):
            log.roll()
    append(log)
    assert len(log.segments) == 1, "the active segment needs nothing but the file it has"
    machine.files.heal()
    log.roll()
    append(log, 2)
    assert log.segments.base_offsets == [0, 3]
    assert machine.failed_directories == []
    assert all_offsets(log) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("policy", CrashPolicy)
@pytest.mark.parametrize(
    ("operation", "skip"),
    [("create", 0), ("create", 1), ("create", 2), ("create", 3), ("read", 0), ("read", 1), ("open", 0), ("pwrite", 0)],
)
def test_a_roll_that_fails_anywhere_leaves_nothing_behind(operation: str, skip: int, policy: CrashPolicy) -> None:
    """What is appended after it to the old segment is there after a restart, clean or not."""
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 2)
    machine.files.fail_next(operation, f"{A}/topic-0/*", skip=skip, number=errno.ENOMEM)
    with pytest.raises(ResourceShortageError):
        log.roll()
    machine.files.heal()
    append(log, 2)
    run(log.flush())
    assert all_offsets(log) == [0, 1, 2, 3]
    crashed = Machine(A)
    crashed.files = machine.files.crashed_copy(machine.rng, policy=policy)
    crashed.runtime.files = crashed.files
    assert all_offsets(crashed.start().logs[T0]) == [0, 1, 2, 3]
    run(manager.stop())
    assert all_offsets(machine.start().logs[T0]) == [0, 1, 2, 3]


def test_a_new_segment_that_cannot_be_removed_again_is_the_disks_fault() -> None:
    """Left behind it would cut the log at the next start."""
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append(log, 2)
    machine.files.fail_next("create", "*.index", number=errno.EMFILE)
    machine.files.fail_next("remove", "*.log", number=errno.ENOMEM)
    with pytest.raises(KafkaStorageError, match="could not be removed again"):
        log.roll()
    assert machine.failed_directories == [A]


@pytest.mark.parametrize("number", SHORTAGES)
def test_reading_and_looking_up_are_refused(number: int) -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append(log, 2)
    doing: tuple[Callable[[], object], ...] = (lambda: log.read(0, 100), lambda: offset_for_timestamp(log, NOW_MS))
    for do in doing:
        machine.files.fail_next("pread", number=number)
        with pytest.raises(ResourceShortageError):
            do()
        do()
    assert machine.failed_directories == []


def test_an_append_that_could_not_be_written_leaves_no_trace() -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    machine.files.fail_next("pwrite", "*.log", number=errno.ENOMEM)
    with pytest.raises(ResourceShortageError, match="Error while appending records"):
        append(log)
    append(log, 2)
    assert all_offsets(log) == [0, 1]
    assert machine.failed_directories == []


def test_an_epoch_that_could_not_be_written_is_written_with_the_next_append() -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    machine.files.fail_next("create", f"*{LEADER_EPOCH_CHECKPOINT}.tmp", number=errno.EMFILE)
    with pytest.raises(ResourceShortageError):
        append(log, epoch=3)
    append(log, epoch=3)
    assert machine.files.read(f"{log.directory}/{LEADER_EPOCH_CHECKPOINT}") == b"0\n1\n3 0\n"


def test_an_abort_is_refused_before_its_marker_is_in_the_log() -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append_transaction(log, 7, commit=None)
    machine.files.fail_next("create", "*.txnindex", number=errno.EMFILE)
    with pytest.raises(ResourceShortageError):
        end_transaction(log, 7, commit=False)
    assert (log.log_end_offset, log.first_unstable_offset) == (1, 0)
    end_transaction(log, 7, commit=False)
    log.update_high_watermark(2)
    assert (log.log_end_offset, log.first_unstable_offset) == (2, None)
    assert [txn.producer_id for txn in log.aborted_transactions(0, 2)] == [7]
    assert machine.failed_directories == []


def test_what_fails_behind_the_marker_is_the_disks_fault() -> None:
    """The log holds the marker, and would say nothing of what it aborted."""
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append_transaction(log, 7, commit=None)
    machine.files.fail_next("pwrite", "*.txnindex", number=errno.ENOMEM)
    with pytest.raises(KafkaStorageError):
        end_transaction(log, 7, commit=False)
    assert machine.failed_directories == [A]


def test_a_flush_waits_for_files() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(index_interval_bytes=50))
    for number in range(20):
        if number == 10:
            log.roll()
        append(log)
    for operation in OPENINGS:
        machine.files.fail_next(operation, "*index", times=3, number=errno.EMFILE)
    run(log.flush())
    assert log.recovery_point == 20
    machine.crash()
    again = machine.load(LogConfig(index_interval_bytes=50), recovery_point=20)
    assert again.segments.first.offset_index.count > 0, "its entries were on the disk"
    assert all_offsets(again) == list(range(20))


def test_a_flush_gives_up_after_a_while_and_the_next_one_does_it_all() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 2)
    machine.files.fail_next("sync_dir", f"{A}/topic-0", times=None, number=errno.EMFILE)
    with pytest.raises(ResourceShortageError, match="flushing"):
        run(log.flush())
    assert log.recovery_point == 0
    machine.files.heal()
    run(log.flush())
    assert log.recovery_point == 2
    assert machine.failed_directories == []


def test_checkpoints_are_written_the_next_time() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 2)
    for path in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        machine.files.fail_next("create", f"{A}/{path}.tmp", number=errno.EMFILE)
        machine.files.fail_next("open", f"{A}/{path}.tmp", number=errno.EMFILE)
    run(manager.checkpoint_recovery_points())
    run(manager.checkpoint_log_start_offsets())
    machine.files.heal()
    run(manager.checkpoint_recovery_points())
    assert machine.failed_directories == []


def test_a_new_log_is_refused_and_made_later() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    machine.files.fail_next("create", "*.index", times=None, number=errno.EMFILE)
    for _ in range(2):
        with pytest.raises(ResourceShortageError, match="Error while creating log for topic-0"):
            manager.get_or_create_log(T0)
    machine.files.heal()
    append(manager.get_or_create_log(T0), 2)
    assert machine.failed_directories == []


@pytest.mark.parametrize("doing", ["truncate_to", "truncate_fully_and_start_at"])
def test_what_cannot_stop_in_the_middle_is_not_begun(doing: str) -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    append(log, 4)
    lack_files(machine)
    with pytest.raises(ResourceShortageError):
        getattr(log, doing)(2)
    machine.files.heal()
    assert (log.log_end_offset, machine.failed_directories) == (4, [])
    getattr(log, doing)(2)
    assert log.log_end_offset == 2


def test_a_log_that_leaves_waits_for_its_other_name() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0))
    machine.files.fail_next("list_dir", f"{A}/topic-0", times=3, number=errno.EMFILE)
    run(manager.delete_log(T0))
    assert not machine.files.exists(f"{A}/topic-0")
    assert manager.get_or_create_log(T0).log_end_offset == 0
    assert machine.failed_directories == []


def test_a_log_that_cannot_leave_for_seconds_is_the_disks_fault() -> None:
    """Another one of its name would find its records."""
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0))
    machine.files.fail_next("list_dir", f"{A}/topic-0", times=None, number=errno.EMFILE)
    with pytest.raises(KafkaStorageError, match="renaming the directory"):
        run(manager.delete_log(T0))
    assert machine.failed_directories == [A]


def test_a_deletion_is_tried_again() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0))
    run(manager.delete_log(T0))
    machine.clock.advance_ms(manager.topic_config("topic").file_delete_delay_ms)
    machine.files.fail_next("remove", f"{A}/topic-0.*", number=errno.EMFILE)
    deletions = manager.context.deletions
    assert deletions.run_due() == 0
    assert deletions.run_due() == 1
    assert not [name for name in machine.names(A) if name.startswith("topic-0")]


def test_one_line_is_logged_for_all_of_them(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    logs = [manager.get_or_create_log(one) for one in (T0, T1)]
    for log in logs:
        append(log)
    lack_files(machine, "*")
    machine.files.fail_next("create", f"{A}/topic-1/*", times=None, number=errno.EMFILE)
    for log in (*logs, *logs):
        append(log)
        with pytest.raises(ResourceShortageError):
            log.roll()
    lines = [record.message for record in caplog.records if "the disk is not to blame" in record.message]
    assert len(lines) == 1
    assert "Error while rolling log segment for topic-0" in lines[0]


# -- starts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_start_without_files_says_how_many_it_needs(is_clean: bool) -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 2)
    if is_clean:
        run(manager.stop())
    else:
        machine.crash(CrashPolicy.KEEP_ALL)
    lack_files(machine, "/*.log")
    with pytest.raises(ResourceShortageError, match=r"about \d+ open files, 1 of them for segments, but"):
        machine.start()
    machine.files.heal()
    assert all_offsets(machine.start().logs[T0]) == [0, 1]


def test_a_start_that_cannot_succeed_touches_nothing() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 2)
    append(manager.get_or_create_log(T1), 2)
    run(manager.stop())
    few = machine.manager()
    few._startup._open_files = OpenFiles(machine.clock, lambda: 117, lambda: 100)
    with pytest.raises(ResourceShortageError, match="2 of them for segments"):
        run(few.start())
    assert machine.files.exists(f"{A}/.kafka_cleanshutdown")


def test_a_directory_that_cannot_be_opened_for_want_of_files_is_not_offline() -> None:
    machine = Machine(A)
    machine.files.fail_next("open", f"{A}/.lock", number=errno.EMFILE)
    machine.files.fail_next("create", f"{A}/.lock", number=errno.EMFILE)
    with pytest.raises(ResourceShortageError, match="Raise the limit"):
        machine.start()


# -- the machine's own files -------------------------------------------------------------------------------------------


def test_an_fsync_that_fails_is_never_a_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has forgotten what it could not write; another fsync would tell nothing of it."""

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ENOMEM, "no memory")

    file = PosixFiles().open(str(tmp_path / "file"), create=True)
    monkeypatch.setattr("ottla.runtime.posix._FULL_FSYNC", None)
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="fsync failed") as raised:
        file.sync()
    assert raised.value.errno == errno.EIO
    file.close()


def test_a_load_that_fails_leaves_no_file_open() -> None:
    """Else a broker that tries again would run out of them for good."""
    machine = Machine(A)
    log = machine.load()
    for _ in range(3):
        append(log)
        log.roll()
    opened: list[object] = []
    open_file = machine.files.open

    def remember(path: str, **options: bool) -> object:
        file = open_file(path, **options)
        opened.append(file)
        return file

    log.close()
    machine.files.open = remember  # type: ignore[assignment, method-assign]
    machine.files.fail_next("open", "*0003.log", number=errno.EMFILE)
    with pytest.raises(OSError, match="injected"):
        machine.load()
    assert len(opened) >= 3
    assert all(file._boot is None for file in opened), "all are closed"  # type: ignore[attr-defined]


@pytest.mark.skipif(not open_files_in_use(), reason="the system does not tell")
def test_a_segment_has_one_file_open(tmp_path: Path) -> None:
    machine = Machine(str(tmp_path))
    machine.runtime.files = PosixFiles()
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    before = open_files_in_use()
    for _ in range(5):
        append(log, 400, value_bytes=100)
        append_transaction(log, 7, commit=False, sequence=0)
        run(log.flush())
        log.roll()
    assert open_files_in_use() == before + 5
    log.truncate_to(log.segments.active.base_offset - 1)
    assert len(log.segments) == 5
    run(manager.stop())
