"""The automatic commit before partitions go."""

import asyncio
from collections.abc import Callable

from ottla.clients.consumer.commit_manager import CommitManager, Offsets
from ottla.runtime.port import Clock


class PartingCommit:
    """Begun once, and waited for in as many polls as it takes: none of them waits longer than its user allows."""

    __slots__ = ("_clock", "_commits", "_task", "_timeout_ms")

    def __init__(self, commits: CommitManager, clock: Clock, timeout_ms: int) -> None:
        """``timeout_ms`` is how long the commit itself may take."""
        self._commits = commits
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._task: asyncio.Task[None] | None = None

    async def finish(self, consumed: Callable[[], Offsets], deadline_ms: int | None) -> bool:
        """Commit, if auto commit is on, or go on with that; whether it has ended in time, well or not."""
        if self._task is None:
            commit = self._commits.auto_commit_now(consumed(), self._timeout_ms)
            self._task = asyncio.get_running_loop().create_task(commit)
        left_s = None if deadline_ms is None else max(deadline_ms - self._clock.monotonic_ms(), 0) / 1000
        done, _ = await asyncio.wait([self._task], timeout=left_s)
        if done:
            task, self._task = self._task, None
            task.result()
        return bool(done)

    async def forget(self) -> None:
        """The partitions are lost, or there is no time left."""
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.wait([task])
