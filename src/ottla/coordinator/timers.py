"""The timers of a coordinator shard. They go by the monotonic clock, which no administrator and no NTP ever sets.

A shard says how long something may take, never until when: the time that its operations are told is the wall clock's,
fit for records alone.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

from ottla.coordinator.result import TimerOperation

_STALE_MAX: Final = 1024
"""How many entries of the heap may have lost their timers before they are swept out."""


class _Timer:
    __slots__ = ("deadline_ms", "operation")

    def __init__(self, deadline_ms: int, operation: TimerOperation) -> None:
        self.deadline_ms = deadline_ms
        self.operation = operation


class Timers:
    """One timer a key; a new one replaces the old.

    Sessions are extended far more often than they end, so a later deadline costs next to nothing: the heap keeps
    the earlier one, and looks again when that has come.
    """

    __slots__ = ("_heap", "_monotonic_ms", "_on_earlier_deadline", "_timers")

    def __init__(
        self, monotonic_ms: Callable[[], int], on_earlier_deadline: Callable[[int], None] = lambda _: None
    ) -> None:
        """``on_earlier_deadline`` is told when there is less time left than there was."""
        self._monotonic_ms = monotonic_ms
        self._on_earlier_deadline = on_earlier_deadline
        self._timers: dict[str, _Timer] = {}
        self._heap: list[tuple[int, str]] = []  # every timer has an entry at its deadline or before

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: str, delay_ms: int, operation: TimerOperation) -> None:
        """Run ``operation`` as a write when ``delay_ms`` have passed, unless it is replaced or cancelled before."""
        deadline_ms = self._monotonic_ms() + delay_ms
        before = self._timers.get(key)
        self._timers[key] = _Timer(deadline_ms, operation)
        if before is None or deadline_ms < before.deadline_ms:
            heap = self._heap
            if len(heap) > _STALE_MAX + 2 * len(self._timers):
                self._sweep()
            if not heap or deadline_ms < heap[0][0]:
                self._on_earlier_deadline(deadline_ms)
            heappush(heap, (deadline_ms, key))

    def extend(self, key: str, delay_ms: int) -> bool:
        """Let a timer that is due before be due in ``delay_ms``; False when ``key`` has none, or a later one."""
        timer = self._timers.get(key)
        deadline_ms = self._monotonic_ms() + delay_ms
        if timer is None or timer.deadline_ms > deadline_ms:
            return False
        timer.deadline_ms = deadline_ms
        return True

    def schedule_if_absent(self, key: str, delay_ms: int, operation: TimerOperation) -> None:
        """As ``schedule``, unless ``key`` has a timer."""
        if key not in self._timers:
            self.schedule(key, delay_ms, operation)

    def cancel(self, key: str) -> None:
        """Forget the timer of ``key``, if there is one."""
        self._timers.pop(key, None)

    def is_scheduled(self, key: str) -> bool:
        """Whether ``key`` has a timer."""
        return key in self._timers

    @property
    def next_deadline_ms(self) -> int | None:
        """When to look again, by the monotonic clock: not after the next timer is due, though perhaps before."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, monotonic_ms: int) -> tuple[str, TimerOperation] | None:
        """Take the timer that is due first at a time of the monotonic clock; None when there is none."""
        heap = self._heap
        while heap and heap[0][0] <= monotonic_ms:
            deadline_ms, key = heappop(heap)
            timer = self._timers.get(key)
            if timer is None or timer.deadline_ms < deadline_ms:
                continue  # cancelled, or made earlier: then it has an entry of its own
            if timer.deadline_ms > deadline_ms:
                heappush(heap, (timer.deadline_ms, key))
                continue
            del self._timers[key]
            return key, timer.operation
        return None

    def clear(self) -> None:
        """Forget all timers."""
        self._timers.clear()
        self._heap.clear()

    def _sweep(self) -> None:
        self._heap[:] = [(timer.deadline_ms, key) for key, timer in self._timers.items()]
        heapify(self._heap)
