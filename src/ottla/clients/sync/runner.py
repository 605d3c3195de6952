"""The event loop behind the synchronous clients: one thread that all of them share."""

import atexit
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from ottla.clients.errors import ClientClosedError, IllegalStateError
from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.runtime.loop_thread import LoopTask, LoopThread

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PATIENCE_S: Final = 5.0
"""How long a call that is interrupted waits for its coroutine to end, and the interpreter's end for an open client."""


class _SharedLoop:
    """The thread, made for the first runner of this process and ended with the last one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._pid = -1
        self._users = 0

    def enter(self) -> LoopThread:
        """One user more."""
        with self._lock:
            # A thread does not survive a fork: the child's first client gets one of its own.
            if self._thread is None or self._pid != os.getpid():
                self._thread, self._pid, self._users = LoopThread("ottla-clients"), os.getpid(), 0
            self._users += 1
            return self._thread

    def leave(self, thread: LoopThread) -> None:
        """One user less; the last one ends the thread."""
        with self._lock:
            if thread is not self._thread:
                return
            self._users -= 1
            if self._users:
                return
            self._thread = None
        thread.close()


_shared: Final = _SharedLoop()


class Runner:
    """Runs the coroutines of one asyncio client for callers in any thread: open → ``close`` → closed.

    ``run`` waits for the result. A KeyboardInterrupt, or any other exception that ends the wait, cancels the coroutine
    and waits until it has ended, so that the client is not left in the middle of something. ``closing`` is what closes
    the client; it runs at the end of the interpreter if nobody has called ``close``.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._thread: LoopThread | None = _shared.enter()
        self._closing: Callable[[], Coroutine[Any, Any, object]] | None = None

    @property
    def is_open(self) -> bool:
        """Whether ``close`` has not been called; never so in a child that was forked since."""
        return self._thread is not None and self._pid == os.getpid()

    def close_with(self, closing: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Say how the client is closed when the interpreter ends without that."""
        self._closing = closing
        atexit.register(self._at_exit)

    def run(self, coroutine: Coroutine[Any, Any, T], *, undo: Callable[[], object] | None = None) -> T:
        """The coroutine's result or exception; ClientClosedError after ``close``.

        ``undo`` is called in the loop's thread if the wait ends although the coroutine had a result: nobody gets it.
        """
        task = self._task(coroutine)
        try:
            task.start()
            return task.result()
        except BaseException:
            if not task.has_ended:
                task.cancel(_PATIENCE_S)
            if undo is not None and task.has_result and self.is_open:
                self.call_soon(undo)
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Call a plain function in the loop's thread, where the client lives; its result or exception."""

        async def call() -> T:
            return function()

        return self.run(call())

    def call_soon(self, function: Callable[[], object]) -> None:
        """Have a plain function called in the loop's thread, and do not wait for it."""
        self._open_thread().call_soon(function)

    def close(self) -> None:
        """Give the thread back; closing again does nothing. The client is closed by its own coroutine before."""
        thread, self._thread = self._thread, None
        if thread is not None:
            atexit.unregister(self._at_exit)
            if self._pid == os.getpid():
                _shared.leave(thread)

    def refuse_own_thread(self) -> None:
        """IllegalStateError in the loop's thread, where callbacks run: whoever waits there waits for himself."""
        if self._thread is not None and self._thread.is_current:
            raise IllegalStateError("A synchronous client cannot wait in its own loop's thread; use the asyncio client")

    def _open_thread(self) -> LoopThread:
        if self._thread is None:
            raise ClientClosedError("The client is closed")
        if self._pid != os.getpid():
            raise IllegalStateError(
                "The client was made before a fork, and its thread and connections are the parent's: make another one"
            )
        return self._thread

    def _task(self, coroutine: Coroutine[Any, Any, T]) -> LoopTask[T]:
        try:
            thread = self._open_thread()
            self.refuse_own_thread()
        except IllegalStateError:
            coroutine.close()
            raise
        return thread.task(coroutine)

    def _at_exit(self) -> None:
        if self._thread is None or self._closing is None or not self.is_open:
            return
        closing = self._thread.submit(self._closing())
        try:
            closing.result(_PATIENCE_S)
        except (KafkaError, TimeoutError) as error:
            is_late = isinstance(error, TimeoutError)
            why = f"it took longer than {_PATIENCE_S:.0f} s" if is_late else in_words(error)
            logger.warning("A client that was not closed before the end could not be closed: %s", why)
            closing.cancel(_PATIENCE_S)  # in order, before the end of the loop cancels everything at once
        self.close()
