"""The Prometheus endpoint: what it answers, and that it neither stalls the loop nor is held up by those who dawdle."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from ottla.server import metrics_endpoint
from ottla.server.metrics_endpoint import CONNECTIONS_MAX, MetricsEndpoint
from tests.server.metrics_story import get

PIECES = [b"a %d\n" % number for number in range(50)]


def _serving(pieces: list[bytes], test: Callable[[MetricsEndpoint], Awaitable[None]]) -> None:
    async def run() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, lambda: iter(pieces))
        await endpoint.start()
        try:
            async with asyncio.timeout(30):
                await test(endpoint)
        finally:
            await endpoint.stop()

    asyncio.run(run())


async def _raw(endpoint: MetricsEndpoint, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def test_http_1_1_gets_chunks_and_http_1_0_the_plain_text() -> None:
    async def test(endpoint: MetricsEndpoint) -> None:
        assert await get(endpoint.port) == b"".join(PIECES).decode()
        head, _, body = (await _raw(endpoint, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")).partition(b"\r\n\r\n")
        assert b"Transfer-Encoding: chunked" in head
        text = b""
        while body:
            size, _, rest = body.partition(b"\r\n")
            text, body = text + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        assert text == b"".join(PIECES)

    _serving(PIECES, test)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"GET /other HTTP/1.1", b"404"),
        (b"GET", b"404"),
        (b"\x16\x03\x01", b"405"),
    ],
)
def test_anything_else_is_refused(line: bytes, status: bytes) -> None:
    async def test(endpoint: MetricsEndpoint) -> None:
        assert (await _raw(endpoint, line + b"\r\n\r\n")).startswith(b"HTTP/1.1 " + status)

    _serving(PIECES, test)


def test_a_head_without_an_end_is_hung_up_on() -> None:
    async def test(endpoint: MetricsEndpoint) -> None:
        try:
            assert await _raw(endpoint, b"GET /" + b"x" * 100_000) == b""
        except ConnectionResetError:
            return

    _serving(PIECES, test)


def test_the_loop_runs_between_the_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock by which every piece takes as long as a slice may."""
    clock = iter(range(0, 10**12, 1_000_000))
    monkeypatch.setattr(metrics_endpoint, "perf_counter_ns", lambda: next(clock))
    turns = 0
    turns_at_piece: list[int] = []

    def pieces() -> Iterator[bytes]:
        for piece in PIECES:
            turns_at_piece.append(turns)
            yield piece

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, pieces)
        await endpoint.start()
        counting = asyncio.ensure_future(count_turns())
        assert await get(endpoint.port) == b"".join(PIECES).decode()
        counting.cancel()
        await endpoint.stop()

    asyncio.run(run())
    assert len(set(turns_at_piece)) == len(PIECES)


def test_connections_are_bounded() -> None:
    async def test(endpoint: MetricsEndpoint) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", endpoint.port) for _ in range(CONNECTIONS_MAX)]
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        assert await reader.read() == b""
        writer.close()
        for _, other in idle:
            other.close()
        while not await get(endpoint.port):
            pass

    _serving(PIECES, test)
