"""Every bound of the network is filled, pushes back, and recovers."""

import select
import struct
from contextlib import suppress

import pytest

from ottla.network import plane, send
from ottla.network.mute_state import MuteState
from ottla.network.selector import RECEIVE_BUFFER_BYTES
from tests.network.server_harness import Echo, Parking, Server, answer, answer_all, is_ready, request_frame


@pytest.mark.uncompiled
def test_bounded_request_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 004: a full request channel stops reading; it goes on when handlers have caught up."""
    monkeypatch.setattr(plane, "SLICE_NS", 0)  # a turn handles one request: handlers fall behind
    with Server(queued_max_requests=4) as server:
        clients = [server.connect() for _ in range(12)]
        for index, client in enumerate(clients):
            client.request(index)
        queue = server.server.request_channel.requests
        longest = 0
        while len(server.finished.requests) < 12:
            server.turn(wait=False)
            longest = max(longest, len(queue))
            unread = sum(channel.mute_state is MuteState.NOT_MUTED for channel in server.channels)
            assert unread >= 12 - 4 - len(server.finished.requests)
        assert longest == 3  # four were read, and one of them handled in the same turn
        assert sorted(server.response(client)[0] for client in clients) == list(range(12))


def test_requests_that_wait_for_an_answer_do_not_fill_the_request_channel() -> None:
    """A fetch that waits for data holds up nobody."""
    parking = Parking()
    with Server(parking, queued_max_requests=2) as server:
        clients = [server.connect() for _ in range(8)]
        for index, client in enumerate(clients):
            client.request(index)
        server.until(lambda: len(parking.parked) == 8)


def memory_server(parking: Parking, size: int = 1000) -> Server:
    return Server(parking, queued_max_request_bytes=size)


def test_memory_pressure_mutes_and_recovers() -> None:
    """Seed 004: reads beyond the pool mute their channels; they are unmuted once memory is free."""
    parking = Parking()
    with memory_server(parking) as server:
        clients = [server.connect() for _ in range(6)]
        for index, client in enumerate(clients):
            client.request(index, b"x" * 386)  # 400 bytes each: the third goes beyond the pool, the fourth must wait
            server.quiet()
        assert len(parking.parked) == 3
        pool = server.server.memory_pool
        assert pool.available_bytes == 1000 - 3 * 400
        waiting = [channel for channel in server.channels if channel.mute_state is MuteState.MUTED]
        assert len(waiting) == 3
        assert all(channel.frames.buffered_bytes == 4 for channel in waiting), "only their sizes have been read"
        while parking.parked:
            answer_all(parking)
            server.quiet()
        assert sorted(server.response(client)[0] for client in clients) == list(range(6))
        assert pool.available_bytes == 1000
        assert pool.depleted_time_ns > 0


def test_memory_comes_back_when_a_request_lets_go_of_its_body_early() -> None:
    parking = Parking()
    with memory_server(parking, 100) as server:
        first, second = server.connect(), server.connect()
        first.request(1, b"x" * 200)
        server.until(lambda: parking.correlation_ids == [1])
        second.request(2)
        server.quiet()
        assert parking.correlation_ids == [1]
        parking.parked[0].release_buffer()
        assert server.reactor.wakeups > 0, "nobody else will call for a turn"
        server.until(lambda: parking.correlation_ids == [1, 2])
        answer_all(parking)
        assert server.response(first)[0] == 1


def test_memory_that_is_freed_within_a_turn_is_not_forgotten() -> None:
    """A waiting channel that nobody will tell about is served by the next turn, not by the next tick."""
    with Server(queued_max_request_bytes=50) as server:
        clients = [server.connect() for _ in range(6)]
        for index, client in enumerate(clients):
            client.request(index, b"x" * 100)
        server.until(lambda: len(server.finished.requests) == 6)  # fails if it waits for nothing


@pytest.mark.uncompiled
def test_many_answers_at_once_are_written_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A high watermark that completes a thousand fetches must not hold the reactor."""
    parking = Parking()
    with Server(parking) as server:
        clients = [server.connect() for _ in range(10)]
        for client in clients:
            client.request(1)
        server.until(lambda: len(parking.parked) == 10)
        monkeypatch.setattr(plane, "SLICE_NS", 0)
        answer_all(parking)
        left = []
        while server.turn(wait=False):
            left.append(len(server.server.request_channel.responses))
        assert left == list(range(9, 0, -1))
        assert all(server.response(client)[0] == 1 for client in clients)


