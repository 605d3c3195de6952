"""The Prometheus endpoint (``metrics.listener``): GET /metrics, over the plainest HTTP.

An answer is written in slices of about a millisecond, with everything else on the loop at work in between, and no
faster than it is read.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Final

from ottla.metrics.exposition import CONTENT_TYPE

logger = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 16
_REQUEST_TIMEOUT_S: Final = 5
_ANSWER_TIMEOUT_S: Final = 60
_REQUEST_BYTES_MAX: Final = 16 * 1024
_SLICE_NS: Final = 1_000_000
_LAST_CHUNK: Final = b"0\r\n\r\n"


class MetricsEndpoint:
    """Serves the pieces that ``render`` gives. One request a connection; a client that dawdles is hung up on."""

    def __init__(self, host: str, port: int, render: Callable[[], Iterator[bytes]]) -> None:
        self._host = host
        self._port = port
        self._render = render
        self._server: asyncio.Server | None = None
        self._connections = 0

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=_REQUEST_BYTES_MAX)
        logger.info("Metrics are served on http://%s:%d/metrics", self._host, self.port)

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None, "the endpoint is not started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS_MAX:
                async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                async with asyncio.timeout(_ANSWER_TIMEOUT_S):
                    await self._answer(head, writer)
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
            logger.debug("A request for metrics was not answered: %s", error)
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, path, version = [*head.partition(b"\r\n")[0].split(b" "), b"", b""][:3]
        if method != b"GET":
            writer.write(_refusal("405 Method Not Allowed", b"only GET is answered\n"))
        elif path.partition(b"?")[0] not in (b"/", b"/metrics"):
            writer.write(_refusal("404 Not Found", b"see /metrics\n"))
        else:
            is_chunked = version != b"HTTP/1.0"
            writer.write(_head("200 OK", ("Transfer-Encoding: chunked",) if is_chunked else ()))
            for piece in _slices(self._render()):
                writer.write(_chunk(piece) if is_chunked else piece)
                await writer.drain()
                await asyncio.sleep(0)  # drain alone does not wait for a client that reads fast
            if is_chunked:
                writer.write(_LAST_CHUNK)
        await writer.drain()


def _slices(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces put together as far as a slice of time goes; a slice may have taken long and be empty."""
    together: list[bytes] = []
    until_ns = perf_counter_ns() + _SLICE_NS
    for piece in pieces:
        together.append(piece)
        if perf_counter_ns() >= until_ns:
            yield b"".join(together)
            together.clear()
            until_ns = perf_counter_ns() + _SLICE_NS
    yield b"".join(together)


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""  # a chunk of nothing would be the last one


def _head(status: str, headers: tuple[str, ...]) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {CONTENT_TYPE}", *headers, "Connection: close")
    return "\r\n".join((*lines, "", "")).encode()


def _refusal(status: str, body: bytes) -> bytes:
    return _head(status, (f"Content-Length: {len(body)}",)) + body
