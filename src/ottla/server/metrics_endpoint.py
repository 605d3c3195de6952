"""The Prometheus endpoint (``metrics.listener``): GET /metrics, over the plainest HTTP."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

_REQUEST_TIMEOUT_S: Final = 5
_REQUEST_BYTES_MAX: Final = 16 * 1024
_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsEndpoint:
    """Serves what ``render`` gives. One request a connection; a client that dawdles is hung up on."""

    def __init__(self, host: str, port: int, render: Callable[[], bytes]) -> None:
        self._host = host
        self._port = port
        self._render = render
        self._server: asyncio.Server | None = None

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
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
            logger.debug("A request for metrics was not answered: %s", error)
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return _response("405 Method Not Allowed", b"only GET is answered\n")
        if path not in (b"/", b"/metrics"):
            return _response("404 Not Found", b"see /metrics\n")
        return _response("200 OK", self._render())


def _response(status: str, body: bytes) -> bytes:
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {_CONTENT_TYPE}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + body
