"""Responses on their way out: memory, ranges of files by sendfile or copied, cold ranges, files that end early."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.network import page_cache, send
from ottla.network.listener_type import SendMode
from ottla.network.request import Part
from ottla.network.send import MAX_WRITE_BYTES, TAIL_BYTES, Progress, Send
from ottla.protocol.file_slice import FileSlice
from ottla.runtime.posix import PosixFile, PosixFiles

CONTENT = bytes(range(256)) * 20_000  # 5 MB


@pytest.fixture
def file(tmp_path: Path) -> Iterator[PosixFile]:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(CONTENT)
    opened = PosixFiles().open(str(path), read_only=True)
    yield opened
    opened.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    server, client = socket.socketpair()
    server.setblocking(False)
    client.setblocking(False)
    yield server, client
    server.close()
    client.close()


def drain(client: socket.socket) -> bytes:
    data = bytearray()
    try:
        while chunk := client.recv(1 << 20):
            data += chunk
    except BlockingIOError:
        pass
    return bytes(data)


def write_all(sending: Send, pair: tuple[socket.socket, socket.socket], mode: SendMode) -> bytes:
    server, client = pair
    received = b""
    while True:
        progress = sending.write(server, mode)
        received += drain(client)
        if progress is Progress.DONE:
            return received
        if progress is Progress.COLD:
            assert sending.cold_range is not None
            page_cache.load(sending.cold_range.file, sending.cold_range.position, sending.cold_range.size)
            sending.loaded()


@pytest.mark.parametrize("mode", SendMode)
def test_memory_and_files_leave_in_order(
    mode: SendMode, file: PosixFile, pair: tuple[socket.socket, socket.socket]
) -> None:
    parts: list[Part] = [
        b"head",
        bytearray(b"er"),
        FileSlice(file, 1000, 3_000_000),
        memoryview(b"between"),
        b"",
        FileSlice(file, 0, 0),
        FileSlice(file, 7, 100),
        *[bytes([65 + index % 26]) * 3 for index in range(40)],
    ]
    expected = b"".join(part.read() if isinstance(part, FileSlice) else bytes(part) for part in parts)
    sending = Send(parts, [])
    assert sending.remaining_bytes == len(expected)
    assert write_all(sending, pair, mode) == expected
    assert sending.remaining_bytes == 0


@pytest.mark.parametrize("mode", SendMode)
def test_one_connection_does_not_write_for_ever(
    mode: SendMode, file: PosixFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a mebibyte others are due, even where the socket would take more."""

    class Glutton:
        taken = 0

        def sendmsg(self, buffers: list[bytes], ancillary: object, flags: int) -> int:
            size = sum(map(len, buffers))
            self.taken += size
            return size

        def fileno(self) -> int:
            return -1

    glutton = Glutton()

    def sendfile(_out: int, _in: int, _offset: int, count: int) -> int:
        glutton.taken += count
        return count

    monkeypatch.setattr(os, "sendfile", sendfile)
    sending = Send([FileSlice(file, 0, 5_000_000)], [])
    assert sending.write(glutton, mode) is Progress.BLOCKED  # type: ignore[arg-type]
    assert MAX_WRITE_BYTES <= glutton.taken < 2 * MAX_WRITE_BYTES
    nearly = Send([FileSlice(file, 0, MAX_WRITE_BYTES), b"the last fields"], [])
    assert nearly.write(glutton, mode) is Progress.DONE, "a tail is not worth a turn of its own"  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", SendMode)
