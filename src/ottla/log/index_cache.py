"""Sealed indexes in memory: a bounded, least-recently-used set.

The active segment's indexes always stay in memory and are not counted here; a sealed one is read when it is asked for
and forgotten when others need its room.
"""

from collections import OrderedDict
from typing import Protocol

DEFAULT_MAX_BYTES = 64 << 20


class Cached(Protocol):
    """An index that can let go of its entries."""

    def unload(self) -> None:
        """Forget the entries; the file has them."""


class IndexCache:
    """Who is loaded, by recency; ``max_bytes`` bounds the entries kept, whatever was used last always stays."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._loaded: OrderedDict[Cached, int] = OrderedDict()
        self.used_bytes = 0

    def admit(self, index: Cached, size_bytes: int) -> None:
        """Count a freshly loaded index and unload those used longest ago until the bound holds."""
        self.discard(index)
        self._loaded[index] = size_bytes
        self.used_bytes += size_bytes
        while self.used_bytes > self._max_bytes and len(self._loaded) > 1:
            oldest, freed_bytes = self._loaded.popitem(last=False)
            self.used_bytes -= freed_bytes
            oldest.unload()

    def touch(self, index: Cached) -> None:
        """Note a use of a loaded index."""
        self._loaded.move_to_end(index)

    def discard(self, index: Cached) -> None:
        """Stop counting an index that is gone or has become active."""
        self.used_bytes -= self._loaded.pop(index, 0)
