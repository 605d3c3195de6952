"""The tasks that a node keeps going beside its requests."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Background:
    """Tasks that live as long as their owner.

    Nobody awaits them, so one that fails is told at once, as a fault that the node cannot live with: a broker that no
    longer follows its metadata, say, would go on serving what is not so.
    """

    def __init__(self, fatal_fault: Callable[[str, BaseException], None]) -> None:
        self._fatal_fault = fatal_fault
        self._tasks: dict[asyncio.Task[None], None] = {}

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Begin."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks[task] = None
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fatal_fault(f"{task.get_name()} has failed", error)

    async def stop(self) -> None:
        """End all of them, and return when they have."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