def test_a_cold_range_is_not_touched(
    mode: SendMode, file: PosixFile, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range that is not in the page cache is for a thread to read; what is before it goes out."""
    warm: set[int] = set()
    monkeypatch.setattr(send, "is_cached", lambda _file, position, _size: position in warm)
    sending = Send([b"head", FileSlice(file, 100, MAX_WRITE_BYTES + 50), b"tail"], [])
    assert sending.write(pair[0], mode) is Progress.COLD
    assert sending.cold_range == FileSlice(file, 100, MAX_WRITE_BYTES)
    sending.loaded()
    received = b""
    while (progress := sending.write(pair[0], mode)) is Progress.BLOCKED:
        received += drain(pair[1])
    received += drain(pair[1])
    assert progress is Progress.COLD, "the next mebibyte is looked up again"
    assert sending.cold_range == FileSlice(file, 100 + MAX_WRITE_BYTES, 50)
    sending.loaded()
    assert sending.write(pair[0], mode) is Progress.DONE
    assert received + drain(pair[1]) == b"head" + CONTENT[100 : 150 + MAX_WRITE_BYTES] + b"tail"


def test_no_splinters_where_a_piece_ends(file: PosixFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket's buffer divides no mebibyte evenly; what is left of one goes out with the next."""
    asked: list[int] = []

    def sendfile(_out: int, _in: int, _offset: int, count: int) -> int:
        asked.append(count)
        return min(count, 261_932)  # what the kernel takes with socket.send.buffer.bytes as it is by default

    monkeypatch.setattr(os, "sendfile", sendfile)
    with socket.socket() as sock:
        sending = Send([FileSlice(file, 0, 4 * MAX_WRITE_BYTES)], [])
        while sending.write(sock, SendMode.SENDFILE) is not Progress.DONE:
            pass
    assert min(asked[:-1]) > TAIL_BYTES
    assert len(asked) == 4 * MAX_WRITE_BYTES // 261_932 + 1


def test_what_is_warm_does_not_wait_for_what_is_cold(
    file: PosixFile, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "is_cached", lambda _file, position, _size: position < MAX_WRITE_BYTES)
    sending = Send([FileSlice(file, 0, 2 * MAX_WRITE_BYTES)], [])
    received = b""
    while (progress := sending.write(pair[0], SendMode.SENDFILE)) is Progress.BLOCKED:
        received += drain(pair[1])
    received += drain(pair[1])
    assert progress is Progress.COLD
    assert received == CONTENT[:MAX_WRITE_BYTES]
    assert sending.cold_range == FileSlice(file, MAX_WRITE_BYTES, MAX_WRITE_BYTES)


@pytest.mark.parametrize("mode", SendMode)
def test_a_file_that_ends_before_its_promise(
    mode: SendMode, file: PosixFile, pair: tuple[socket.socket, socket.socket]
) -> None:
    sending = Send([FileSlice(file, len(CONTENT) - 10, 20)], [])
    with pytest.raises(EOFError, match="which was promised to a client"):
        write_all(sending, pair, mode)


@pytest.mark.uncompiled
def test_appending_to_a_send(pair: tuple[socket.socket, socket.socket]) -> None:
    sending = Send([b"one"], [], ends_request=False)
    sending.append([b"two", b""], None)  # type: ignore[arg-type]
    assert sending.ends_request
    assert write_all(sending, pair, SendMode.SENDFILE) == b"onetwo"


def test_what_was_just_written_is_cached(file: PosixFile) -> None:
    assert page_cache.is_cached(file, 0, len(CONTENT))
    assert page_cache.is_cached(file, 5, 1)
    page_cache.load(file, 0, len(CONTENT))
    page_cache.load(file, len(CONTENT) - 10, 1000)


def test_loading_where_sendfile_knows_sockets_only(file: PosixFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(refusal, "no")

    monkeypatch.setattr(os, "sendfile", refuse)
    refusal = errno.ENOTSOCK
    page_cache.load(file, 0, len(CONTENT))
    page_cache.load(file, len(CONTENT) - 10, 1000)
    refusal = errno.EIO
    with pytest.raises(OSError, match="no"):
        page_cache.load(file, 0, len(CONTENT))


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="the machine cannot say")
def test_a_page_that_has_been_evicted_is_not_cached(file: PosixFile) -> None:
    """Where the file system can evict and can tell, it is told; where it cannot, the answer is yes."""
    os.fsync(os.open(file.path, os.O_RDWR))
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if page_cache.is_cached(file, 2_000_000, 100_000):
        pytest.skip("this file system keeps its pages, or cannot say")
    page_cache.load(file, 2_000_000, 100_000)
    assert page_cache.is_cached(file, 2_000_000, 100_000)


def test_a_file_system_that_cannot_say(file: PosixFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> int:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "preadv", unsupported)
    assert page_cache.is_cached(file, 0, 100)
    monkeypatch.setattr(page_cache, "_NOWAIT", None)
    assert page_cache.is_cached(file, 0, 100)
