"""How many bytes of requests may be held at a time (queued.max.request.bytes)."""


class MemoryPool:
    """A counter of bytes; it hands out leave to allocate, not memory.

    As Apache's pool it is not strict: a request gets its allowance as long as *any* byte is free, so that one larger
    than what is left is not starved; what is held stays below ``size_bytes`` plus one request.
    """

    __slots__ = ("_depleted_since_ns", "available_bytes", "depleted_time_ns", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.available_bytes = size_bytes
        self.depleted_time_ns = 0
        """How long in all the pool has refused."""
        self._depleted_since_ns = 0

    @property
    def used_bytes(self) -> int:
        """What is held now."""
        return self.size_bytes - self.available_bytes

    def is_out_of_memory(self) -> bool:
        """Whether the next request would be refused."""
        return self.available_bytes <= 0

    def is_low(self) -> bool:
        """Whether less than a tenth is left: then channels are read in a random order, so that none starves."""
        return self.available_bytes * 10 < self.size_bytes

    def try_allocate(self, size_bytes: int, now_ns: int) -> bool:
        """Take an allowance, or learn that there is none; the first refusal begins a dry spell."""
        if self.available_bytes <= 0:
            self._depleted_since_ns = self._depleted_since_ns or now_ns
            return False
        self.available_bytes -= size_bytes
        self._end_dry_spell(now_ns)
        return True

    def release(self, size_bytes: int, now_ns: int) -> None:
        """Give an allowance back."""
        self.available_bytes += size_bytes
        assert self.available_bytes <= self.size_bytes, "more memory came back than was taken"
        self._end_dry_spell(now_ns)

    def _end_dry_spell(self, now_ns: int) -> None:
        if self._depleted_since_ns:
            self.depleted_time_ns += now_ns - self._depleted_since_ns
            self._depleted_since_ns = 0


class NoMemoryPool(MemoryPool):
    """Every request gets its memory: queued.max.request.bytes is not set."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(2**63 - 1)

    def is_out_of_memory(self) -> bool:
        """Never."""
        return False

    def is_low(self) -> bool:
        """Never."""
        return False

    def try_allocate(self, size_bytes: int, now_ns: int) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def release(self, size_bytes: int, now_ns: int) -> None:
        """Nothing was taken."""
