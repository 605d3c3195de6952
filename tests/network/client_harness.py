"""A broker that does what a test tells it to, in the same loop as the client under test."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple, Self, TypeVar

from ottla.network.client_config import NetworkClientConfig
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import RequestHeader, decode_request_body, parse_request_header, response_frame
from ottla.protocol.message import Message
from ottla.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.port import Clock

T = TypeVar("T")

PATIENCE_S = 20
"""How long a test waits for the loop before it fails; nothing takes that long."""
QUICK = NetworkClientConfig(reconnect_backoff_ms=1, reconnect_backoff_max_ms=4)

SPOKEN = {ApiKey.API_VERSIONS: (0, 4), ApiKey.METADATA: (0, 13), ApiKey.PRODUCE: (0, 13), ApiKey.FETCH: (4, 18)}


def run(test: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(test, PATIENCE_S))


@asynccontextmanager
async def new_client(
    config: NetworkClientConfig = QUICK, *, clock: Clock | None = None, **ports: Any
) -> AsyncIterator[NetworkClient]:
    runtime = AsyncioRuntime(clock=clock, rng=Random(7), blocking_threads=1)
    async with NetworkClient(runtime, "test", config, **ports) as client:
        yield client
    runtime.close()


class Received(NamedTuple):
    """A request that came in, and the connection to answer on."""

    header: RequestHeader
    body: Message
    writer: asyncio.StreamWriter

    def answer(self, response: Message, *, correlation_id: int | None = None, version: int | None = None) -> None:
        header = self.header
        correlation_id = header.correlation_id if correlation_id is None else correlation_id
        version = header.api_version if version is None else version
        parts = response_frame(header.api_key, version, correlation_id, response)
        self.writer.write(b"".join(bytes(part) for part in parts if not hasattr(part, "read")))


Handler = Callable[[Received], None]


class ScriptedBroker:
    """Answers ApiVersions by itself; other requests wait in ``received``, or go to ``handle`` if a test sets it."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        node_id: int = 1,
        *,
        answers_api_versions: bool = True,
        tls_context: ssl.SSLContext | None = None,
    ) -> None:
        self.received: asyncio.Queue[Received] = asyncio.Queue()
        self.handle: Handler = self.received.put_nowait
        self.answers_api_versions = answers_api_versions
        self.spoken: dict[ApiKey, tuple[int, int]] = dict(SPOKEN)
        self.api_versions_requests: list[Received] = []
        self.accepted = 0
        self._host = host
        self._id = node_id
        self._tls_context = tls_context
        self._port = 0
        self.writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    @property
    def node(self) -> Node:
        return Node(self._id, self._host, self._port)

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, self._host, self._port, ssl=self._tls_context)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self.drop_connections()

    def drop_connections(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def next_request(self) -> Received:
        return await self.received.get()

    async def next_requests(self, count: int) -> Sequence[Received]:
        return [await self.received.get() for _ in range(count)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.writers.append(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = memoryview(await reader.readexactly(size))
                header, position = parse_request_header(frame)
                body = decode_request_body(header.api_key.request_class, frame[position:], header.api_version)
                received = Received(header, body, writer)
                if header.api_key is ApiKey.API_VERSIONS and self.answers_api_versions:
                    self._answer_api_versions(received)
                else:
                    self.handle(received)
        except (asyncio.IncompleteReadError, ConnectionError):
            if not writer.is_closing():  # up to Python 3.11.3, a TLS transport closed twice cannot be aborted
                writer.close()

    def _answer_api_versions(self, received: Received) -> None:
        self.api_versions_requests.append(received)
        low, high = self.spoken[ApiKey.API_VERSIONS]
        keys = [ApiVersion(api_key=k, min_version=a, max_version=b) for k, (a, b) in self.spoken.items()]
        if low <= received.header.api_version <= high:
            received.answer(ApiVersionsResponse(api_keys=keys))
        else:
            received.answer(ApiVersionsResponse(error_code=35, api_keys=keys[:1]), version=0)
