"""The simulated disk: what it keeps, what it loses, and that it fails when told to."""

import errno
from random import Random

import pytest

from ottla.runtime.atomic import write_atomically
from ottla.runtime.inline import InlineRuntime, ManualClock, run
from ottla.runtime.port import Files
from tests.sim.crash_disk import SECTOR_BYTES
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss

DROP, KEEP = CrashPolicy.DROP_UNSYNCED, CrashPolicy.KEEP_ALL


def durable_file(content: bytes) -> CrashFiles:
    disk = CrashFiles()
    disk.make_dir("/d")
    disk.open("/d/a", create=True).pwrite(content, 0)
    disk.sync_all()
    return disk


def test_it_is_a_file_system() -> None:
    disk: Files = CrashFiles(ManualClock(77))
    disk.make_dir("/d/e")
    file = disk.open("/d/a", create=True)
    file.pwrite(b"hello", 3)
    file.truncate(6)
    assert file.pread(10, 1) == b"\0\0hel"
    assert (file.size(), disk.size("/d/a"), disk.modified_ms("/d/a")) == (6, 6, 77)
    disk.set_modified_ms("/d/a", 5)
    assert disk.modified_ms("/d/a") == 5
    assert disk.list_dir("/d") == ["a", "e"]
    assert disk.is_dir("/d/e")
    assert not disk.is_dir("/d/a")
    disk.rename("/d/a", "/d/b")
    assert disk.read("/d/b") == b"\0\0\0hel"
    assert not disk.exists("/d/a")
    disk.remove("/d/b")
    assert file.pread(3, 3) == b"hel", "an open file outlives its name"
    disk.remove_tree("/d")
    disk.remove_tree("/d")
    assert disk.list_dir("/") == []
    lock = disk.lock("/l")
    assert lock is not None
    assert disk.lock("/l") is None
    lock.release()
    assert disk.lock("/l") is not None
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.size()
    for path, error in (("/x", FileNotFoundError), ("/", IsADirectoryError)):
        with pytest.raises(error):
            disk.open(path)


def test_unsynced_writes_are_lost() -> None:
    disk = durable_file(b"old")
    disk.open("/d/a").pwrite(b"new and longer", 0)
    assert disk.crashed_copy(Random(1), policy=KEEP).read("/d/a") == b"new and longer"
    disk.crash(Random(1), policy=DROP)
    assert disk.read("/d/a") == b"old"


def test_synced_writes_stay_also_without_their_time() -> None:
    disk = durable_file(b"old")
    file = disk.open("/d/a")
    file.pwrite(b"new", 0)
    file.sync()
    file.truncate(0)
    disk.crash(Random(1), policy=DROP)
    assert disk.read("/d/a") == b"new"
    disk.crash(Random(1), policy=DROP)
    assert disk.read("/d/a") == b"new"


def test_a_synced_file_without_a_synced_name_is_lost() -> None:
    disk = CrashFiles()
    file = disk.open("/a", create=True)
    file.pwrite(b"x", 0)
    file.sync()
    assert not disk.crashed_copy(Random(1), policy=DROP).exists("/a")
    disk.sync_dir("/")
    assert disk.crashed_copy(Random(1), policy=DROP).read("/a") == b"x"


def test_a_synced_name_does_not_bring_its_contents() -> None:
    disk = CrashFiles()
    disk.open("/a", create=True).pwrite(b"x", 0)
    disk.sync_dir("/")
    disk.crash(Random(1), policy=DROP)
    assert disk.read("/a") == b""


def test_renames_and_removals_last_after_sync_dir() -> None:
    disk = durable_file(b"old")
    disk.open("/d/b", create=True)
    disk.sync_all()
    disk.rename("/d/a", "/d/c")
    disk.remove("/d/b")
    assert disk.crashed_copy(Random(1), policy=DROP).list_dir("/d") == ["a", "b"]
    disk.sync_dir("/d")
    assert disk.crashed_copy(Random(1), policy=DROP).list_dir("/d") == ["c"]


def test_the_changes_of_a_directory_keep_their_order() -> None:
    disk = durable_file(b"old")
    disk.rename("/d/a", "/d/b")
    disk.rename("/d/b", "/d/c")
    disk.open("/d/x", create=True)
    disk.remove("/d/c")
    outcomes = {tuple(disk.crashed_copy(Random(seed)).list_dir("/d")) for seed in range(100)}
    assert outcomes == {("a",), ("b",), ("c",), ("c", "x"), ("x",)}


def test_removed_trees_go_in_parts() -> None:
    disk = durable_file(b"old")
    disk.remove_tree("/d")
    outcomes = {copy.exists("/d/a") for seed in range(50) for copy in [disk.crashed_copy(Random(seed))]}
    assert outcomes == {True, False}
    disk.sync_dir("/")
    disk.crash(Random(1), policy=DROP)
    assert disk.list_dir("/") == []


