"""The socket server on a live event loop: planes and their order, start and stop, cold reads, metrics."""

import asyncio
import errno
import os
import struct
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.common.endpoint import Endpoint
from ottla.metrics.histogram import Histogram
from ottla.metrics.instruments import Gauge
from ottla.metrics.registry import Registry
from ottla.network import send
from ottla.network.config import ListenerConfig, SocketServerConfig
from ottla.network.listener_type import ListenerType, SendMode
from ottla.network.reactor import Reactor
from ottla.network.reactor_metrics import register_reactor
from ottla.network.request import Request, RequestHandler
from ottla.network.socket_server import READ_AHEAD_BYTES, SocketServer
from ottla.protocol.file_slice import FileSlice
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.posix import PosixFiles
from tests.network.server_harness import AllApis, Echo, Parking, answer, answer_all, request_frame


class Node:
    """What a test of a live loop needs."""

    def __init__(self) -> None:
        self.runtime = AsyncioRuntime()
        self.reactor = Reactor(asyncio.get_running_loop(), self.runtime.clock)
        self.registry = Registry()
        self.servers: list[SocketServer] = []
        self.failed_files: list[str] = []

    def server(
        self, handler: RequestHandler, listener_type: ListenerType = ListenerType.BROKER, **config: Any
    ) -> SocketServer:
        server = SocketServer(
            SocketServerConfig(**config),
            [Endpoint(listener_type.value, "127.0.0.1", 0)],
            handler,
            AllApis(),
            registry=self.registry,
            listener_type=listener_type,
            reactor=self.reactor,
            runtime=self.runtime,
            on_file_failure=lambda path, _error: self.failed_files.append(path),
        )
        self.servers.append(server)
        return server

    async def close(self) -> None:
        for server in self.servers:
            await server.stop()
        self.runtime.close()


def live(test: Callable[[Node], Awaitable[None]]) -> Callable[[], None]:
    """Run a test on an event loop of its own."""

    async def main() -> None:
        node = Node()
        try:
            await asyncio.wait_for(test(node), 20)
        finally:
            await node.close()

    def run() -> None:
        asyncio.run(main())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


