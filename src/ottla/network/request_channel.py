"""The queues between connections and handlers."""

from collections import deque
from collections.abc import Callable
from time import perf_counter_ns

from ottla.network.memory_pool import MemoryPool
from ottla.network.request import Request, ResponseKind


class RequestChannel:
    """Requests that wait for a handler, at most ``queue_size``, and answers that wait to be written.

    The answers need no bound of their own: a connection has one request at a time, and throttling adds two at most.
    A handler that answers while a turn is under way is served in that turn; otherwise ``wakeup`` asks for one.
    """

    __slots__ = ("in_turn", "memory_pool", "queue_size", "requests", "responses", "wakeup")

    def __init__(self, queue_size: int, memory_pool: MemoryPool, wakeup: Callable[[], None]) -> None:
        self.queue_size = queue_size
        self.memory_pool = memory_pool
        self.requests: deque[Request] = deque()
        self.responses: deque[tuple[ResponseKind, Request]] = deque()
        self.in_turn = False
        self.wakeup = wakeup

    @property
    def room(self) -> int:
        """How many requests may still be queued; at 0 no more are read."""
        return self.queue_size - len(self.requests)

    def send_response(self, kind: ResponseKind, request: Request) -> None:
        """Queue an answer."""
        self.responses.append((kind, request))
        if not self.in_turn:
            self.wakeup()

    def release_memory(self, size_bytes: int) -> None:
        """A request's memory is free; connections that wait for it are looked at in the next turn."""
        was_out = self.memory_pool.is_out_of_memory()
        self.memory_pool.release(size_bytes, perf_counter_ns())
        if was_out and not self.in_turn:
            self.wakeup()

    def clear(self) -> None:
        """Forget what waits, at the end of the service."""
        self.requests.clear()
        self.responses.clear()