def test_torn_writes_break_at_sectors() -> None:
    disk = durable_file(b"o" * 2000)
    disk.open("/d/a").pwrite(b"n" * 1500, 100)
    whole, seen = 0, set()
    for seed in range(300):
        content = disk.crashed_copy(Random(seed)).read("/d/a")
        assert len(content) == 2000
        pieces = [(100, 512), (512, 1024), (1024, 1536), (1536, 1600)]
        kept = []
        for start, end in pieces:
            assert content[start:end] in (b"n" * (end - start), b"o" * (end - start)), "a sector is written whole"
            kept.append(content[start] == ord("n"))
        seen.add(tuple(kept))
        whole += all(kept)
    assert (False, True, False, True) in seen
    assert (True, True, False, False) in seen
    assert 0 < whole < 300


def test_length_can_arrive_without_data() -> None:
    disk = durable_file(b"")
    disk.open("/d/a").pwrite(b"n" * SECTOR_BYTES, 0)
    outcomes = {disk.crashed_copy(Random(seed)).read("/d/a") for seed in range(100)}
    assert outcomes == {b"", b"n" * SECTOR_BYTES, bytes(SECTOR_BYTES)}


def test_crashes_repeat_with_their_seed() -> None:
    disk = durable_file(b"o" * 5000)
    for position in range(0, 5000, 700):
        disk.open("/d/a").pwrite(b"n" * 600, position)
    disk.open("/d/z", create=True)
    one, two = disk.crashed_copy(Random(3)), disk.crashed_copy(Random(3))
    assert one.read("/d/a") == two.read("/d/a")
    assert one.list_dir("/d") == two.list_dir("/d")


def test_handles_and_locks_die_in_a_crash() -> None:
    disk = durable_file(b"old")
    file = disk.open("/d/a")
    assert disk.lock("/l") is not None
    disk.crash(Random(1), policy=KEEP)
    with pytest.raises(OSError, match="before the crash"):
        file.pread(1, 0)
    assert disk.lock("/l") is not None


def test_the_power_goes_off_after_a_number_of_changes() -> None:
    for changes in range(12):
        disk = durable_file(b"old")
        disk.power_off_after(changes)
        with pytest.raises(PowerLoss):
            for content in (b"new", b"newer"):
                write_atomically(disk, "/d/a", content)
        with pytest.raises(PowerLoss):
            disk.exists("/d/a")
        disk.crash(Random(1), policy=DROP)
        assert disk.read("/d/a") == (b"old" if changes < 6 else b"new")


def test_write_atomically_survives_a_crash_at_every_step() -> None:
    rng = Random(1)
    outcomes = set()
    for changes in range(7):
        for _ in range(20):
            disk = durable_file(b"old")
            disk.power_off_after(changes)
            try:
                write_atomically(disk, "/d/a", b"new" * 1000)
                finished = True
            except PowerLoss:
                finished = False
            disk.crash(rng)
            content = disk.read("/d/a")
            assert content in ((b"new" * 1000,) if finished else (b"old", b"new" * 1000))
            outcomes.add((finished, content))
    assert len(outcomes) == 3


def test_each_sync_of_write_atomically_is_needed() -> None:
    disk = durable_file(b"old")
    write_atomically(disk, "/d/a", b"new")
    sites = {site for site in disk.sync_sites if site.function == "write_atomically"}
    assert len(sites) == 2
    for disabled in sites:
        outcomes = set()
        for seed in range(30):
            disk = durable_file(b"old")
            disk.ignore_sync_at(lambda site, disabled=disabled: site == disabled)  # type: ignore[misc]
            write_atomically(disk, "/d/a", b"new")
            disk.crash(Random(seed))
            outcomes.add(disk.read("/d/a"))
        assert outcomes - {b"new"}, f"without {disabled} nothing was lost"


def test_a_sync_site_is_the_line_that_awaits() -> None:
    disk = durable_file(b"old")
    file = disk.open("/d/a")

    async def flusher() -> None:
        await InlineRuntime(disk, ManualClock()).blocking(file.sync)

    run(flusher())
    assert {site.function for site in disk.sync_sites} == {"flusher"}
    assert {site.filename for site in disk.sync_sites} == {__file__}


def test_faults_strike_where_they_are_told_to() -> None:
    disk = durable_file(b"old")
    file = disk.open("/d/a")
    disk.fail_next("pwrite", "*/a", skip=1, number=errno.ENOSPC)
    file.pwrite(b"1", 0)
    with pytest.raises(OSError) as caught:
        file.pwrite(b"2", 0)
    assert caught.value.errno == errno.ENOSPC
    file.pwrite(b"3", 0)
    assert disk.read("/d/a") == b"3ld"
    disk.fail_next(path="/d/*", times=None)
    for _ in range(2):
        with pytest.raises(OSError, match="injected"):
            disk.read("/d/a")
    disk.heal()
    assert disk.read("/d/a") == b"3ld"


def test_the_journal_lists_what_reached_the_disk() -> None:
    disk = CrashFiles()
    write_atomically(disk, "/a", b"new")
    assert [operation.name for operation in disk.journal] == [
        *("create", "truncate", "pwrite", "sync", "rename", "sync_dir"),
    ]


def test_renames_across_directories_are_refused() -> None:
    disk = durable_file(b"old")
    disk.make_dir("/e")
    with pytest.raises(OSError) as caught:
        disk.rename("/d/a", "/e/a")
    assert caught.value.errno == errno.EXDEV
