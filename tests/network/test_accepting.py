"""Connection limits on real sockets: each is filled, holds, and recovers."""

import socket

import pytest

from ottla.common.endpoint import Endpoint, SecurityProtocol
from ottla.common.errors import InvalidConfigError
from ottla.network import acceptor as acceptor_module
from ottla.network.acceptor import CONNECTION_QUEUE_SIZE, ERROR_BACKOFF_MS, Acceptor, plain_address
from ottla.network.config import ListenerConfig, SocketServerConfig
from ottla.network.connection_quotas import ConnectionQuotas
from ottla.network.listener import Listener
from ottla.network.listener_type import ListenerType
from ottla.runtime.inline import ManualClock
from ottla.runtime.open_files import OpenFiles
from tests.network.server_harness import Client, Server


def works(server: Server, client: Client) -> bool:
    client.request(1, b"hello")
    return server.response(client) == (1, b"hello")


def test_no_accepted_connection_is_dropped() -> None:
    """Seed 004, guarantee: a crowd is served to the last; a turn takes at most twenty of it."""
    with Server(socket_listen_backlog_size=200) as server:
        crowd = [server.dial() for _ in range(90)]
        server.turn()
        assert len(server.channels) == CONNECTION_QUEUE_SIZE
        server.until(lambda: len(server.channels) == 90)
        assert all(works(server, client) for client in crowd)


def test_connections_per_ip() -> None:
    """Those beyond max.connections.per.ip are closed; when one goes, another may come."""
    with Server(max_connections_per_ip=2) as server:
        first, second = server.connect(), server.connect()
        third = server.dial()
        server.until(third.is_closed)
        assert server.server.quotas.count("127.0.0.1") == 2
        assert works(server, first)
        second.close()
        server.until(lambda: len(server.channels) == 1)
        assert works(server, server.connect())


def test_connections_per_listener() -> None:
    """The listener pauses: the connection waits in the backlog, is not dropped, and gets its turn."""
    with Server(endpoints=["A", "B"], listeners={"A": ListenerConfig(max_connections=1)}) as server:
        first = server.connect("A")
        waiting = server.dial("A")
        waiting.request(5)
        server.quiet()
        assert len(server.channels) == 1
        assert server.server.acceptors["A"].total_blocked_ns() > 0
        assert works(server, server.connect("B")), "the other listener accepts"
        first.close()
        assert server.response(waiting)[0] == 5


def test_connections_of_the_broker() -> None:
    with Server(max_connections=2) as server:
        first, _second = server.connect(), server.connect()
        waiting = server.dial()
        waiting.request(5)
        server.quiet()
        assert not waiting.has_input()
        assert len(server.channels) == 2
        first.close()
        assert server.response(waiting)[0] == 5


def test_inter_broker_listener_is_protected() -> None:
    """Seed 004: it goes beyond max.connections, and the least recently used connection elsewhere is closed."""
    with Server(endpoints=["CLIENT", "BROKER"], max_connections=2, inter_broker_listener_name="BROKER") as server:
        old, busy = server.connect("CLIENT"), server.connect("CLIENT")
        assert works(server, busy)
        broker = server.dial("BROKER")
        server.until(old.is_closed)
        assert works(server, broker)
        assert works(server, busy)
        assert server.server.quotas.total_count == 2


def test_a_lower_limit_closes_connections_one_a_turn() -> None:
    with Server(endpoints=["CLIENT", "BROKER"], inter_broker_listener_name="BROKER") as server:
        for _ in range(5):
            server.connect("CLIENT")
        server.server.reconfigure(SocketServerConfig(max_connections=2, inter_broker_listener_name="BROKER"))
        counts = []
        for _ in range(4):
            server.turn(wait=False)
            counts.append(len(server.channels))
        assert counts == [4, 3, 2, 2]


