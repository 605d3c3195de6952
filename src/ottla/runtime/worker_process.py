"""The parent's end of a worker: one child process, niced, that runs one job after the other."""

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import Any, Final, Self

from ottla.runtime.worker import JOB, LENGTH, WANT_ITEM, Kind, WorkerFailure, call, frame

IDLE_S: Final = 30
"""How long a kept worker waits for the next call before it ends; a start takes some 0.1 s."""


class WorkerProcess:
    """See :mod:`ottla.runtime.worker` for what goes to and fro."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = process.stdout

    @classmethod
    async def start(cls, niceness: int) -> Self:
        """A worker that has no job yet."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-m", "ottla.runtime.worker", str(niceness)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )

    def begin(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        """Give it a job; what it yields, ``next`` receives."""
        if function.__module__ == "__main__":
            raise ValueError(f"{function.__qualname__} is defined in __main__, which a worker cannot import")
        self._requests.write(JOB + frame((function, args)))

    async def next(self) -> tuple[Kind, Any]:
        """The next item of the job, its end, or its failure; ChildProcessError if the worker died."""
        try:
            self._requests.write(WANT_ITEM)
            await self._requests.drain()
            (length,) = LENGTH.unpack(await self._answers.readexactly(LENGTH.size))
            kind, content = pickle.loads(await self._answers.readexactly(length))  # noqa: S301  our child wrote it
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError) as error:
            raise ChildProcessError("a worker process died") from error
        return kind, content

    def let_go(self) -> None:
        """End it, wherever it is; ``close`` also waits until it has ended."""
        self._requests.close()

    async def close(self) -> None:
        """End it, wherever it is, and return when it has."""
        self.let_go()
        await self._process.wait()


class KeptWorker:
    """A worker for calls that take turns: started for the first, kept for the next, ended when none comes."""

    def __init__(self, niceness: int) -> None:
        self._niceness = niceness
        self._worker: WorkerProcess | None = None
        self._is_closed = False
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None

    async def call(self, function: Callable[..., Any], args: tuple[object, ...]) -> Any:
        """What the function returns, or raises; ChildProcessError if the worker died of it."""
        async with self._turn:
            if self._is_closed:
                raise ChildProcessError("no worker process is started any more")
            if self._idle is not None:
                self._idle.cancel()
            if self._worker is None:
                self._worker = await WorkerProcess.start(self._niceness)
            try:
                self._worker.begin(call, (function, args))
                kind, content = await self._worker.next()
            except BaseException:  # it died, or nobody waits for its answer any more
                await self._end()
                raise
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._let_go)
            if kind is Kind.ERROR:
                raise exception_of(content)
            return content

    def _let_go(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.let_go()

    async def close(self) -> None:
        """End the process; whoever waits for it, and whoever calls from now on, gets a ChildProcessError."""
        self._is_closed = True
        if self._idle is not None:
            self._idle.cancel()
        await self._end()

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()


def exception_of(failure: object) -> BaseException:
    """The exception to raise in place of a failed item, with the worker's traceback as a note."""
    assert isinstance(failure, WorkerFailure)
    if failure.pickled is None:
        return ChildProcessError(f"a job failed in a worker process:\n{failure.text}")
    error = pickle.loads(failure.pickled)  # noqa: S301  our child wrote it
    assert isinstance(error, BaseException)
    error.add_note(f"in a worker process:\n{failure.text}")
    return error
