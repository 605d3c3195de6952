"""The promise of a ``send_batch`` from plain code."""

import asyncio
from collections.abc import Callable

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.batch_delivery import BatchDelivery as AsyncBatchDelivery
from ottla.clients.producer.batch_delivery import BatchFailure, BatchMetadata
from ottla.clients.sync.runner import Runner

__all__ = ["BatchDelivery"]


class BatchDelivery:
    """The records of one ``send_batch`` on their way. Any thread may ask."""

    __slots__ = ("_delivery", "_runner")

    def __init__(self, runner: Runner, delivery: AsyncBatchDelivery) -> None:
        self._runner = runner
        self._delivery = delivery

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._delivery.count

    @property
    def is_cut_short(self) -> bool:
        """Whether something stopped the producer before it had taken all rows; an iterable was read no further."""
        return self._delivery.is_cut_short

    def done(self) -> bool:
        """Whether the outcome of all is known."""
        return self._delivery.done()

    def result(self, timeout_s: float | None = None) -> BatchMetadata:
        """Wait for the outcome: where the records are, or raise the error of the first that failed.

        A note of the error names the rows. KafkaTimeoutError after ``timeout_s``.
        """
        self._settle(timeout_s)
        return self._delivery.result()

    def failures(self, timeout_s: float | None = None) -> list[BatchFailure]:
        """Wait for the outcome: which rows failed, and why."""
        self._settle(timeout_s)
        return self._delivery.failures()

    def add_done_callback(self, callback: Callable[["BatchDelivery"], object]) -> None:
        """Call ``callback(delivery)`` in the loop's thread once all is known; it must not wait for a client."""
        self._runner.call_soon(lambda: self._delivery.add_done_callback(lambda _: callback(self)))

    def _settle(self, timeout_s: float | None) -> None:
        if not self._delivery.done():
            self._runner.run(self._settled(timeout_s))

    async def _settled(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._delivery.settled()
        except TimeoutError:
            raise KafkaTimeoutError(f"The outcome of the records is not known after {timeout_s} s") from None
