"""A socket server whose turns a test makes itself, with real sockets on the loopback interface."""

import select
import socket
import struct
from collections.abc import Callable, Sequence
from random import Random
from types import TracebackType
from typing import Protocol, Self

from ottla.common.endpoint import Endpoint
from ottla.metrics.registry import Registry
from ottla.network.channel import Channel
from ottla.network.config import SocketServerConfig
from ottla.network.listener_type import ListenerType
from ottla.network.processor import Processor
from ottla.network.readiness import EpollReadiness, Readiness
from ottla.network.request import Part, Request
from ottla.network.socket_server import SocketServer
from ottla.protocol.api_keys import ApiKey
from ottla.runtime.inline import InlineRuntime, ManualClock
from ottla.runtime.open_files import OpenFiles

PATIENCE_S = 10
"""How long a test waits for the kernel before it fails; nothing takes that long."""


def request_frame(correlation_id: int, payload: bytes = b"", api_key: int = 3, version: int = 4) -> bytes:
    """A request with a header that needs no tagged fields; the payload is not looked at by the network."""
    body = struct.pack(">hhih", api_key, version, correlation_id, 4) + b"test" + payload
    return struct.pack(">i", len(body)) + body


def response_frame(correlation_id: int, payload: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(payload), correlation_id) + payload


class Echo:
    """Answers at once with what was sent."""

    def __init__(self) -> None:
        self.handled: list[int] = []

    def handle(self, request: Request) -> None:
        self.handled.append(request.header.correlation_id)
        answer(request)


class Parking:
    """Keeps every request until the test answers it."""

    def __init__(self) -> None:
        self.parked: list[Request] = []

    def handle(self, request: Request) -> None:
        self.parked.append(request)

    @property
    def correlation_ids(self) -> list[int]:
        return [request.header.correlation_id for request in self.parked]


def answer(request: Request, payload: bytes | None = None) -> None:
    request.send([response_frame(request.header.correlation_id, bytes(request.body) if payload is None else payload)])


class AllApis:
    def is_enabled(self, api_key: ApiKey, version: int) -> bool:
        return True


class Finished:
    """Keeps the requests that are over."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def update(self, request: Request) -> None:
        self.requests.append(request)


class CountingReadiness(EpollReadiness):
    """Counts the calls that change an interest."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0

    def set_interest(self, descriptor: int, before: int, interest: int) -> None:
        self.changes += 1
        super().set_interest(descriptor, before, interest)


class ManualReactor:
    """Makes no turns by itself; remembers that one was asked for."""

    def __init__(self) -> None:
        self.wakeups = 0
        self.timers: list[tuple[int, Callable[[], None]]] = []

    def wakeup(self) -> None:
        self.wakeups += 1

    def call_later(self, delay_ms: int, call: Callable[[], None]) -> None:
        self.timers.append((delay_ms, call))


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


def is_ready(timeout_s: float, *waited_for: HasDescriptor, event: int = select.POLLIN) -> bool:
    """Whether one becomes ready in time; select knows no descriptors beyond 1,023, which other tests may hold."""
    poll = select.poll()
    for each in waited_for:
        poll.register(each.fileno(), event)
    return bool(poll.poll(timeout_s * 1000))


