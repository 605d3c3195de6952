"""Tasks that are due again and again, on a monotonic clock."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

ERROR_BACKOFF_MS: Final = 300_000
"""When a task that failed runs again."""


@dataclass(slots=True)
class PeriodicTask:
    """``run`` says whether there is more to do at once; it is next due at ``due_ms``."""

    name: str
    run: Callable[[], bool]
    period_ms: int
    due_ms: int = 0


class PeriodicTasks:
    """The tasks; each is due first a period after ``activate``."""

    def __init__(self, *tasks: PeriodicTask) -> None:
        assert tasks, "there is something to do"
        self._tasks = tasks

    def activate(self, now_ms: int) -> None:
        """Begin anew."""
        for task in self._tasks:
            task.due_ms = now_ms + task.period_ms

    def take_due(self, now_ms: int) -> list[PeriodicTask]:
        """The tasks to run now; whoever runs one calls ``reschedule``."""
        return [task for task in self._tasks if task.due_ms <= now_ms]

    def reschedule(self, task: PeriodicTask, now_ms: int, *, again: bool = False, failed: bool = False) -> None:
        """A task has run: it is due after its period, at once, or much later."""
        task.due_ms = now_ms if again else now_ms + (ERROR_BACKOFF_MS if failed else task.period_ms)

    def next_due_ms(self) -> int:
        """When the next one is due."""
        return min(task.due_ms for task in self._tasks)
