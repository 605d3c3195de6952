"""The promise of a send: an awaitable that costs nothing until it is awaited."""

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from ottla.clients.errors import IllegalStateError
from ottla.clients.producer.batch_outcome import BatchOutcome, RecordMetadata
from ottla.common.errors import KafkaError


class Delivery:
    """A record on its way; ``await`` it for its metadata, or for the error that it failed with.

    It belongs to the event loop of its producer. Any number may await it, once or again; one that is cancelled leaves
    the record on its way.
    """

    __slots__ = ("_key_size", "_outcome", "_timestamp_ms", "_value_size", "index")

    def __init__(self, outcome: BatchOutcome, index: int, timestamp_ms: int, key_size: int, value_size: int) -> None:
        self._outcome = outcome
        self.index = index
        """The record's place in its batch."""
        self._timestamp_ms = timestamp_ms
        self._key_size = key_size
        self._value_size = value_size

    @property
    def place(self) -> tuple[BatchOutcome, int]:
        """The batch that the record was put into, and its place there."""
        return self._outcome, self.index

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._outcome.find(self.index)[0].is_done

    def result(self) -> RecordMetadata:
        """Where the record is; raises why it failed, and IllegalStateError while it is under way."""
        outcome, index = self._outcome.find(self.index)
        if not outcome.is_done:
            raise IllegalStateError("The record is still on its way")
        error = outcome.error_of(index)
        if error is not None:
            raise error.with_traceback(None)  # all records of a batch share it: it must not grow with each
        topic, partition = outcome.topic_partition
        append_time_ms = outcome.log_append_time_ms
        return RecordMetadata(
            topic,
            partition,
            outcome.offset_of(index),
            self._timestamp_ms if append_time_ms == -1 else append_time_ms,
            self._key_size,
            self._value_size,
        )

    def exception(self) -> KafkaError | None:
        """Why the record failed; None if it did not. IllegalStateError while it is under way."""
        outcome, index = self._outcome.find(self.index)
        if not outcome.is_done:
            raise IllegalStateError("The record is still on its way")
        return outcome.error_of(index)

    def add_done_callback(self, callback: Callable[["Delivery"], object]) -> None:
        """Call ``callback(delivery)`` on the loop once the outcome is known.

        Those of a partition are called in the order of the sends. What it raises goes to the loop's exception handler.
        """
        loop = asyncio.get_running_loop()
        outcome, index = self._outcome.find(self.index)
        if outcome.is_done:
            loop.call_soon(callback, self)
        else:
            outcome.add_waiter(index, partial(_call_soon, loop, callback, self))

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        outcome, index = self._outcome.find(self.index)
        if not outcome.is_done:
            future = asyncio.get_running_loop().create_future()
            outcome.add_waiter(index, partial(_wake, future))
            yield from future
        return self.result()


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[Delivery], object], delivery: Delivery) -> None:
    loop.call_soon(callback, delivery)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():  # whoever waited may have been cancelled
        future.set_result(None)
