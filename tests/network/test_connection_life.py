"""Connections that come and go: graceful close, idle ones, dead ones, the kinds of response, throttling."""

import logging
import re
import socket
import struct

import pytest

from ottla.network.config import ListenerConfig
from ottla.network.mute_state import MuteState
from ottla.network.request import UNKNOWN_CLIENT, ClientInformation, Request
from tests.network.server_harness import Echo, Parking, Server, answer, answer_all, request_frame


class Silent(Echo):
    """Treats every request as a produce with acks=0."""

    def handle(self, request: Request) -> None:
        self.handled.append(request.header.correlation_id)
        request.no_op()


def test_graceful_close_with_outstanding_receives() -> None:
    """Seed 004, failure mode: acks=0 records of a connection that has been closed are not lost."""
    silent = Silent()
    with Server(silent) as server:
        client = server.connect()
        client.send(*[request_frame(index, b"x" * 2000) for index in range(50)])
        client.close()
        server.until(lambda: not server.channels)
        assert silent.handled == list(range(50))


def test_graceful_close_while_a_request_is_parked() -> None:
    """What a closed connection had sent behind a parked request is handled, in order, when that is over."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(*[request_frame(index) for index in range(3)])
        server.until(lambda: bool(parking.parked))
        client.close()
        server.quiet()
        seen = []
        for _ in range(3):
            (request,) = parking.parked
            seen.append(request.header.correlation_id)
            parking.parked.clear()
            request.no_op()
            server.turn(wait=False)
        assert seen == [0, 1, 2]
        server.until(lambda: not server.channels)


def test_a_hung_up_connection_with_a_parked_request_does_not_spin() -> None:
    """The kernel reports a broken connection whatever one is interested in: it must not be waited for."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # resets
        server.turn()
        server.turn(wait=False)
        assert server.channels[0].interest == 0
        assert server.readiness.poll() == []
        answer_all(parking)
        server.until(lambda: not server.channels)


def test_no_op_response_lets_the_next_request_in() -> None:
    """Seed 004: acks=0 gets no bytes, but the channel is unmuted for pipelined requests."""
    silent = Silent()
    with Server(silent) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: silent.handled == [1, 2])
        assert not client.has_input()
        assert len(server.finished.requests) == 2


def test_close_connection_response() -> None:
    """Seed 004: a failed acks=0 produce is answered by hanging up."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: bool(parking.parked))
        parking.parked[0].close_connection()
        server.until(client.is_closed)
        assert parking.correlation_ids == [1]
        assert len(server.finished.requests) == 1


def test_response_for_a_dead_connection() -> None:
    """Seed 004: the response is dropped, its metrics are counted, nothing is raised."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        server.server.selector.close(server.channels[0])
        server.turn(wait=False)
        (request,) = parking.parked
        request.start_throttling()
        answer(request)
        request.end_throttling()
        server.quiet()
        assert [finished.end_time_ns >= finished.start_time_ns for finished in server.finished.requests] == [True]


def test_a_response_that_breaks_off_counts_its_request() -> None:
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        answer(parking.parked[0], b"x" * 20_000_000)
        server.turn(wait=False)
        assert server.finished.requests == []
        client.close()
        server.until(lambda: not server.channels)
        assert len(server.finished.requests) == 1


def test_two_answers_are_a_bug() -> None:
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        answer(parking.parked[0])
        with pytest.raises(AssertionError, match="a second answer"):
            parking.parked[0].no_op()


def test_idle_connections_are_closed_least_recently_used_first() -> None:
    """Seed 004: connections.max.idle.ms, and an active connection stays."""
    with Server(connections_max_idle_ms=1000) as server:
        old, new = server.connect(), server.connect()
        server.clock.advance_ms(900)
        new.request(1)
        server.response(new)
        server.clock.advance_ms(600)
        server.turn(wait=False)
        assert old.is_closed()
        assert len(server.channels) == 1
        server.clock.advance_ms(1001)
        server.turn(wait=False)
        assert new.is_closed()
        assert server.server.quotas.total_count == 0


def test_a_negative_idle_time_keeps_connections() -> None:
    with Server(connections_max_idle_ms=-1) as server:
        server.connect()
        server.clock.advance_ms(10**9)
        server.turn(wait=False)
        assert len(server.channels) == 1


