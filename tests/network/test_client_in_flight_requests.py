"""Requests in flight: the bound, the order, the deadlines; and which node has the fewest."""

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.network.client_errors import CorrelationIdMismatchError, NetworkError
from ottla.network.in_flight_requests import InFlightRequest, InFlightRequests
from ottla.network.least_loaded_node import NodeLoad, least_loaded_node
from ottla.network.node import Node
from ottla.protocol.api_keys import ApiKey


def add(requests: InFlightRequests[str], waiter: str = "", deadline_ms: int = 100) -> int:
    correlation_id = requests.next_correlation_id()
    requests.add(InFlightRequest(ApiKey.METADATA, 9, correlation_id, deadline_ms, waiter))
    return correlation_id


def test_the_bound() -> None:
    requests: InFlightRequests[str] = InFlightRequests(2)
    first = add(requests)
    assert requests.can_send_more
    add(requests)
    assert not requests.can_send_more
    requests.complete_next(first)
    assert requests.can_send_more


def test_an_answer_out_of_order_is_refused_and_nothing_is_lost() -> None:
    requests: InFlightRequests[str] = InFlightRequests(5)
    add(requests, "a")
    second = add(requests, "b")
    with pytest.raises(CorrelationIdMismatchError, match=r"response \(1\) does not match request \(0\), Metadata"):
        requests.complete_next(second)
    assert [request.waiter for request in requests.clear_all()] == ["a", "b"]
    assert issubclass(CorrelationIdMismatchError, NetworkError)


def test_an_answer_to_nothing_is_refused() -> None:
    with pytest.raises(CorrelationIdMismatchError, match="to no request"):
        InFlightRequests[str](5).complete_next(0)


def test_correlation_ids_start_again_before_they_turn_negative() -> None:
    requests: InFlightRequests[str] = InFlightRequests(5)
    requests._next_correlation_id = 2**31 - 1
    assert [requests.next_correlation_id() for _ in range(3)] == [2**31 - 1, 0, 1]


def test_the_most_impatient_request_decides_and_throttling_gives_all_of_them_time() -> None:
    requests: InFlightRequests[str] = InFlightRequests(5)
    assert requests.next_deadline_ms() is None
    assert not requests.has_expired(10**9)
    add(requests, deadline_ms=300)
    add(requests, deadline_ms=200)
    assert requests.next_deadline_ms() == 200
    assert not requests.has_expired(200)
    assert requests.has_expired(201)
    requests.increment_throttle_time(1_000)
    assert not requests.has_expired(1_200)
    assert requests.has_expired(1_201)


@given(st.lists(st.one_of(st.none(), st.integers(0, 50)), max_size=80), st.integers(1, 6))
def test_answers_in_order_find_their_requests(steps: list[int | None], bound: int) -> None:
    """None answers the oldest, a number sends with that deadline: a queue, whatever the course."""
    requests: InFlightRequests[str] = InFlightRequests(bound)
    model: deque[tuple[int, int]] = deque()
    for step in steps:
        if step is None:
            if model:
                correlation_id, deadline_ms = model.popleft()
                assert requests.complete_next(correlation_id).deadline_ms == deadline_ms
        elif requests.can_send_more:
            model.append((add(requests, deadline_ms=step), step))
        assert len(requests) == len(model) <= bound
        assert requests.next_deadline_ms() == min((deadline_ms for _, deadline_ms in model), default=None)


N1, N2, N3 = (Node(n, "host", 9092) for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ([], None),
        ([NodeLoad(N1), NodeLoad(N2)], None),
        ([NodeLoad(N1, 3, can_send=True), NodeLoad(N2, 1, can_send=True), NodeLoad(N3, 2, can_send=True)], N2),
        ([NodeLoad(N1, 4, can_send=True), NodeLoad(N2, is_preparing=True), NodeLoad(N3, can_connect=True)], N1),
        ([NodeLoad(N1), NodeLoad(N2, is_preparing=True), NodeLoad(N3, can_connect=True)], N2),
        ([NodeLoad(N1, can_connect=True, last_connect_attempt_ms=5), NodeLoad(N2, can_connect=True)], N2),
    ],
)
def test_least_loaded_node(loads: list[NodeLoad], expected: Node | None) -> None:
    assert {least_loaded_node(loads, Random(seed)) for seed in range(20)} == {expected}


def test_equal_nodes_share_the_load() -> None:
    loads = [NodeLoad(node, can_send=True) for node in (N1, N2, N3)]
    assert {least_loaded_node(loads, Random(seed)) for seed in range(50)} == {N1, N2, N3}
