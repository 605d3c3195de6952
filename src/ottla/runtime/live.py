"""The live runtime: asyncio, a few threads for calls that block without the GIL, and worker processes for the rest."""

import asyncio
import os
import pickle
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random, SystemRandom
from typing import Any, TypeVar

from ottla.runtime.port import Clock, Files
from ottla.runtime.posix import PosixFiles
from ottla.runtime.system_clock import SystemClock
from ottla.runtime.worker import LENGTH, WANT_ITEM, Kind, WorkerFailure, frame

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
        if function.__module__ == "__main__":
            raise ValueError(f"{function.__qualname__} is defined in __main__, which a worker cannot import")
        job = frame((function, args))
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "ottla.runtime.worker", str(self._worker_niceness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            request = job + WANT_ITEM
            while True:
                kind, content = await _exchange(worker.stdin, worker.stdout, request)
                if kind is Kind.END:
                    return
                if kind is Kind.ERROR:
                    raise _failure(function, content)
                yield content
                request = WANT_ITEM
        finally:
            worker.stdin.close()  # which ends it, wherever it is
            await worker.wait()

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Start a task; the runtime keeps hold of it until it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _Spawned(task)

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait on the loop."""
        await asyncio.sleep(duration_ms / 1000)

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


async def _exchange(stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, request: bytes) -> tuple[Kind, Any]:
    try:
        stdin.write(request)
        await stdin.drain()
        (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
        kind, content = pickle.loads(await stdout.readexactly(length))  # noqa: S301  our child wrote it
    except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError) as error:
        raise ChildProcessError("a worker process died") from error
    return kind, content


def _failure(function: Callable[..., object], failure: object) -> BaseException:
    """The exception to raise here, with the worker's traceback as a note."""
    assert isinstance(failure, WorkerFailure)
    if failure.pickled is None:
        return ChildProcessError(f"{function.__qualname__} failed in a worker process:\n{failure.text}")
    error = pickle.loads(failure.pickled)  # noqa: S301  our child wrote it
    assert isinstance(error, BaseException)
    error.add_note(f"in a worker process:\n{failure.text}")
    return error
