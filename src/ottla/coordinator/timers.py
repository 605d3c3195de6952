"""The timers of a coordinator shard: part of the machine, driven by the time that it is told."""

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

    __slots__ = ("_heap", "_on_earlier_deadline", "_timers")

    def __init__(self, on_earlier_deadline: Callable[[int], None] = lambda _: None) -> None:
        """``on_earlier_deadline`` is told when there is less time left than there was."""
        self._on_earlier_deadline = on_earlier_deadline
        self._timers: dict[str, _Timer] = {}
        self._heap: list[tuple[int, str]] = []  # every timer has an entry at its deadline or before

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: str, deadline_ms: int, operation: TimerOperation) -> None:
        """Run ``operation`` as a write at ``deadline_ms``, unless it is replaced or cancelled before."""
        before = self._timers.get(key)
        self._timers[key] = _Timer(deadline_ms, operation)
        if before is None or deadline_ms < before.deadline_ms:
            heap = self._heap
            if len(heap) > _STALE_MAX + 2 * len(self._timers):
                self._sweep()
            if not heap or deadline_ms < heap[0][0]:
                self._on_earlier_deadline(deadline_ms)
            heappush(heap, (deadline_ms, key))

    def extend(self, key: str, deadline_ms: int) -> bool:
        """Let the timer of ``key``, if there is one that is due before, be due later; whether there is one."""
        timer = self._timers.get(key)
        if timer is None or timer.deadline_ms > deadline_ms:
            return False
        timer.deadline_ms = deadline_ms
        return True

    def schedule_if_absent(self, key: str, deadline_ms: int, operation: TimerOperation) -> None:
        """As ``schedule``, unless ``key`` has a timer."""
        if key not in self._timers:
            self.schedule(key, deadline_ms, operation)

    def cancel(self, key: str) -> None:
        """Forget the timer of ``key``, if there is one."""
        self._timers.pop(key, None)

    def is_scheduled(self, key: str) -> bool:
        """Whether ``key`` has a timer."""
        return key in self._timers

    @property
    def next_deadline_ms(self) -> int | None:
        """When to look again: not after the next timer is due, though perhaps before."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> tuple[str, TimerOperation] | None:
        """Take the timer that is due first; None when there is none."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
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

    def shift(self, delta_ms: int) -> None:
        """The clock was set: all deadlines are as far away as they were."""
        for timer in self._timers.values():
            timer.deadline_ms += delta_ms
        self._sweep()

    def clear(self) -> None:
        """Forget all timers."""
        self._timers.clear()
        self._heap.clear()

    def _sweep(self) -> None:
        self._heap[:] = [(timer.deadline_ms, key) for key, timer in self._timers.items()]
        heapify(self._heap)
