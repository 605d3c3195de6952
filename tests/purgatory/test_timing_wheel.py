"""Hierarchical timing wheels: where tasks land, when they run, and a model to compare with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.purgatory import Timer
from ottla.purgatory.timing_wheel import BucketQueue, TaskCount, TimingWheel
from tests.purgatory.purgatory_story import ManualClock, Note


def _wheel(start_ms: int = 0) -> tuple[TimingWheel, BucketQueue]:
    queue: BucketQueue = []
    return TimingWheel(1, 20, start_ms, TaskCount(), queue), queue


def _task(expiration_ms: int) -> Note:
    task = Note(0, str(expiration_ms), [])
    task.expiration_ms = expiration_ms
    return task


def test_a_task_that_is_due_is_not_taken() -> None:
    wheel, queue = _wheel(100)
    assert not wheel.add(_task(100))
    assert wheel.add(_task(101))
    assert len(queue) == 1


def test_tasks_of_one_tick_share_a_bucket_that_is_queued_once() -> None:
    wheel, queue = _wheel()
    for _ in range(5):
        assert wheel.add(_task(7))
    assert len(queue) == 1
    assert len(queue[0][2].tasks) == 5


def test_overflow_wheels_are_made_when_first_needed_each_with_the_span_below_as_its_tick() -> None:
    wheel, queue = _wheel()
    wheel.add(_task(19))
    assert wheel.overflow is None
    wheel.add(_task(20))
    assert wheel.overflow is not None
    assert (wheel.overflow.tick_ms, wheel.overflow.interval_ms, wheel.overflow.overflow) == (20, 400, None)
    wheel.add(_task(399))
    wheel.add(_task(400))
    assert wheel.overflow.overflow is not None
    assert wheel.overflow.overflow.tick_ms == 400
    assert sorted((start_ms, tick_ms) for start_ms, tick_ms, _ in queue) == [(19, 1), (20, 20), (380, 20), (400, 400)]


def test_a_due_coarse_bucket_is_put_back_into_finer_wheels() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)
    timer.add(Note(457, "a", notes))
    stops = []
    while (deadline_ms := timer.next_deadline_ms()) is not None:
        stops.append(deadline_ms)
        timer.advance(deadline_ms)
    assert stops == [400, 440, 457]  # 400 ms, 20 ms and 1 ms wheels
    assert notes == ["a"]


def test_insert_and_cancel_touch_no_other_task() -> None:
    """O(1): the queue grows with buckets, not with tasks, and cancelling leaves nothing behind."""
    timer = Timer(ManualClock())
    tasks = [Note(1 + i % 30_000, "", []) for i in range(20_000)]
    for task in tasks:
        timer.add(task)
    assert timer.size == 20_000
    assert len(timer._queue) <= 4 * 20
    for task in tasks:
        task.cancel()
        task.cancel()
    assert timer.size == 0
    assert not any(bucket.tasks for _, _, bucket in timer._queue)


def test_no_deadline_for_buckets_whose_tasks_were_all_cancelled() -> None:
    timer = Timer(ManualClock())
    near, far = Note(5, "near", []), Note(500, "far", [])
    timer.add(near)
    timer.add(far)
    near.cancel()
    assert timer.next_deadline_ms() == 400
    far.cancel()
    assert timer.next_deadline_ms() is None
    timer.add(near)
    assert timer.next_deadline_ms() == 5


def test_adding_a_waiting_task_moves_it() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)
    task = Note(10, "a", notes)
    timer.add(task)
    clock.now_ms = 8
    timer.add(task)
    assert timer.size == 1
    assert timer.advance(17) == 0
    assert timer.advance(18) == 1


def test_a_delay_counts_from_now_however_long_the_timer_was_idle() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)
    clock.now_ms = 1_000_003
    timer.add(Note(15, "a", notes))
    assert timer.next_deadline_ms() == 1_000_018  # and it began in the finest wheel
    assert timer.advance(1_000_017) == 0
    assert timer.advance(1_000_018) == 1


def test_a_late_reactor_still_runs_everything_in_order() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)
    for delay_ms in (9_000, 3, 450, 20, 1_000_000):
        timer.add(Note(delay_ms, str(delay_ms), notes))
    clock.now_ms = 9_500
    timer.add(Note(1, "late", notes))
    assert timer.advance(10_000) == 5
    assert notes == ["3", "20", "450", "9000", "late"]


def test_the_driver_hears_of_an_earlier_deadline_only() -> None:
    heard: list[int] = []
    timer = Timer(ManualClock(), on_earlier_deadline=heard.append)
    for delay_ms in (15, 16, 3, 3, 10, 2):
        timer.add(Note(delay_ms, "", []))
    assert heard == [15, 3, 2]


def test_a_limit_leaves_the_rest_due() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)
    tasks = [Note(5, str(i), notes) for i in range(5)]
    for task in tasks:
        timer.add(task)
    assert timer.advance(7, limit=2) == 2
    assert timer.next_deadline_ms() == 7
    tasks[3].cancel()
    assert timer.size == 2
    assert timer.advance(7, limit=2) == 2
    assert notes == ["0", "1", "2", "4"]
    assert timer.next_deadline_ms() is None


def test_a_task_that_raises_does_not_lose_those_behind_it() -> None:
    clock, notes = ManualClock(), list[str]()
    timer = Timer(clock)

    def fail() -> None:
        raise LookupError("ours")

    timer.add(Note(5, "bad", notes, fail))
    timer.add(Note(5, "good", notes))
    with pytest.raises(LookupError):
        timer.advance(5)
    assert timer.next_deadline_ms() == 5
    assert timer.advance(5) == 1
    assert notes == ["bad", "good"]


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(-2, 30) | st.integers(0, 9_000) | st.integers(0, 10_000_000)),
        st.tuples(st.just("cancel"), st.integers(0, 40)),
        st.tuples(st.just("readd"), st.integers(0, 40)),
        st.tuples(st.just("sleep"), st.integers(0, 50) | st.integers(0, 20_000)),  # time passes, nobody advances
        st.tuples(st.just("advance"), st.integers(0, 25) | st.integers(0, 500) | st.integers(0, 20_000)),
        st.tuples(st.just("next"), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(
    steps=_steps,
    tick_ms=st.sampled_from([1, 1, 3, 10]),
    wheel_size=st.sampled_from([2, 3, 20]),
    start_ms=st.integers(0, 10_000),
)
def test_the_timer_agrees_with_a_sorted_list(
    steps: list[tuple[str, int]], tick_ms: int, wheel_size: int, start_ms: int
) -> None:
    clock = ManualClock(start_ms)
    timer = Timer(clock, tick_ms, wheel_size)
    notes: list[str] = []
    tasks: list[Note] = []
    model: dict[str, int] = {}  # name → expiration, rounded down to a tick

    def add(task: Note) -> None:
        timer.add(task)
        expiration_ms = clock.now_ms + task.delay_ms
        model[task.name] = expiration_ms - expiration_ms % tick_ms
        if notes:  # it ran at once: allowed only if it was due
            assert model.pop(task.name) <= clock.now_ms
            notes.clear()

    for what, number in steps:
        if what == "add":
            tasks.append(Note(number, str(len(tasks)), notes))
            add(tasks[-1])
        elif what == "cancel" and number < len(tasks):
            tasks[number].cancel()
            model.pop(str(number), None)
        elif what == "readd" and number < len(tasks):
            model.pop(str(number), None)
            add(tasks[number])
        elif what == "sleep":
            clock.now_ms += number
        elif what == "advance":
            clock.now_ms += number
            due = {name for name, expiration_ms in model.items() if expiration_ms <= clock.now_ms}
            assert timer.advance(clock.now_ms) == len(due)
            assert set(notes) == due
            expirations = [model.pop(name) for name in notes]
            assert expirations == sorted(expirations)
            notes.clear()
        elif what == "next":
            deadline_ms = timer.next_deadline_ms()
            assert (deadline_ms is None) == (not model)
            assert deadline_ms is None or deadline_ms <= min(model.values())
        assert timer.size == len(model)
        assert all(task.is_waiting == (task.name in model) for task in tasks)
        assert len({id(bucket) for _, _, bucket in timer._queue}) == len(timer._queue)
