"""The promise of a send from plain code."""

import asyncio
from collections.abc import Callable
from functools import partial

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.batch_outcome import RecordMetadata
from ottla.clients.producer.delivery import Delivery as AsyncDelivery
from ottla.clients.sync.runner import Runner

__all__ = ["Delivery"]

Failure = Exception


class Delivery:
    """Handed over (the loop has not taken the record yet) → on its way, or refused → done.

    Any thread may ask. What ``send`` of the asyncio producer raises is raised by ``result`` here.
    """

    __slots__ = ("_callbacks", "_delivery", "_failure", "_runner", "_taken")

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._delivery: AsyncDelivery | None = None
        self._failure: Failure | None = None
        self._callbacks: list[Callable[[Delivery], object]] | None = None
        self._taken: list[asyncio.Future[None]] | None = None

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._failure is not None or (self._delivery is not None and self._delivery.done())

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the outcome: where the record is, or raise why it failed; KafkaTimeoutError after ``timeout_s``."""
        if not self.done():
            self._runner.run(self._settled(timeout_s))
        if self._failure is not None:
            raise self._failure
        assert self._delivery is not None
        return self._delivery.result()

    def exception(self, timeout_s: float | None = None) -> Failure | None:
        """Wait for the outcome: why the record failed; None if it did not."""
        if not self.done():
            self._runner.run(self._settled(timeout_s))
        return self._failure if self._delivery is None else self._delivery.exception()

    def add_done_callback(self, callback: Callable[["Delivery"], object]) -> None:
        """Call ``callback(delivery)`` in the loop's thread once the outcome is known; it must not wait for a client."""
        self._runner.call_soon(lambda: self._add_callback(callback))

    # In the loop's thread

    def taken(self, delivery: AsyncDelivery) -> None:
        """The record is on its way."""
        self._delivery = delivery
        self._hand_over()

    def refused(self, failure: Failure) -> None:
        """It was not taken."""
        self._failure = failure
        self._hand_over()

    def _hand_over(self) -> None:
        for callback in self._callbacks or ():
            self._add_callback(callback)
        for waiting in self._taken or ():
            if not waiting.done():
                waiting.set_result(None)
        self._callbacks = self._taken = None

    def _add_callback(self, callback: Callable[["Delivery"], object]) -> None:
        if self._delivery is not None:
            self._delivery.add_done_callback(lambda _: callback(self))
        elif self._failure is not None:
            asyncio.get_running_loop().call_soon(callback, self)
        else:
            self._callbacks = [*(self._callbacks or ()), callback]

    async def _settled(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                if self._delivery is None and self._failure is None:
                    waiting = asyncio.get_running_loop().create_future()
                    self._taken = [*(self._taken or ()), waiting]
                    await waiting
                if self._delivery is not None and not self._delivery.done():
                    settled = asyncio.get_running_loop().create_future()
                    self._delivery.add_done_callback(partial(_wake, settled))
                    await settled
        except TimeoutError:
            raise KafkaTimeoutError(f"The record's outcome is not known after {timeout_s} s") from None


def _wake(settled: "asyncio.Future[None]", _: AsyncDelivery) -> None:
    if not settled.done():
        settled.set_result(None)
