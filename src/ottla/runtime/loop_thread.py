"""An event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LoopTask(Generic[T]):
    """A coroutine on its way on the loop of another thread; unlike asyncio's own bridge, cancelled is not yet ended.

    made → ``start`` → ended; ``cancel`` at any time, which is why starting is apart from making: who starts it inside
    of a ``try`` can be interrupted anywhere and still end it.
    """

    __slots__ = ("_coroutine", "_ended", "_loop", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._coroutine = coroutine
        self._ended: Future[T] = Future()
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        """Have the loop run it, and do not wait."""
        self._loop.call_soon_threadsafe(self._start)

    def result(self, timeout_s: float | None = None) -> T:
        """Wait until it has ended; its result or exception, CancelledError if cancelled, TimeoutError if not ended."""
        return self._ended.result(timeout_s)

    @property
    def has_ended(self) -> bool:
        """Whether ``result`` does not wait."""
        return self._ended.done()

    @property
    def has_result(self) -> bool:
        """Whether it has ended well."""
        return self._ended.done() and self._ended.exception() is None

    def cancel(self, patience_s: float) -> None:
        """Cancel it, and return when it has ended, or does not do so in time."""
        self._loop.call_soon_threadsafe(self._cancel)
        ended = threading.Event()
        self._ended.add_done_callback(lambda _: ended.set())
        ended.wait(patience_s)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine)
        self._task.add_done_callback(self._finish)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:  # its start was interrupted
            self._coroutine.close()
            self._ended.set_exception(CancelledError())

    def _finish(self, task: "asyncio.Task[T]") -> None:
        if task.cancelled():
            self._ended.set_exception(CancelledError())
            return
        error = task.exception()
        if error is None:
            self._ended.set_result(task.result())
        else:
            self._ended.set_exception(error)


class LoopThread:
    """Runs coroutines for another thread, which waits for them; ``close`` ends the loop and the thread.

    A test and its clients may block, or have a loop of their own, while what lives here goes on.
    """

    def __init__(self, name: str) -> None:
        self._stopping = asyncio.Event()
        started: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon: a broker that nobody stopped must not keep a finished test run from ending.
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(started)), name=name, daemon=True)
        self._thread.start()
        self._loop = started.result()

    async def _main(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        started.set_result(asyncio.get_running_loop())
        await self._stopping.wait()

    @property
    def is_current(self) -> bool:
        """Whether the caller is in this thread."""
        return threading.current_thread() is self._thread

    def task(self, coroutine: Coroutine[Any, Any, T]) -> LoopTask[T]:
        """A coroutine that the loop can run; it is not started."""
        return LoopTask(self._loop, coroutine)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> LoopTask[T]:
        """Start a coroutine on the loop, and do not wait."""
        task = self.task(coroutine)
        task.start()
        return task

    def call_soon(self, function: Callable[[], object]) -> None:
        """Have a plain function called on the loop, and do not wait."""
        self._loop.call_soon_threadsafe(function)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; returns its result, or raises its exception, here."""
        return self.submit(coroutine).result()

    def close(self) -> None:
        """Cancel what is left on the loop and return when the thread is gone."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