class Peer:
    """An asyncio client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, server: SocketServer) -> "Peer":
        return cls(*await asyncio.open_connection("127.0.0.1", server.bound_port(server.listener_type.value)))

    async def response(self) -> tuple[int, bytes]:
        size, correlation_id = struct.unpack(">ii", await self.reader.readexactly(8))
        return correlation_id, await self.reader.readexactly(size - 4)

    async def ask(self, correlation_id: int, payload: bytes = b"") -> tuple[int, bytes]:
        self.writer.write(request_frame(correlation_id, payload))
        return await self.response()


@live
async def test_a_live_server_answers(node: Node) -> None:
    server = node.server(Echo())
    await server.enable_request_processing()
    peers = [await Peer.connect(server) for _ in range(5)]
    for _ in range(20):
        answers = await asyncio.gather(*(peer.ask(index, b"abc") for index, peer in enumerate(peers)))
        assert answers == [(index, b"abc") for index in range(5)]


@live
async def test_an_answer_from_elsewhere_wakes_the_reactor(node: Node) -> None:
    parking = Parking()
    server = node.server(parking)
    await server.enable_request_processing()
    peer = await Peer.connect(server)
    peer.writer.write(request_frame(1))
    while not parking.parked:
        await asyncio.sleep(0)
    answer_all(parking)
    assert (await peer.response())[0] == 1


@live
async def test_no_listener_accepts_before_its_authorizer_is_ready(node: Node) -> None:
    """Seed 004: enableRequestProcessing chains each acceptor to the future of its authorizer."""
    server = node.server(Echo())
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    enabling = asyncio.ensure_future(server.enable_request_processing({"BROKER": ready}))
    await asyncio.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        await Peer.connect(server)
    assert not enabling.done()
    ready.set_result(None)
    await enabling
    assert (await (await Peer.connect(server)).ask(1))[0] == 1


@live
async def test_an_authorizer_that_fails_fails_the_start(node: Node) -> None:
    server = node.server(Echo())
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ready.set_exception(RuntimeError("no authorizer"))
    with pytest.raises(RuntimeError, match="no authorizer"):
        await server.enable_request_processing({"BROKER": ready})
    with pytest.raises(ConnectionRefusedError):
        await Peer.connect(server)


@live
async def test_a_listener_without_an_authorizer_of_its_own_waits_for_all(node: Node) -> None:
    server = SocketServer(
        SocketServerConfig(),
        [Endpoint("A", "127.0.0.1", 0), Endpoint("B", "127.0.0.1", 0)],
        Echo(),
        AllApis(),
        registry=node.registry,
        listener_type=ListenerType.BROKER,
        reactor=node.reactor,
        runtime=node.runtime,
    )
    node.servers.append(server)
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    enabling = asyncio.ensure_future(server.enable_request_processing({"A": ready}))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not server.acceptors["B"].is_listening
    ready.set_result(None)
    await enabling
    assert server.acceptors["B"].is_listening
    server.add_listeners([Endpoint("C", "127.0.0.1", 0)])
    for _ in range(5):
        await asyncio.sleep(0)
    assert server.acceptors["C"].is_listening


@live
async def test_the_controller_plane_is_served_first(node: Node) -> None:
    """Whatever the clients have queued, a controller's request is handled before the rest of it.

    The broker's handler takes longer than a slice for every request; between two of them a controller request comes.
    """
    order: list[str] = []
    broker_server: SocketServer
    controller_peer: Peer

    class Slow(Echo):
        def handle(self, request: Request) -> None:
            order.append("client")
            if len(order) == 1:
                controller_peer.writer.write(request_frame(1))  # goes out at once
            deadline = node.runtime.clock.monotonic_ms() + 3
            while node.runtime.clock.monotonic_ms() < deadline:
                pass
            answer(request)

    class Controller(Echo):
        def handle(self, request: Request) -> None:
            order.append("controller")
            answer(request)

    broker_server = node.server(Slow())
    controller_server = node.server(Controller(), ListenerType.CONTROLLER)
    await broker_server.enable_request_processing()
    await controller_server.enable_request_processing()
    controller_peer = await Peer.connect(controller_server)
    peers = [await Peer.connect(broker_server) for _ in range(6)]
    for peer in peers:
        peer.writer.write(request_frame(1))
    await asyncio.gather(controller_peer.response(), *(peer.response() for peer in peers))
    assert order.count("client") == 6
    assert order.index("controller") <= 2, order


@live
async def test_stop_drains_and_closes(node: Node) -> None:
    """Nobody new gets in, the request under way is answered, and all connections are closed."""
    parking = Parking()
    server = node.server(parking)
    await server.enable_request_processing()
    port = server.bound_port("BROKER")
    busy, idle = await Peer.connect(server), await Peer.connect(server)
    busy.writer.write(request_frame(1) + request_frame(2))
    while not parking.parked:
        await asyncio.sleep(0)
    stopping = asyncio.ensure_future(server.stop(drain_ms=10_000))
    await asyncio.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    answer(parking.parked.pop())
    assert (await busy.response())[0] == 1
    await stopping
    assert parking.parked == [], "no request is begun any more"
    assert await busy.reader.read() == b""
    assert await idle.reader.read() == b""
    left = {family.name for family in node.registry.collect(0)}
    assert {name for name in left if "requestmetrics" not in name} == set()
    await server.stop()


@live
async def test_stop_does_not_wait_beyond_its_time(node: Node) -> None:
    parking = Parking()
    server = node.server(parking)
    await server.enable_request_processing()
    peer = await Peer.connect(server)
    peer.writer.write(request_frame(1))
    while not parking.parked:
        await asyncio.sleep(0)
    await server.stop(drain_ms=5)
    assert await peer.reader.read() == b""
    answer(parking.parked.pop())  # Seed 004: a response to a processor that is gone is dropped


def test_a_server_that_never_started_can_be_stopped() -> None:
    @live
    async def check(node: Node) -> None:
        await node.server(Echo()).stop()

    check()


@pytest.mark.parametrize("is_there", [False, True])
def test_what_follows_a_cold_range_is_read_ahead(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the kernel has done so; and a disk that fails there does not matter before somebody reads it."""
    path = tmp_path / "log"
    path.write_bytes(bytes(1000))
    loaded: list[tuple[int, int]] = []

    def failing_load(_file: object, position: int, size: int) -> None:
        loaded.append((position, size))
        if position == 300:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(send, "is_cached", lambda *_: False)
    monkeypatch.setattr("ottla.network.socket_server.is_cached", lambda *_: is_there)
    monkeypatch.setattr("ottla.network.socket_server.load", failing_load)

    @live
    async def check(node: Node) -> None:
        file = PosixFiles().open(str(path), read_only=True)

        class FromFile(Echo):
            def handle(self, request: Request) -> None:
                head = struct.pack(">ii", 4 + 200, request.header.correlation_id)
                request.send([head, FileSlice(file, 100, 200)])

        server = node.server(FromFile())
        await server.enable_request_processing()
        peer = await Peer.connect(server)
        for index in range(2):
            assert await peer.ask(index) == (index, bytes(200))
        file.close()

    check()
    ahead = [] if is_there else [(300, READ_AHEAD_BYTES)]
    assert [each for each in loaded if each == (100, 200)] == [(100, 200)] * 2
    assert [each for each in loaded if each != (100, 200)][:1] == ahead