def test_an_idle_connection_with_a_request_under_way() -> None:
    """It is given up, but its request is carried out; the response has nowhere to go."""
    parking = Parking()
    with Server(parking, connections_max_idle_ms=1000) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: bool(parking.parked))
        server.clock.advance_ms(1400)
        server.turn(wait=False)
        (channel,) = server.channels
        assert channel.closing
        parking.parked.pop().no_op()
        server.until(lambda: parking.correlation_ids == [2])
        answer_all(parking)
        server.turn(wait=False)
        assert not server.channels
        assert len(server.finished.requests) == 2


def test_a_connection_that_was_given_up_takes_nothing_new() -> None:
    """What arrives after the idle time is not read; with its request over, without bytes, the connection is closed."""
    parking = Parking()
    with Server(parking, connections_max_idle_ms=1000) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        server.clock.advance_ms(1400)
        server.turn(wait=False)
        assert server.channels[0].interest == 0
        client.request(2)
        parking.parked.pop().no_op()
        server.turn(wait=False)
        assert not server.channels
        assert parking.parked == []


def test_throttling_mutes_beyond_the_response() -> None:
    """Seed 004: StartThrottling and EndThrottling drive the mute state machine."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: bool(parking.parked))
        request = parking.parked.pop()
        request.start_throttling()
        answer(request)
        assert server.response(client)[0] == 1, "the response itself goes out"
        (channel,) = server.channels
        server.quiet()
        assert channel.mute_state is MuteState.MUTED_AND_THROTTLED
        assert parking.parked == []
        request.end_throttling()
        server.until(lambda: parking.correlation_ids == [2])


def test_throttling_that_ends_before_the_response() -> None:
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: bool(parking.parked))
        request = parking.parked.pop()
        request.start_throttling()
        request.end_throttling()
        server.quiet()
        assert server.channels[0].mute_state is MuteState.MUTED_AND_RESPONSE_PENDING
        answer(request)
        server.until(lambda: parking.correlation_ids == [2])


def test_connection_id_uniqueness_during_overlap() -> None:
    """Seed 004, guarantee: ids are local:port-remote:port-processor-index, and the index goes on."""
    parking = Parking()
    with Server(parking, num_network_threads=2) as server:
        ids = []
        for _ in range(6):
            client = server.connect()
            client.request(1)
            server.until(lambda: bool(parking.parked))
            request = parking.parked.pop()
            ids.append(request.context.connection_id)
            address, port = client.socket.getsockname()
            assert re.fullmatch(rf"127\.0\.0\.1:{server.port()}-{address}:{port}-[01]-\d+", ids[-1])
            client.close()
            answer(request)
        assert len(set(ids)) == 6
        assert [connection_id.split("-")[2:] for connection_id in ids] == [
            ["0", "0"], ["1", "0"], ["0", "1"], ["1", "1"], ["0", "2"], ["1", "2"],
        ]  # fmt: skip
        server.until(lambda: not server.channels)
        assert server.disconnected == ids


def test_request_contexts() -> None:
    """Principal, listener, connection and client software, from the start."""
    parking = Parking()
    with Server(parking, endpoints=["CLIENTS", "BROKERS"], inter_broker_listener_name="BROKERS") as server:
        server.connect("CLIENTS").request(1)
        server.until(lambda: len(parking.parked) == 1)
        server.connect("BROKERS").request(2)
        server.until(lambda: len(parking.parked) == 2)
        first, second = parking.parked
        assert str(first.context.principal) == "User:ANONYMOUS"
        assert first.context.client_address == "127.0.0.1"
        assert (first.context.listener_name, second.context.listener_name) == ("CLIENTS", "BROKERS")
        assert (first.context.from_privileged_listener, second.context.from_privileged_listener) == (False, True)
        assert first.context.client_information == UNKNOWN_CLIENT
        assert first.header.client_id == "test"


def test_client_software_is_remembered() -> None:
    """KIP-511: what ApiVersions says goes into the contexts of all later requests, and is counted."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2))
        server.until(lambda: bool(parking.parked))
        kind = ClientInformation("librdkafka", "2.5.0")
        parking.parked[0].register_client_information(kind)
        answer(parking.parked.pop())
        server.until(lambda: bool(parking.parked))
        assert parking.parked[0].context.client_information == kind
        listener = server.server.acceptors["PLAINTEXT"].listener
        assert listener.clients == {kind: 1}
        name = "kafka_server_socket_server_metrics_connections_software"
        labels = {
            "listener": "PLAINTEXT",
            "clientSoftwareName": "librdkafka",
            "clientSoftwareVersion": "2.5.0",
            "plane": "broker",
        }
        assert server.registry.get(name, **labels) is not None
        client.close()
        answer_all(parking)
        server.until(lambda: not server.channels)
        assert listener.clients == {}
        assert server.registry.get(name, **labels) is None