def test_writers_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short a turn, every connection that takes bytes gets some, and readers get a turn, too."""
    echo = Echo()
    with Server(echo) as server:
        readers = [server.connect() for _ in range(4)]
        size = 8_000_000
        for index, client in enumerate(readers):
            client.request(index, b"")
        server.until(lambda: len(server.finished.requests) == 4)
        for client in readers:
            server.response(client)
            client.socket.setblocking(False)
        for channel in server.channels:
            server.server.selector.begin_send(channel, send.Send([bytes(size)], [], ends_request=False))
        monkeypatch.setattr(plane, "SLICE_NS", 0)
        other = server.connect()
        other.request(9)
        received = [0] * 4
        for _ in range(400):
            for index, client in enumerate(readers):
                with suppress(BlockingIOError):
                    received[index] += len(client.socket.recv(1 << 20))
            server.turn(wait=False)
            if echo.handled.count(9) and min(received) == size:
                break
        assert received == [size] * 4
        assert echo.handled.count(9) == 1


def test_memory_of_a_half_received_frame_comes_back_when_its_connection_closes() -> None:
    with memory_server(Parking()) as server:
        client = server.connect()
        client.send(request_frame(1, b"x" * 500)[:300])
        server.quiet()
        assert server.server.memory_pool.used_bytes == 514
        client.close()
        server.until(lambda: not server.channels)
        assert server.server.memory_pool.used_bytes == 0


def test_memory_of_a_refused_request_comes_back() -> None:
    with memory_server(Parking()) as server:
        client = server.connect()
        client.send(request_frame(1, b"x" * 500, api_key=999))
        server.until(lambda: not server.channels)
        assert server.server.memory_pool.used_bytes == 0


def test_memory_of_a_request_whose_connection_has_gone_comes_back() -> None:
    parking = Parking()
    with memory_server(parking) as server:
        client = server.connect()
        client.request(1, b"x" * 500)
        server.until(lambda: bool(parking.parked))
        server.server.selector.close(server.channels[0])
        assert server.server.memory_pool.used_bytes == 514
        answer_all(parking)
        server.turn(wait=False)
        assert server.server.memory_pool.used_bytes == 0


def test_fairness_after_memory_pressure() -> None:
    """Seed 004: channels that wait for memory get it in a random order, so that none starves."""
    parking = Parking()
    with memory_server(parking, 100) as server:
        clients = [server.connect() for _ in range(8)]
        for index, client in enumerate(clients):
            client.send(*[request_frame(index, b"x" * 100) for _ in range(60)])
        served: list[int] = []
        for _ in range(160):
            server.until(lambda: bool(parking.parked))
            assert len(parking.parked) == 1, "the pool has room for one request"
            served += parking.correlation_ids
            answer_all(parking)
        counts = [served.count(index) for index in range(8)]
        assert min(counts) >= 8, counts
        assert served[:8] != served[8:16], "the order is not always the same"


def test_output_to_a_reader_that_does_not_read() -> None:
    """A response that is not taken stops the connection's requests; what is held is one response and the corked."""
    echo = Echo()
    with Server(echo) as server:
        client = server.connect()
        client.socket.setblocking(False)
        size = 200_000
        data = memoryview(b"".join(request_frame(index, b"x" * size) for index in range(200)))
        sent = 0
        while sent < len(data):
            with suppress(BlockingIOError):
                sent += client.socket.send(data[sent : sent + size])
                continue
            server.quiet()
            if not is_ready(0.02, client.socket, event=select.POLLOUT):
                break
        assert sent < len(data), "TCP pushed back on the sender"
        (channel,) = server.channels
        assert channel.send is not None
        assert channel.send.remaining_bytes <= size + 8 + plane.CORK_BYTES
        assert channel.frames.buffered_bytes <= RECEIVE_BUFFER_BYTES + size
        handled = len(echo.handled)
        other = server.connect()
        other.request(1)
        assert server.response(other) == (1, b""), "other clients are undisturbed"
        for index in range(sent // (size + 18)):  # and then it reads
            correlation_id, body = server.response(client)
            assert (correlation_id, len(body)) == (index, size)
        assert len(echo.handled) > handled + 1


def test_half_frames_held_open() -> None:
    """A thousand clients that send half a frame cost what they sent, and nobody else anything."""
    with Server() as server:
        halves = [server.connect() for _ in range(30)]
        for client in halves:
            client.send(struct.pack(">i", 50 * 1024 * 1024) + b"x" * 1000)
        server.quiet()
        held = [len(channel.frames._buffer) for channel in server.channels]
        assert max(held) <= 1004 + 64 * 1024, "memory follows what has arrived, not what was announced"
        healthy = server.connect()
        healthy.request(1)
        assert server.response(healthy)[0] == 1


def test_a_large_frame_grows_with_what_arrives() -> None:
    with Server() as server:
        client = server.connect()
        payload = bytes(range(256)) * 12_000  # 3 MB
        client.socket.setblocking(False)
        data = request_frame(5, payload)
        sent = 0
        largest_excess = 0
        while sent < len(data):
            with suppress(BlockingIOError):
                sent += client.socket.send(data[sent : sent + 100_000])
            server.turn(wait=False)
            for channel in server.channels:
                allocated = len(channel.frames._buffer)
                largest_excess = max(largest_excess, allocated - 2 * max(sent, 64 * 1024))
        assert largest_excess <= 0
        client.socket.setblocking(True)
        assert server.response(client) == (5, payload)


def test_requests_behind_a_large_frame_follow() -> None:
    with Server() as server:
        client = server.connect()
        client.socket.setblocking(False)
        data = request_frame(1, b"a" * 300_000) + request_frame(2, b"b") + request_frame(3, b"c" * 70_000)
        while data:
            try:
                data = data[client.socket.send(data) :]
            except BlockingIOError:
                server.turn(wait=False)
        assert server.response(client) == (1, b"a" * 300_000)
        assert server.response(client) == (2, b"b")
        assert server.response(client) == (3, b"c" * 70_000)


def test_the_body_is_writable_and_stable() -> None:
    """A produce is patched in place; its bytes are the request's own, whatever the connection receives next."""
    parking = Parking()
    with Server(parking) as server:
        first, second = server.connect(), server.connect()
        first.send(request_frame(1, b"aaaa"), request_frame(2, b"bbbb"))
        server.until(lambda: len(parking.parked) == 1)
        second.request(3, b"cccc")
        server.until(lambda: len(parking.parked) == 2)
        request = parking.parked[0]
        assert bytes(request.body) == b"aaaa"
        request.body[0:1] = b"A"
        assert bytes(request.body) == b"Aaaa"
        answer(request)
        assert server.response(first) == (1, b"Aaaa")