@pytest.mark.parametrize("listener_type", ListenerType)
def test_below_the_reserve_connections_wait(listener_type: ListenerType, caplog: pytest.LogCaptureFixture) -> None:
    """400 descriptors, 40 of them kept for files: clients stop before those, controllers half way down."""
    in_use = 400 - 45
    clock = ManualClock()
    open_files = OpenFiles(clock, lambda: 400, lambda: in_use)
    with Server(listener_type=listener_type, open_files=open_files, clock=clock) as server:
        kept = 20 if listener_type is ListenerType.CONTROLLER else 40
        for _ in range(45 - kept):
            server.connect()
            in_use += 1
        waiting = server.dial()
        waiting.request(5)
        for _ in range(20):
            server.quiet()
            clock.advance_ms(ERROR_BACKOFF_MS)
            server.fire_timers()
        server.quiet()
        assert len(server.channels) == 45 - kept
        assert len([line for line in caplog.messages if "have to wait" in line]) == 1
        assert f"{400 - kept} of 400 open files are in use" in caplog.text
        in_use -= 1
        clock.advance_ms(ERROR_BACKOFF_MS)
        server.fire_timers()
        assert server.response(waiting)[0] == 5


def test_brokers_go_before_clients() -> None:
    in_use = 400 - 40
    clock = ManualClock()
    open_files = OpenFiles(clock, lambda: 400, lambda: in_use)
    endpoints = ["CLIENT", "BROKER"]
    with Server(endpoints=endpoints, inter_broker_listener_name="BROKER", open_files=open_files, clock=clock) as server:
        client = server.dial("CLIENT")
        client.request(1)
        server.connect("BROKER")
        server.quiet()
        assert len(server.channels) == 1


def test_creation_rate_pauses_the_listener() -> None:
    """Beyond the rate the connection waits in the backlog for the throttle time, and is then served."""
    with Server(max_connection_creation_rate=1, socket_listen_backlog_size=100) as server:
        for _ in range(10):
            server.connect()
        waiting = server.dial()
        waiting.request(9)
        server.quiet()
        assert len(server.channels) == 10
        acceptor = server.server.acceptors["PLAINTEXT"]
        assert acceptor.resume_at_ms == server.clock.monotonic_ms() + 1000
        assert [delay for delay, _call in server.reactor.timers] == [1000]
        server.clock.advance_ms(999)
        server.reactor.timers[0][1]()
        server.quiet()
        assert len(server.channels) == 10
        server.clock.advance_ms(1)
        assert [delay for delay, _call in server.reactor.timers] == [1000, 1], "it was early, and is tried again"
        server.reactor.timers[1][1]()
        assert server.response(waiting)[0] == 9
        assert acceptor.blocked_ns > 0


def test_a_throttled_address_is_held_and_then_closed() -> None:
    """Seed 004: the socket is parked and closed after the delay; others of the listener are not held up."""
    with Server() as server:
        server.server.quotas.update_ip_connection_rate("127.0.0.1", 1)
        clients = [server.connect() for _ in range(10)]
        held = server.dial()
        acceptor = server.server.acceptors["PLAINTEXT"]
        server.until(lambda: acceptor.throttled_count == 1)
        assert not held.is_closed()
        server.clock.advance_ms(1001)
        for _delay, call in server.reactor.timers:
            call()
        server.turn(wait=False)
        assert held.is_closed()
        assert acceptor.throttled_count == 0
        assert works(server, clients[0])


def test_out_of_descriptors(caplog: pytest.LogCaptureFixture) -> None:
    """An error while accepting is logged and pauses the listener; the connection waits and is then served."""
    with Server() as server:
        acceptor = server.server.acceptors["PLAINTEXT"]

        class OutOfDescriptors:
            def accept(self) -> None:
                raise OSError(24, "Too many open files")

        sock = acceptor.socket
        acceptor.socket = OutOfDescriptors()  # type: ignore[assignment]
        waiting = server.dial()
        server.turn()
        server.quiet()
        assert caplog.text.count("Too many open files") == 1
        acceptor.socket = sock
        ((delay_ms, call),) = server.reactor.timers
        server.clock.advance_ms(delay_ms)
        call()
        assert works(server, waiting)