class Client:
    """A blocking client with a time limit."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def request(self, correlation_id: int, payload: bytes = b"") -> None:
        self.send(request_frame(correlation_id, payload))

    def has_input(self) -> bool:
        return is_ready(0, self.socket)

    def is_closed(self) -> bool:
        """Whether the server has hung up; only for clients that expect no response."""
        if not self.has_input():
            return False
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()


class Server:
    """The server under test, on a thread of nobody: ``turn`` and ``until`` drive it."""

    def __init__(
        self,
        handler: Echo | Parking | None = None,
        *,
        endpoints: Sequence[str] = ("PLAINTEXT",),
        listener_type: ListenerType = ListenerType.BROKER,
        readiness: Readiness | None = None,
        open_files: OpenFiles | None = None,
        clock: ManualClock | None = None,
        **config: object,
    ) -> None:
        self.handler = handler if handler is not None else Echo()
        self.finished = Finished()
        self.clock = clock if clock is not None else ManualClock(1_000_000)
        self.reactor = ManualReactor()
        self.readiness = readiness if readiness is not None else CountingReadiness()
        self.disconnected: list[str] = []
        self.registry = Registry()
        self.server = SocketServer(
            SocketServerConfig(**config),  # type: ignore[arg-type]
            [Endpoint(name, "127.0.0.1", 0) for name in endpoints],
            self.handler,
            AllApis(),
            registry=self.registry,
            request_metrics=self.finished,
            listener_type=listener_type,
            reactor=self.reactor,  # type: ignore[arg-type]
            runtime=InlineRuntime(clock=self.clock, rng=Random(7)),
            readiness=self.readiness,
            disconnect_listeners=[self.disconnected.append],
            open_files=open_files,
        )
        for name in endpoints:
            self.server.start_listener(name)
        self.clients: list[Client] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self.clients:
            client.close()
        for channel in [*self.server.selector.channels.values()]:
            self.server.selector.close(channel)
        for acceptor in self.server.acceptors.values():
            acceptor.close()
        self.readiness.close()

    @property
    def channels(self) -> list[Channel]:
        return [*self.server.selector.channels.values()]

    def port(self, listener: str = "PLAINTEXT") -> int:
        return self.server.bound_port(listener)

    def dial(self, listener: str = "PLAINTEXT") -> Client:
        """Connect; the server may not have accepted yet."""
        client = Client(self.port(listener))
        self.clients.append(client)
        return client

    def connect(self, listener: str = "PLAINTEXT") -> Client:
        """Connect, and be accepted."""
        before = sum(processor.connections_created for processor in self.processors)
        client = self.dial(listener)
        self.until(lambda: sum(processor.connections_created for processor in self.processors) > before)
        return client

    @property
    def processors(self) -> list[Processor]:
        return [p for acceptor in self.server.acceptors.values() for p in acceptor.listener.processors]

    def turn(self, *, wait: bool = True) -> bool:
        """One turn, after something is ready or at once."""
        if wait:
            assert is_ready(PATIENCE_S, self.server), "nothing became ready"
        return self.server.turn(self.clock.monotonic_ms())

    def until(self, condition: Callable[[], bool]) -> None:
        """Turns, until something is so."""
        more = True
        for _ in range(100_000):
            if condition():
                return
            more = self.turn(wait=not more)
        raise AssertionError("it never came to be")

    def fire_timers(self) -> None:
        """Call everything that was asked for later: its time has come."""
        due, self.reactor.timers = self.reactor.timers, []
        for _delay_ms, call in due:
            call()

    def quiet(self) -> None:
        """Turns, until there is nothing to do."""
        while self.turn(wait=False) or is_ready(0, self.server):
            pass

    def receive(self, client: Client, size: int) -> bytes:
        """What a client gets, with the server at work meanwhile."""
        data = bytearray()
        client.socket.setblocking(False)
        try:
            while len(data) < size:
                self.turn(wait=False)
                if client.has_input():
                    chunk = client.socket.recv(size - len(data))
                    assert chunk, "the server hung up"
                    data += chunk
                else:
                    is_ready(0.01, client.socket, self.server)
        finally:
            client.socket.settimeout(PATIENCE_S)
        return bytes(data)

    def response(self, client: Client) -> tuple[int, bytes]:
        """The next response: its correlation id and payload."""
        size, correlation_id = struct.unpack(">ii", self.receive(client, 8))
        return correlation_id, self.receive(client, size - 4)


def answer_all(parking: Parking, parts: Sequence[Part] | None = None) -> None:
    """Answer and forget what is parked."""
    parked, parking.parked = parking.parked, []
    for request in parked:
        if parts is None:
            answer(request)
        else:
            request.send(parts)
