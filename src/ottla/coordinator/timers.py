"""The timers of a coordinator shard: part of the machine, driven by the time that it is told."""

from heapq import heappop, heappush
from typing import NamedTuple

from ottla.coordinator.result import TimerOperation


class _Timer(NamedTuple):
    deadline_ms: int
    operation: TimerOperation


class Timers:
    """One timer a key; a new one replaces the old.

    Sessions are extended far more often than they end, so a later deadline costs one entry in a dict: the heap keeps
    the earlier one, and looks again when that has come.
    """

    __slots__ = ("_heap", "_timers")

    def __init__(self) -> None:
        self._timers: dict[str, _Timer] = {}
        self._heap: list[tuple[int, str]] = []  # every timer has an entry at its deadline or before

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: str, deadline_ms: int, operation: TimerOperation) -> None:
        """Run ``operation`` as a write at ``deadline_ms``, unless it is replaced or cancelled before."""
        before = self._timers.get(key)
        self._timers[key] = _Timer(deadline_ms, operation)
        if before is None or deadline_ms < before.deadline_ms:
            heappush(self._heap, (deadline_ms, key))

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
        """Take the next timer that is due; None when there is none."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            _, key = heappop(heap)
            timer = self._timers.get(key)
            if timer is None:
                continue
            if timer.deadline_ms <= now_ms:
                del self._timers[key]
                return key, timer.operation
            heappush(heap, (timer.deadline_ms, key))
        return None