def test_throttled_sockets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor_module, "MAX_THROTTLED_SOCKETS", 3)
    with Server() as server:
        server.server.quotas.update_ip_connection_rate("127.0.0.1", 0)
        held = [server.dial() for _ in range(5)]
        acceptor = server.server.acceptors["PLAINTEXT"]
        server.until(lambda: server.server.quotas.listeners["PLAINTEXT"].ip_throttles == 5)
        assert acceptor.throttled_count == 3
        assert sum(client.is_closed() for client in held) == 2


def test_dynamic_reconfiguration() -> None:
    """Seed 004: max.connections*, the creation rate and num.network.threads change while serving."""
    with Server(max_connections=1) as server:
        server.connect()
        waiting = server.dial()
        server.quiet()
        assert len(server.channels) == 1
        config = SocketServerConfig(
            max_connections=3,
            max_connections_per_ip=2,
            max_connections_per_ip_overrides={"127.0.0.1": 2},
            num_network_threads=6,
            listeners={"PLAINTEXT": ListenerConfig(max_connection_creation_rate=7)},
        )
        server.server.reconfigure(config)
        assert server.reactor.wakeups > 0
        server.until(lambda: len(server.channels) == 2)
        assert works(server, waiting)
        third = server.dial()
        server.until(third.is_closed)
        assert server.server.quotas.listeners["PLAINTEXT"].rate.quota == 7
        assert [processor.id for processor in server.processors] == [0, 1, 2, 3, 4, 5]
        server.server.reconfigure(SocketServerConfig(num_network_threads=3))
        assert len(server.processors) == 3
        assert works(server, waiting), "a connection outlives its processor"
        with pytest.raises(InvalidConfigError):
            server.server.reconfigure(SocketServerConfig(num_network_threads=7, max_connections=1))
        assert server.server.quotas.max_connections != 1, "nothing was changed"
        with pytest.raises(InvalidConfigError):
            server.server.reconfigure(SocketServerConfig(listeners={"PLAINTEXT": ListenerConfig(max_connections=0)}))


def test_sockets_are_configured() -> None:
    with Server(socket_send_buffer_bytes=50_000, socket_receive_buffer_bytes=40_000) as server:
        server.connect()
        sock = server.channels[0].socket
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getblocking() is False
        kernel_doubles = (1, 2)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) in [50_000 * factor for factor in kernel_doubles]
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in [40_000 * factor for factor in kernel_doubles]


def test_socket_buffers_of_minus_one_are_the_systems() -> None:
    with Server(socket_send_buffer_bytes=-1, socket_receive_buffer_bytes=-1) as server:
        assert works(server, server.connect())


def test_a_port_that_is_taken_is_told_at_once() -> None:
    with Server() as server:
        listener = Listener(
            Endpoint("X", "127.0.0.1", server.port()), ListenerConfig(), is_privileged=False, max_idle_ms=1
        )
        with pytest.raises(OSError, match=f"failed to bind to 127.0.0.1:{server.port()}"):
            Acceptor(listener, SocketServerConfig(), ConnectionQuotas(), OpenFiles(ManualClock()))


def test_only_plaintext_is_served_yet() -> None:
    endpoint = Endpoint("X", "127.0.0.1", 0, SecurityProtocol.SSL)
    listener = Listener(endpoint, ListenerConfig(), is_privileged=False, max_idle_ms=1)
    with pytest.raises(InvalidConfigError, match="SSL"):
        Acceptor(listener, SocketServerConfig(), ConnectionQuotas(), OpenFiles(ManualClock()))


def test_no_host_listens_everywhere() -> None:
    listener = Listener(Endpoint("X", None, 0), ListenerConfig(), is_privileged=False, max_idle_ms=1)
    acceptor = Acceptor(listener, SocketServerConfig(), ConnectionQuotas(), OpenFiles(ManualClock()))
    try:
        with pytest.raises(ConnectionRefusedError):
            Client(acceptor.port)
        acceptor.start()
        Client(acceptor.port).close()
    finally:
        acceptor.close()


def test_v4_addresses_are_plain() -> None:
    assert plain_address(("::ffff:10.0.0.1", 5, 0, 0)) == ("10.0.0.1", 5)
    assert plain_address(("::1", 5, 0, 0)) == ("::1", 5)
