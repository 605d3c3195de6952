"""PosixFiles, SystemClock and write_atomically on the machine itself."""

import errno
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.runtime.atomic import parent_dir, write_atomically
from ottla.runtime.port import Clock, Files
from ottla.runtime.posix import PosixFiles
from ottla.runtime.system_clock import SystemClock

FILES: Files = PosixFiles()
CLOCK: Clock = SystemClock()


def test_positional_reads_and_writes(tmp_path: Path) -> None:
    file = FILES.open(f"{tmp_path}/a", create=True)
    file.pwrite(b"hello", 3)
    file.pwrite(memoryview(b"xy"), 0)
    assert file.pread(100, 0) == b"xy\0hello"
    assert file.pread(3, 5) == b"llo"
    assert file.pread(3, 50) == b""
    assert file.size() == 8
    file.truncate(2)
    file.truncate(4)
    file.sync()
    assert FILES.read(f"{tmp_path}/a") == b"xy\0\0"
    assert os.pread(file.fileno(), 2, 0) == b"xy"
    file.close()
    file.close()
    with pytest.raises(OSError) as caught:
        file.size()
    assert caught.value.errno == errno.EBADF


def test_short_calls_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = FILES.open(f"{tmp_path}/a", create=True)
    pread, pwrite = os.pread, os.pwrite
    monkeypatch.setattr(os, "pread", lambda fd, size, position: pread(fd, min(size, 3), position))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: pwrite(fd, memoryview(data)[:4], position))
    file.pwrite(bytearray(range(250)), 7)
    assert file.pread(250, 7) == bytes(range(250))
    assert file.pread(999, 7) == bytes(range(250))
    file.close()


def test_opening(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FILES.open(f"{tmp_path}/a")
    FILES.open(f"{tmp_path}/a", create=True).close()
    file = FILES.open(f"{tmp_path}/a", read_only=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.pwrite(b"x", 0)
    file.close()


def test_a_closed_file_says_so_whatever_is_asked(tmp_path: Path) -> None:
    file = PosixFiles().open(f"{tmp_path}/file", create=True)
    file.close()
    file.close()
    uses: list[Callable[[], object]] = [
        lambda: file.pread(1, 0),
        lambda: file.pwrite(b"x", 0),
        file.size,
        lambda: file.truncate(0),
        file.sync,
    ]
    for use in uses:
        with pytest.raises(OSError) as raised:
            use()
        assert raised.value.errno == errno.EBADF


def test_names(tmp_path: Path) -> None:
    root = str(tmp_path)
    FILES.make_dir(f"{root}/d/e")
    FILES.make_dir(f"{root}/d/e")
    FILES.open(f"{root}/d/b", create=True).close()
    FILES.open(f"{root}/d/a", create=True).close()
    assert FILES.list_dir(f"{root}/d") == ["a", "b", "e"]
    assert FILES.is_dir(f"{root}/d")
    assert not FILES.is_dir(f"{root}/d/a")
    FILES.rename(f"{root}/d/a", f"{root}/d/b")
    assert FILES.list_dir(f"{root}/d") == ["b", "e"]
    FILES.rename(f"{root}/d", f"{root}/f")
    FILES.sync_dir(root)
    assert FILES.exists(f"{root}/f/b")
    FILES.remove(f"{root}/f/b")
    with pytest.raises(FileNotFoundError):
        FILES.remove(f"{root}/f/b")
    FILES.remove_tree(f"{root}/f")
    FILES.remove_tree(f"{root}/f")
    assert FILES.list_dir(root) == []


def test_sizes_and_times(tmp_path: Path) -> None:
    path = f"{tmp_path}/a"
    before_ms = CLOCK.now_ms()
    write_atomically(FILES, path, b"12345")
    assert FILES.size(path) == 5
    assert abs(FILES.modified_ms(path) - before_ms) < 60_000
    FILES.set_modified_ms(path, 1_700_000_000_123)
    assert FILES.modified_ms(path) == 1_700_000_000_123
    assert CLOCK.monotonic_ms() <= CLOCK.monotonic_ms()


def test_write_atomically_replaces_and_cleans_up(tmp_path: Path) -> None:
    path = f"{tmp_path}/a"
    Path(path + ".tmp").write_bytes(b"a longer leftover of a crash")
    write_atomically(FILES, path, b"one")
    write_atomically(FILES, path, memoryview(b"2"))
    assert FILES.read(path) == b"2"
    assert FILES.list_dir(str(tmp_path)) == ["a"]


@pytest.mark.parametrize(("path", "parent"), [("/a/b", "/a"), ("/a/b/", "/a"), ("/a", "/"), ("a/b", "a"), ("a", ".")])
def test_parent_dir(path: str, parent: str) -> None:
    assert parent_dir(path) == parent


def test_a_lock_keeps_everybody_else_out(tmp_path: Path) -> None:
    path = f"{tmp_path}/.lock"
    attempt = [
        *(sys.executable, "-c"),
        "import sys; from ottla.runtime.posix import PosixFiles; sys.exit(PosixFiles().lock(sys.argv[1]) is None)",
        path,
    ]
    lock = FILES.lock(path)
    assert lock is not None
    assert FILES.lock(path) is None
    assert subprocess.run(attempt, check=False).returncode == 1
    lock.release()
    lock.release()
    assert subprocess.run(attempt, check=False).returncode == 0
    again = FILES.lock(path)
    assert again is not None
    again.release()


def test_files_can_be_sent_to_a_worker() -> None:
    assert isinstance(pickle.loads(pickle.dumps(FILES)), PosixFiles)
