"""The live runtime: asyncio, a few threads for calls that block without the GIL, and worker processes for the rest."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random, SystemRandom
from typing import Any, TypeVar

from ottla.runtime.port import Clock, Files
from ottla.runtime.posix import PosixFiles
from ottla.runtime.system_clock import SystemClock
from ottla.runtime.worker import Kind
from ottla.runtime.worker_process import KeptWorker, WorkerProcess, exception_of

T = TypeVar("T")

BLOCKING_THREADS = 4
WORKER_NICENESS = 10


class AsyncioRuntime:
    """See :class:`ottla.runtime.port.Runtime`; its methods are called on a running event loop."""

    def __init__(
        self,
        files: Files | None = None,
        clock: Clock | None = None,
        rng: Random | None = None,
        *,
        blocking_threads: int = BLOCKING_THREADS,
        worker_niceness: int = WORKER_NICENESS,
    ) -> None:
        self.files: Files = files if files is not None else PosixFiles()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.rng = rng if rng is not None else SystemRandom()
        self._executor = ThreadPoolExecutor(blocking_threads, thread_name_prefix="ottla-blocking")
        self._worker_niceness = worker_niceness
        self._kept_worker: KeptWorker | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    async def blocking(self, call: Callable[[], T]) -> T:
        """Run in a thread. A caller that is cancelled leaves the call to finish by itself.

        When the interpreter ends no thread takes anything any more; then the loop waits, so that what is left can be
        closed in order.
        """
        try:
            running = asyncio.get_running_loop().run_in_executor(self._executor, call)
        except RuntimeError:
            if self._is_closed:
                raise
            return call()
        return await running

    async def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        """Run in a process of its own; see the port."""
        worker = await WorkerProcess.start(self._worker_niceness)
        try:
            worker.begin(function, args)
            while True:
                kind, content = await worker.next()
                if kind is Kind.END:
                    return
                if kind is Kind.ERROR:
                    raise exception_of(content)
                yield content
        finally:
            await worker.close()

    async def compute(self, function: Callable[..., T], /, *args: object) -> T:
        """Call in the kept worker process; see the port."""
        if self._kept_worker is None:
            self._kept_worker = KeptWorker(self._worker_niceness)
        result: T = await self._kept_worker.call(function, args)
        return result

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Start a task; the runtime keeps hold of it until it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _Spawned(task)

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait on the loop."""
        await asyncio.sleep(duration_ms / 1000)

    async def stop(self) -> None:
        """``close``, after the end of the process that ``compute`` has kept."""
        if self._kept_worker is not None:
            await self._kept_worker.close()
        self.close()

    def close(self, *, wait: bool = True) -> None:
        """Let the threads finish what they do and end them; without ``wait`` they do so by themselves."""
        self._is_closed = True
        self._executor.shutdown(wait=wait)


class _Spawned(Awaitable[T]):
    """A task for any number to await: cancelling one of them leaves the task alone."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.shield(self._task).__await__()
