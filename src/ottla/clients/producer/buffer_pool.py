"""The memory that batches may take: ``buffer.memory`` bytes, handed out in the order in which they were asked for."""

from collections import deque
from collections.abc import Callable


class MemoryWaiter:
    """Somebody who waits for memory; ``is_granted`` once it is theirs."""

    __slots__ = ("_on_granted", "is_granted", "size_bytes")

    def __init__(self, size_bytes: int, on_granted: Callable[[], None]) -> None:
        self.size_bytes = size_bytes
        self.is_granted = False
        self._on_granted = on_granted

    def grant(self) -> None:
        """It is theirs now."""
        self.is_granted = True
        self._on_granted()


class BufferPool:
    """A counter of bytes and a queue of those who wait; nobody overtakes the first of them.

    What is taken, by ``try_take`` or by a grant, is given back once by ``release``. ``available_bytes`` is never
    negative, so what is taken never exceeds ``total_bytes``. The queue is as long as there are senders.
    """

    __slots__ = ("_waiters", "available_bytes", "total_bytes")

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self._waiters: deque[MemoryWaiter] = deque()

    @property
    def waiting_count(self) -> int:
        """How many wait."""
        return len(self._waiters)

    def try_take(self, size_bytes: int) -> bool:
        """Take memory if there is enough and nobody waits for it."""
        if self._waiters or size_bytes > self.available_bytes:
            return False
        self.available_bytes -= size_bytes
        return True

    def wait(self, size_bytes: int, on_granted: Callable[[], None]) -> MemoryWaiter:
        """Queue for memory that ``try_take`` did not give; ``on_granted`` is called from ``release`` or ``cancel``."""
        assert size_bytes <= self.total_bytes, "what never fits is refused before"
        waiter = MemoryWaiter(size_bytes, on_granted)
        self._waiters.append(waiter)
        return waiter

    def cancel(self, waiter: MemoryWaiter) -> None:
        """Wait no longer; memory that was granted meanwhile is given back."""
        if waiter.is_granted:
            self.release(waiter.size_bytes)
        else:
            self._waiters.remove(waiter)
            self._grant()

    def release(self, size_bytes: int) -> None:
        """Give memory back; those who wait get it, oldest first."""
        self.available_bytes += size_bytes
        assert self.available_bytes <= self.total_bytes, "more memory given back than taken"
        if self._waiters:
            self._grant()

    def _grant(self) -> None:
        while self._waiters and self._waiters[0].size_bytes <= self.available_bytes:
            waiter = self._waiters.popleft()
            self.available_bytes -= waiter.size_bytes
            waiter.grant()