def test_kinds_of_clients_are_bounded() -> None:
    with Server() as server:
        listener = server.server.acceptors["PLAINTEXT"].listener
        for index in range(150):
            listener.count_client(ClientInformation("x", str(index)), 1)
        assert len(listener.clients) == 100
        for index in range(150):
            listener.count_client(ClientInformation("x", str(index)), -1)
        assert listener.clients == {}


def test_timestamps_are_in_order() -> None:
    """Seed 004: T0 ≤ T1 ≤ T2 ≤ T3 ≤ T4 ≤ T5, for a request that is answered at once and for one that waits."""
    for handler in (Echo(), Parking()):
        with Server(handler) as server:
            client = server.connect()
            client.request(1)
            if isinstance(handler, Parking):
                server.until(lambda parking=handler: bool(parking.parked))  # type: ignore[misc]
                answer_all(handler)
            server.response(client)
            (request,) = server.finished.requests
            times = [
                request.start_time_ns,
                request.request_dequeue_time_ns,
                request.api_local_complete_time_ns,
                request.response_complete_time_ns,
                request.response_dequeue_time_ns,
                request.end_time_ns,
            ]
            assert min(times) > 0
            assert times == sorted(times)


def test_network_thread_time_is_told_to_the_quota() -> None:
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        told: list[int] = []
        parking.parked[0].record_network_thread_time = told.append
        answer_all(parking)
        server.response(client)
        assert len(told) == 1
        assert told[0] > 0


@pytest.mark.uncompiled
def test_slow_handlers_are_counted(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """They are no warning: an operator can do nothing about a turn that a busy machine made long."""
    with Server() as server, caplog.at_level(logging.DEBUG, "ottla.network.plane"):
        client = server.connect()
        monkeypatch.setattr("ottla.network.plane.SLOW_CALLBACK_NS", 0)
        for index in range(3):
            client.request(index)
            server.until(lambda done=index + 1: len(server.finished.requests) == done)  # type: ignore[misc]
        assert server.server.metrics.slow_handlers == 3
        assert server.server.metrics.slow_turns >= 1
        assert "ms of it in the handler of Request(" in caplog.text
        told = [record for record in caplog.records if record.message.startswith("A turn of the broker plane took")]
        assert len(told) == server.server.metrics.slow_turns
        assert {record.levelno for record in told} == {logging.DEBUG}


@pytest.mark.uncompiled
def test_a_turn_that_stalls_everybody_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the handler, and comes once a minute at most."""
    with Server() as server, caplog.at_level(logging.WARNING):
        client = server.connect()
        monkeypatch.setattr("ottla.network.plane.SLOW_CALLBACK_NS", 0)
        monkeypatch.setattr("ottla.network.plane.STALLED_CALLBACK_NS", 0)
        for index in range(3):
            client.request(index)
            server.until(lambda done=index + 1: len(server.finished.requests) == done)  # type: ignore[misc]
        assert server.server.metrics.slow_turns > 1
        assert caplog.text.count("A turn of the broker plane took") == 1


def test_listeners_come_and_go() -> None:
    with Server(endpoints=["A", "B"], listeners={"B": ListenerConfig(max_connections=5)}) as server:
        a, b = server.connect("A"), server.connect("B")
        server.server.remove_listeners(["B"])
        server.turn(wait=False)
        assert b.is_closed()
        assert list(server.server.quotas.listeners) == ["A"]
        assert server.server.quotas.total_count == 1
        a.request(1)
        assert server.response(a)[0] == 1
