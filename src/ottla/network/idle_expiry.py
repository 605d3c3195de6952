"""Which connection has been idle the longest, and which too long (connections.max.idle.ms)."""

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class IdleExpiryManager(Generic[T]):
    """Connections in the order of their last activity; negative ``max_idle_ms`` never expires one."""

    __slots__ = ("_last_active_ms", "max_idle_ms")

    def __init__(self, max_idle_ms: int) -> None:
        self.max_idle_ms = max_idle_ms
        self._last_active_ms: OrderedDict[T, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._last_active_ms)

    def touch(self, connection: T, now_ms: int) -> None:
        """Something happened on this connection."""
        active = self._last_active_ms
        active[connection] = now_ms
        active.move_to_end(connection)

    def remove(self, connection: T) -> None:
        """It is closed."""
        self._last_active_ms.pop(connection, None)

    def least_recently_used(self) -> T | None:
        """The one that has been quiet the longest."""
        return next(iter(self._last_active_ms), None)

    def next_expiry_ms(self) -> int | None:
        """When the next connection will have been idle for too long."""
        if self.max_idle_ms < 0 or not self._last_active_ms:
            return None
        return next(iter(self._last_active_ms.values())) + self.max_idle_ms

    def poll_expired(self, now_ms: int) -> T | None:
        """A connection that has been idle for too long, if there is one; it is forgotten here."""
        expiry_ms = self.next_expiry_ms()
        if expiry_ms is None or now_ms <= expiry_ms:
            return None
        return self._last_active_ms.popitem(last=False)[0]
