"""Timers of a shard: one a key, later deadlines for free, nothing forgotten."""

from collections.abc import Callable
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers

KEYS = st.sampled_from("abcde")
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), KEYS, st.integers(0, 50)),
        st.tuples(st.just("if absent"), KEYS, st.integers(0, 50)),
        st.tuples(st.just("cancel"), KEYS, st.just(0)),
        st.tuples(st.just("advance"), st.just(""), st.integers(0, 30)),
    ),
    max_size=60,
)


def numbered(number: int) -> Callable[[int], CoordinatorResult[None]]:
    def operation(_now_ms: int) -> CoordinatorResult[None]:
        return CoordinatorResult((), None)

    operation.__name__ = str(number)
    return operation


@given(ACTIONS)
def test_timers_behave_like_a_plain_table(actions: list[tuple[str, str, int]]) -> None:
    told: list[int] = []
    now_ms = 100
    timers = Timers(lambda: now_ms, told.append)
    table: dict[str, tuple[int, int]] = {}
    for number, (action, key, value) in enumerate(actions):
        if action == "schedule" or (action == "if absent" and key not in table):
            table[key] = (now_ms + value, number)
        if action == "schedule":
            timers.schedule(key, value, numbered(number))
        elif action == "if absent":
            timers.schedule_if_absent(key, value, numbered(number))
        elif action == "cancel":
            timers.cancel(key)
            table.pop(key, None)
        else:
            now_ms += value
            due: dict[str, str] = {}
            order: list[int] = []
            while (timer := timers.pop_due(now_ms)) is not None:
                due[timer[0]] = timer[1].__name__
                order.append(table[timer[0]][0])
            assert order == sorted(order)
            assert due == {key: str(number) for key, (deadline_ms, number) in table.items() if deadline_ms <= now_ms}
            table = {key: one for key, one in table.items() if one[0] > now_ms}
        assert len(timers) == len(table)
        assert all(timers.is_scheduled(key) for key in table)
        if table:  # somebody who wakes up when told is never late
            assert timers.next_deadline_ms is not None
            assert timers.next_deadline_ms <= min(deadline_ms for deadline_ms, _ in table.values())


def test_extending_a_session_does_not_grow_the_heap() -> None:
    clock = count()
    timers = Timers(lambda: next(clock))
    for _ in range(100_000):
        timers.schedule("session", 45_000, lambda _now_ms: NOTHING)
    assert len(timers._heap) == 1


def test_timers_that_come_and_go_do_not_grow_the_heap_without_bound() -> None:
    timers = Timers(lambda: 0)
    for number in range(100_000):
        timers.schedule(str(number), 1_000_000, lambda _now_ms: NOTHING)
        timers.cancel(str(number))
    assert len(timers._heap) < 2_000
