"""An event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


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

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; returns its result, or raises its exception, here."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Cancel what is left on the loop and return when the thread is gone."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
