"""The connection state machine: transitions, back-off, setup timeouts, addresses in turn."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.network.client_config import NetworkClientConfig
from ottla.network.connection_states import Address, ConnectionState, NodeConnectionState
from ottla.network.exponential_backoff import ExponentialBackoff

A, B, C = (Address(2, (f"10.0.0.{n}", 9092)) for n in (1, 2, 3))
CONFIG = NetworkClientConfig(
    reconnect_backoff_ms=100,
    reconnect_backoff_max_ms=1_000,
    socket_connection_setup_timeout_ms=1_000,
    socket_connection_setup_timeout_max_ms=8_000,
)


class Middle(Random):
    """No jitter: always the middle of the range."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def new_state(config: NetworkClientConfig = CONFIG) -> NodeConnectionState:
    return NodeConnectionState(config, Middle())


@pytest.mark.parametrize(
    ("initial_ms", "max_ms", "expected_ms"),
    [
        (50, 1_000, [50, 100, 200, 400, 800, 1_000, 1_000]),
        (100, 800, [100, 200, 400, 800, 800]),
        (50, 50, [50, 50, 50]),
        (50, 20, [20, 20]),
        (0, 1_000, [0, 0, 0]),
    ],
)
def test_backoff_doubles_up_to_its_bound(initial_ms: int, max_ms: int, expected_ms: list[int]) -> None:
    backoff = ExponentialBackoff(initial_ms, max_ms)
    assert [backoff.backoff_ms(n, Middle()) for n in range(len(expected_ms))] == expected_ms


@given(st.integers(0, 10_000), st.integers(0, 100_000), st.integers(0, 10_000), st.integers(0, 2**32))
def test_backoff_keeps_to_its_jitter_and_bound(initial_ms: int, max_ms: int, attempts: int, seed: int) -> None:
    found_ms = ExponentialBackoff(initial_ms, max_ms).backoff_ms(attempts, Random(seed))
    middle_ms = min(initial_ms << min(attempts, 64), max_ms)
    assert int(middle_ms * 0.8) <= found_ms <= min(middle_ms * 1.2 + 1, max_ms)


def test_jitter_spreads_clients() -> None:
    backoff = ExponentialBackoff(1_000, 100_000)
    assert len({backoff.backoff_ms(3, Random(seed)) for seed in range(20)}) > 10


def test_the_happy_path() -> None:
    state = new_state()
    assert state.can_connect(0)
    assert not state.is_blacked_out(0)
    assert state.connecting(0) is None
    assert state.resolved([A]) == A
    assert state.is_preparing
    assert not state.can_connect(10_000)
    state.checking_api_versions()
    assert state.is_preparing
    state.ready()
    assert state.state is ConnectionState.READY
    assert not state.is_preparing
    assert not state.is_disconnected


def test_reconnect_backoff_grows_with_each_failure_and_is_reset_by_ready() -> None:
    state = new_state()
    waited_ms = []
    now_ms = 0
    for _ in range(6):
        state.connecting(now_ms) or state.resolved([A])
        state.disconnected(now_ms)
        assert state.is_blacked_out(now_ms)
        waited_ms.append(state.reconnect_delay_ms(now_ms))
        now_ms += waited_ms[-1]
        assert not state.is_blacked_out(now_ms)
        assert state.can_connect(now_ms)
    assert waited_ms == [100, 200, 400, 800, 1_000, 1_000]
    state.connecting(now_ms) or state.resolved([A])
    state.ready()
    state.disconnected(now_ms)
    assert state.reconnect_delay_ms(now_ms) == 100


def test_setup_timeout_grows_only_with_attempts_that_never_connected() -> None:
    state = new_state()
    timeouts_ms = []
    for _ in range(5):
        timeouts_ms.append(state.connection_setup_timeout_ms)
        state.connecting(0) or state.resolved([A])
        state.disconnected(0)
    assert timeouts_ms == [1_000, 2_000, 4_000, 8_000, 8_000]
    state.connecting(0) or state.resolved([A])
    state.checking_api_versions()
    state.disconnected(0)
    assert state.connection_setup_timeout_ms == 1_000


def test_a_refused_authentication_counts_twice_and_can_be_tried_again() -> None:
    state = new_state()
    state.connecting(0) or state.resolved([A])
    state.authentication_failed(0)
    assert state.state is ConnectionState.AUTHENTICATION_FAILED
    assert state.is_disconnected
    assert state.reconnect_delay_ms(0) == 200
    state.connecting(200)


def test_addresses_are_tried_in_turn_and_then_looked_up_again() -> None:
    state = new_state()
    tried = []
    lookups = [[A, B, C], [C, A]]
    for _ in range(4):
        tried.append(state.connecting(0) or state.resolved(lookups.pop(0)))
        state.disconnected(0)
    # C was tried last, so the second lookup does not begin with it.
    assert tried == [A, B, C, A]
    assert not lookups


def test_has_untried_address() -> None:
    state = new_state()
    assert not state.has_untried_address
    state.connecting(0)
    state.resolved([A, B])
    assert state.has_untried_address
    state.disconnected(0)
    assert state.connecting(0) == B
    assert not state.has_untried_address


def test_a_lost_connection_is_looked_up_again_and_not_at_the_same_address() -> None:
    state = new_state()
    state.connecting(0)
    state.resolved([A, B])
    state.checking_api_versions()
    state.ready()
    state.disconnected(0)
    assert state.connecting(0) is None
    assert state.resolved([A, B]) == B


def test_a_single_address_is_tried_for_ever() -> None:
    state = new_state()
    for _ in range(3):
        assert (state.connecting(0) or state.resolved([A])) == A
        state.disconnected(0)


def test_throttle_never_ends_earlier() -> None:
    state = new_state()
    state.throttle(500)
    state.throttle(300)
    assert state.throttled_until_ms == 500


EVENTS = ("connecting", "checking_api_versions", "ready", "disconnected", "authentication_failed")
LEGAL = {
    ConnectionState.DISCONNECTED: {"connecting"},
    ConnectionState.CONNECTING: {"checking_api_versions", "ready", "disconnected", "authentication_failed"},
    ConnectionState.CHECKING_API_VERSIONS: {"ready", "disconnected", "authentication_failed"},
    ConnectionState.READY: {"disconnected", "authentication_failed"},
    ConnectionState.AUTHENTICATION_FAILED: {"connecting"},
}


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 3_000)), max_size=40), st.integers(0, 2**32))
def test_any_course_of_events(events: list[tuple[str, int]], seed: int) -> None:
    """Illegal transitions are refused; whatever happens, the back-off and the timeout keep to their bounds."""
    state = NodeConnectionState(CONFIG, Random(seed))
    now_ms = 0
    for event, passed_ms in events:
        now_ms += passed_ms
        before = state.state
        arguments = () if event in ("checking_api_versions", "ready") else (now_ms,)
        if event not in LEGAL[before]:
            with pytest.raises(AssertionError):
                getattr(state, event)(*arguments)
            assert state.state is before
            return
        result = getattr(state, event)(*arguments)
        if event == "connecting" and result is None:
            state.resolved([A, B])
        assert 80 <= state.reconnect_backoff_ms <= 1_000
        assert 800 <= state.connection_setup_timeout_ms <= 8_000
        assert 0 <= state.reconnect_delay_ms(now_ms) <= 1_000
        assert state.can_connect(now_ms) + state.is_blacked_out(now_ms) == state.is_disconnected