@pytest.mark.parametrize("mode", SendMode)
def test_a_cold_range_does_not_stall_the_reactor(
    mode: SendMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a thread reads the range from the disk, others are served; then the response goes on."""
    content = bytes(range(256)) * 16_000
    path = tmp_path / "log"
    path.write_bytes(content)
    may_load = threading.Event()
    monkeypatch.setattr(send, "is_cached", lambda *_: False)

    def slow_load(*_: object) -> None:
        assert may_load.wait(20)

    monkeypatch.setattr("ottla.network.socket_server.load", slow_load)

    @live
    async def check(node: Node) -> None:
        file = PosixFiles().open(str(path), read_only=True)

        class FromFile(Echo):
            def handle(self, request: Request) -> None:
                if request.header.correlation_id == 1:
                    head = struct.pack(">ii", 4 + len(content), 1)
                    request.send([head, FileSlice(file, 0, len(content))])
                else:
                    answer(request)

        server = node.server(FromFile(), listeners={"BROKER": ListenerConfig(send_mode=mode)})
        await server.enable_request_processing()
        cold, warm = await Peer.connect(server), await Peer.connect(server)
        cold.writer.write(request_frame(1))
        for index in range(10):
            assert (await warm.ask(index + 2))[0] == index + 2
        may_load.set()
        assert await cold.response() == (1, content)
        assert (await cold.ask(7))[0] == 7
        file.close()

    check()


@pytest.mark.parametrize(
    ("operation", "code", "is_told"),
    [
        ("sendfile", errno.EIO, True),
        ("sendfile", errno.EPIPE, False),
        ("sendfile", errno.ECONNRESET, False),
        ("sendfile", errno.EBADF, False),  # the file was closed: its segment is gone, or its directory has failed
        ("pread", errno.EIO, True),
        ("preadv", errno.EIO, True),
        ("load", errno.EIO, True),
        ("load", errno.EMFILE, False),
    ],
)
def test_a_disk_that_fails_under_a_response_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    code: int,
    is_told: bool,
) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(1000))
    head = struct.pack(">ii", 1004, 1)

    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    if operation == "load":
        monkeypatch.setattr(send, "is_cached", lambda *_: False)
        monkeypatch.setattr("ottla.network.socket_server.load", fail)
    else:
        monkeypatch.setattr(os, operation, fail)

    @live
    async def check(node: Node) -> None:
        file = PosixFiles().open(str(path), read_only=True)

        class FromFile(Echo):
            def handle(self, request: Request) -> None:
                request.send([head, FileSlice(file, 0, 1000)])

        mode = SendMode.COPY if operation == "pread" else SendMode.SENDFILE
        server = node.server(FromFile(), listeners={"BROKER": ListenerConfig(send_mode=mode)})
        await server.enable_request_processing()
        peer = await Peer.connect(server)
        peer.writer.write(request_frame(1))
        assert await peer.reader.read() in {b"", head}
        assert node.failed_files == ([str(path)] if is_told else [])
        file.close()

    check()
    if is_told:
        assert f"{path} cannot be read: Input" in caplog.text


@live
async def test_a_range_that_cannot_be_read_closes_its_connection(node: Node) -> None:
    class Broken:
        path = "/a/file"

        def fileno(self) -> int:
            return -1

        def pread(self, size: int, position: int) -> bytes:
            raise OSError(5, "Input/output error")

    class FromFile(Echo):
        def handle(self, request: Request) -> None:
            request.send([struct.pack(">ii", 14, 1), FileSlice(Broken(), 0, 10)])

    server = node.server(FromFile())
    await server.enable_request_processing()
    peer = await Peer.connect(server)
    peer.writer.write(request_frame(1))
    assert await peer.reader.read() in {b"", struct.pack(">ii", 14, 1)}
    other = await Peer.connect(server)
    other.writer.close()


@live
async def test_every_gauge_moves(node: Node) -> None:
    parking = Parking()
    server = node.server(parking, num_network_threads=1, queued_max_request_bytes=1000, max_connections=2)
    await server.enable_request_processing()

    def value(name: str, **labels: str) -> float:
        gauge = node.registry.get(name, plane="broker", **labels)
        assert isinstance(gauge, Gauge), name
        return gauge.read()

    network = partial(value, "kafka_network_socketserver_memorypoolused")
    of_listener = {"listener": "BROKER"}
    of_processor = {"listener": "BROKER", "networkProcessor": "0"}
    metrics = "kafka_server_socket_server_metrics_"
    assert value(f"{metrics}connection_count", **of_processor) == 0
    peer, other = await Peer.connect(server), await Peer.connect(server)
    peer.writer.write(request_frame(1, b"x" * 986))
    while not parking.parked:
        await asyncio.sleep(0)
    assert network() == 1000
    assert value("kafka_network_socketserver_memorypoolavailable") == 0
    other.writer.write(request_frame(2))
    third = await Peer.connect(server)  # waits in the backlog
    while server.acceptors["BROKER"].total_blocked_ns() == 0 or server.memory_pool._depleted_since_ns == 0:
        await asyncio.sleep(0)
    assert value("kafka_network_acceptor_acceptorblocked_percent", **of_listener) > 0
    assert value(f"{metrics}connection_count", **of_processor) == 2
    assert value(f"{metrics}connection_creation_total", **of_processor) == 2
    assert value(f"{metrics}connection_accept_rate", **of_listener) > 0
    assert value(f"{metrics}broker_connection_accept_rate") > 0
    assert value("kafka_network_requestchannel_requestqueuesize") == 0
    (request,) = parking.parked
    answer(request)
    assert value("kafka_network_requestchannel_responsequeuesize") == 1
    assert value("kafka_network_requestchannel_responsequeuesize", processor="0") == 1
    await peer.response()
    assert value(f"{metrics}memorypooldepletedtimetotal") > 0
    peer.writer.close()
    while value(f"{metrics}connection_close_total", **of_processor) == 0:
        await asyncio.sleep(0)
    assert 0 < value("kafka_server_kafkarequesthandlerpool_brokerrequesthandleravgidle_percent") < 1
    assert 0 < value("kafka_network_processor_idle_percent", networkProcessor="0") < 1
    server.processors()[0].expired_connections_killed_count = 3
    assert value("kafka_network_socketserver_expiredconnectionskilledcount") == 3
    third.writer.close()


@live
async def test_the_planes_are_idle_together(node: Node) -> None:
    """Boards add up the series of a name: with one for each plane they would show twice as much as there is."""
    register_reactor(node.registry, lambda: node.reactor.planes)
    servers = [node.server(Echo(), kind) for kind in (ListenerType.BROKER, ListenerType.CONTROLLER)]
    gauges = [
        node.registry.get("kafka_network_socketserver_networkprocessoravgidle_percent"),
        node.registry.get("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"),
    ]
    assert node.reactor.planes == []
    for server in servers:
        await server.enable_request_processing()
    network, handlers = gauges
    assert isinstance(network, Gauge)
    assert isinstance(handlers, Gauge)
    before = handlers.read()
    for server in servers:
        server.metrics.handler_busy_ns += 10**15
        assert server.metrics in node.reactor.planes
    assert (before, handlers.read()) == (1.0, 0.0)
    for server in servers:
        server.metrics.busy_ns += 3 * 10**15
    assert network.read() == 0.0


@live
async def test_request_times_go_into_histograms(node: Node) -> None:
    parking = Parking()
    server = node.server(parking)
    await server.enable_request_processing()
    peer = await Peer.connect(server)
    peer.writer.write(request_frame(1))
    while not parking.parked:
        await asyncio.sleep(0)
    request = parking.parked.pop()
    request.metric_name = "MetadataSpecial"
    request.throttle_time_ms = 7
    answer(request)
    await peer.response()
    await peer.reader.read(0)
    for name in ("Metadata", "MetadataSpecial"):
        throttle = node.registry.get("kafka_network_requestmetrics_throttletimems", request=name)
        total = node.registry.get("kafka_network_requestmetrics_totaltimems", request=name)
        assert isinstance(throttle, Histogram)
        assert isinstance(total, Histogram)
        assert (throttle.sum, throttle.count) == (7, 1)
        assert total.sum > 0
