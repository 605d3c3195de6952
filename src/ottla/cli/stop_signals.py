"""Ends from outside: SIGINT, SIGTERM and SIGHUP end every command in order, and so does output that nobody takes.

A command that is told to stop says what it has to say, commits, leaves its group and delivers what it took, and ends
with the exit code that a JVM gives: 128 and the signal's number. It has nothing to do for that but to leave what it
opened: ``main`` runs it in ``stop_in_order``, its coroutine in ``run``. A second SIGINT does not wait for that.
"""

import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE: Final = 128


@contextmanager
def stop_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit within, as SIGINT raises KeyboardInterrupt; what is ignored stays ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in STOPS[1:]}
    ours = {number: handler for number, handler in before.items() if handler is signal.SIG_DFL}
    for number in ours:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(_SIGNAL_BASE + number)


def run(work: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` of work that a signal cancels; then SystemExit when it has ended.

    An OSError of a callback, which has written to a pipe that was left or a full disk, cancels it, too, and is raised.
    An error of the work's end goes first. Whoever wants to say something at a stop handles CancelledError.
    """
    import asyncio

    before = {number: signal.getsignal(number) for number in STOPS}
    stopped_by: list[int] = []
    failures: list[OSError] = []

    async def stoppable() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def stop(number: int) -> None:
            if not stopped_by:
                stopped_by.append(number)
                task.cancel()
            elif number == signal.SIGINT:
                raise KeyboardInterrupt

        def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            if not isinstance(error, OSError):
                loop.default_exception_handler(context)
                return
            if not failures:
                task.cancel()
            failures.append(error)

        loop.set_exception_handler(failed)
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as nohup and the background of a script have it
                loop.add_signal_handler(number, stop, number)
        return await work

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        if failures:
            raise failures[0] from None
        if not stopped_by:
            raise
        raise SystemExit(_SIGNAL_BASE + stopped_by[0]) from None
    finally:
        for number, handler in before.items():  # the loop has set its own back to the system's
            signal.signal(number, handler)
