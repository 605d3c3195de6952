"""The answer to an operation, which comes when its records are committed."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

from ottla.common.errors import KafkaError

T = TypeVar("T")


class Completion(Awaitable[T], Generic[T]):
    """A response or an error, once. Callbacks run at that moment, in the same turn of the reactor."""

    __slots__ = ("_callbacks", "_error", "_is_done", "_response")

    def __init__(self) -> None:
        self._is_done = False
        self._response: T | None = None
        self._error: KafkaError | None = None
        self._callbacks: list[Callable[[Completion[T]], None]] | None = None

    @classmethod
    def done(cls, response: T) -> "Completion[T]":
        """An answer that needed no commit."""
        completion = cls()
        completion.complete(response)
        return completion

    @classmethod
    def failed(cls, error: KafkaError) -> "Completion[T]":
        """A refusal."""
        completion = cls()
        completion.fail(error)
        return completion

    @property
    def is_done(self) -> bool:
        """Whether ``result`` may be called."""
        return self._is_done

    @property
    def error(self) -> KafkaError | None:
        """The error of a completion that is done and failed."""
        return self._error

    def result(self) -> T:
        """The response; raises the error."""
        assert self._is_done, "the operation is not committed yet"
        if self._error is not None:
            raise self._error
        return self._response  # type: ignore[return-value]

    def add_done_callback(self, callback: Callable[["Completion[T]"], None]) -> None:
        """Call back with this completion when it is done, or now."""
        if self._is_done:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def complete(self, response: T) -> None:
        """The records are committed."""
        self._response = response
        self._finish()

    def fail(self, error: KafkaError) -> None:
        """The operation was refused, or nobody knows whether its records will be committed."""
        self._error = error
        self._finish()

    def _finish(self) -> None:
        assert not self._is_done, "an operation is answered once"
        self._is_done = True
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            for callback in callbacks:
                callback(self)

    def __await__(self) -> Generator[Any, None, T]:
        if not self._is_done:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.add_done_callback(lambda _: None if waiter.done() else waiter.set_result(None))
            yield from waiter
        return self.result()
