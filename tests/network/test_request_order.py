"""One request in flight a connection, in order; one frame a channel a poll; mute and unmute."""

from time import perf_counter_ns

import pytest

from ottla.network.mute_state import MuteState
from ottla.network.plane import FOLLOW_UP_NS, SLICE_NS
from ottla.network.readiness import READ, SelectorReadiness
from ottla.network.request import Request
from tests.network.server_harness import (
    CountingReadiness,
    Echo,
    Parking,
    Server,
    answer,
    answer_all,
    request_frame,
    response_frame,
)


def test_a_request_is_answered() -> None:
    with Server() as server:
        client = server.connect()
        client.request(7, b"payload")
        assert server.response(client) == (7, b"payload")


def test_the_standard_librarys_selectors_serve_too() -> None:
    with Server(readiness=SelectorReadiness()) as server:
        clients = [server.connect() for _ in range(3)]
        for index, client in enumerate(clients):
            client.request(index, b"x" * 100_000)
        for index, client in enumerate(clients):
            assert server.response(client) == (index, b"x" * 100_000)
        clients[0].close()
        server.until(lambda: len(server.channels) == 2)


def test_per_connection_ordering() -> None:
    """Seed 004, invariant: requests of one connection are processed in the order in which they were sent."""
    with Server() as server:
        client = server.connect()
        client.send(*[request_frame(index, bytes([index])) for index in range(100)])
        assert [server.response(client) for _ in range(100)] == [(index, bytes([index])) for index in range(100)]
        assert isinstance(server.handler, Echo)
        assert server.handler.handled == list(range(100))


def test_one_request_in_flight() -> None:
    """Seed 004, muting: the next request is not taken before the response to the one before has been given."""
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.send(*[request_frame(index) for index in range(3)])
        server.until(lambda: bool(parking.parked))
        server.quiet()
        assert parking.correlation_ids == [0]
        for index in range(3):
            (request,) = parking.parked
            assert request.header.correlation_id == index
            answer_all(parking)
            assert server.response(client)[0] == index
            server.quiet()
        assert parking.parked == []


def test_in_order_answers_though_a_later_connection_is_answered_first() -> None:
    parking = Parking()
    with Server(parking) as server:
        slow, fast = server.connect(), server.connect()
        slow.request(1)
        fast.request(2)
        server.until(lambda: len(parking.parked) == 2)
        answer(next(request for request in parking.parked if request.header.correlation_id == 2))
        assert server.response(fast)[0] == 2
        assert not slow.has_input()
        answer(next(request for request in parking.parked if request.header.correlation_id == 1))
        assert server.response(slow)[0] == 1


def test_at_most_one_completed_receive_a_channel_a_poll() -> None:
    """Seed 004, invariant: a poll takes one frame of a channel, however many have arrived."""
    with Server() as server:
        clients = [server.connect() for _ in range(4)]
        for client in clients:
            client.send(*[request_frame(index) for index in range(5)])
        taken: list[list[int]] = []
        selector = server.server.selector
        requests = server.server.request_channel.requests
        for _ in range(5):
            selector.poll(100, 1 << 62, 0)
            taken.append([request.header.correlation_id for request in requests])
            server.server.plane._handle_requests(1 << 62)
        assert taken == [[index] * 4 for index in range(5)]


def test_a_synchronous_request_changes_no_interest() -> None:
    """Muting is lazy: a request that is answered within its turn costs no call to epoll_ctl."""
    readiness = CountingReadiness()
    with Server(readiness=readiness) as server:
        client = server.connect()
        before = readiness.changes
        for index in range(10):
            client.request(index)
            server.response(client)
        assert readiness.changes == before


def test_a_muted_channel_that_becomes_readable_is_not_waited_for() -> None:
    parking = Parking()
    with Server(parking) as server:
        client = server.connect()
        client.request(1)
        server.until(lambda: bool(parking.parked))
        (channel,) = server.channels
        assert channel.interest == READ  # lazily
        client.request(2)
        server.quiet()
        assert channel.interest == 0
        assert channel.mute_state is MuteState.MUTED_AND_RESPONSE_PENDING
        answer_all(parking)
        server.until(lambda: parking.correlation_ids == [2])
        assert channel.interest == READ


def test_small_responses_of_a_pipeline_leave_together() -> None:
    with Server() as server:
        client = server.connect()
        (channel,) = server.channels
        sends: list[int] = []
        original = channel.send_bytes

        def spy(data: bytes) -> int:
            sends.append(len(data))
            return original(data)

        channel.send_bytes = spy  # type: ignore[assignment]
        for _ in range(100):  # again if others had the processor: a turn that is over sends what it has
            sends.clear()
            server.finished.requests.clear()
            client.send(*[request_frame(index) for index in range(5)])
            start_ns = perf_counter_ns()
            server.until(lambda: len(server.finished.requests) == 5)
            took_ns = perf_counter_ns() - start_ns
            assert [server.response(client)[0] for _ in range(5)] == list(range(5))
            if took_ns < SLICE_NS:
                break
        assert sends == [5 * len(response_frame(0))]


@pytest.mark.parametrize("late", [False, True])
def test_a_parked_request_behind_corked_responses(late: bool) -> None:
    """Responses that wait for company do not wait for a request that is answered later."""

    class EveryThirdLater(Parking):
        def handle(self, request: Request) -> None:
            if request.header.correlation_id == 2 and late:
                self.parked.append(request)
            else:
                answer(request)

    parking = EveryThirdLater()
    with Server(parking) as server:
        client = server.connect()
        client.send(*[request_frame(index) for index in range(4)])
        assert [server.response(client)[0] for _ in range(2)] == [0, 1]
        if late:
            server.until(lambda: bool(parking.parked))
            answer_all(parking)
        assert [server.response(client)[0] for _ in range(2)] == [2, 3]


def test_a_turn_that_is_over_waits_for_a_follow_up_in_the_next() -> None:
    """Without that, a client that sends one request after the other meets a sleeping broker once a slice."""
    with Server() as server:
        client = server.connect()
        client.request(1)
        assert server.response(client)[0] == 1
        server.quiet()
        plane = server.server.plane
        plane._gap_ns = 0  # the last request came at once, and was answered so late that no turn sees the wait's end
        plane._last_handled_ns = perf_counter_ns() + 10**12
        assert server.turn(wait=False), "more may come"
        client.request(2)
        assert server.response(client)[0] == 2
        plane._gap_ns = 0
        plane._last_handled_ns = perf_counter_ns() - FOLLOW_UP_NS
        assert not server.turn(wait=False), "nobody came in time"
