"""A reactor in virtual time: coroutines take turns, in the order they were started."""

import heapq
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from itertools import count
from random import Random
from typing import Any, TypeVar

from ottla.runtime.inline import ManualClock
from ottla.runtime.port import Files
from tests.sim.crash_files import CrashFiles

T = TypeVar("T")


class _Turn(Awaitable[None]):
    def __await__(self) -> Generator[Any, None, None]:
        yield 0


class _Sleep(Awaitable[None]):
    def __init__(self, duration_ms: int) -> None:
        self._duration_ms = duration_ms

    def __await__(self) -> Generator[Any, None, None]:
        yield self._duration_ms


class Task(Awaitable[T]):
    """A coroutine on its own; its error is raised by whoever awaits it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.coroutine = coroutine
        self.done = False
        self.result: T | None = None
        self.error: Exception | None = None

    def __await__(self) -> Generator[Any, None, T]:
        while not self.done:
            yield 0
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class TurnRuntime:
    """`ottla.runtime.port.Runtime`: everything that waits gives the others a turn. `turns` counts them."""

    def __init__(self, files: Files | None = None, clock: ManualClock | None = None, seed: int = 0) -> None:
        self.clock = clock or ManualClock(1_000_000)
        self.files: Files = files if files is not None else CrashFiles(self.clock)
        self.rng = Random(seed)
        self.turns = 0
        self._ready: deque[Task[Any]] = deque()
        self._sleeping: list[tuple[int, int, Task[Any]]] = []
        self._order = count()

    async def blocking(self, call: Callable[[], T]) -> T:
        await _Turn()
        return call()

    async def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        for item in function(*args):
            yield item

    async def compute(self, function: Callable[..., T], /, *args: object) -> T:
        await _Turn()
        return function(*args)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        task = Task(coroutine)
        self._ready.append(task)
        return task

    async def sleep_ms(self, duration_ms: int) -> None:
        await _Sleep(duration_ms)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Until this coroutine ends; others may still be under way."""
        task = Task(coroutine)
        self._ready.append(task)
        while not task.done:
            self._step()
        if task.error is not None:
            raise task.error
        return task.result  # type: ignore[return-value]

    def settle(self) -> None:
        """Until nothing is ready; sleepers stay asleep."""
        while self._ready:
            self._step()

    def drop(self) -> None:
        """The machine is off: nobody gets another turn."""
        for task in (*self._ready, *(task for _, _, task in self._sleeping)):
            task.coroutine.close()
        self._ready.clear()
        self._sleeping.clear()

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, waking sleepers on the way."""
        end_ms = self.clock.monotonic_ms() + duration_ms
        self.settle()
        while self._sleeping and self._sleeping[0][0] <= end_ms:
            self._wake()
            self.settle()
        self.clock.advance_ms(end_ms - self.clock.monotonic_ms())

    def _wake(self) -> None:
        due_ms, _, task = heapq.heappop(self._sleeping)
        self.clock.advance_ms(max(due_ms - self.clock.monotonic_ms(), 0))
        self._ready.append(task)

    def _step(self) -> None:
        if not self._ready:
            assert self._sleeping, "everybody waits for nothing"
            self._wake()
        self.turns += 1
        task = self._ready.popleft()
        try:
            delay_ms = task.coroutine.send(None)
        except StopIteration as end:
            task.done, task.result = True, end.value
        except Exception as error:  # noqa: BLE001 - kept, not hidden: awaiting raises it
            task.done, task.error = True, error
        else:
            if delay_ms:
                due_ms = self.clock.monotonic_ms() + delay_ms
                heapq.heappush(self._sleeping, (due_ms, next(self._order), task))
            else:
                self._ready.append(task)
