"""What a shard has appended and followers have not taken over yet, in the order of the log, and who waits for it."""

from collections import deque
from collections.abc import Callable

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.coordinator.errors import coordinator_error, not_coordinator
from ottla.coordinator.ports import Acknowledge

AwaitCommitted = Callable[[int, Acknowledge], bool]
"""Whether everything below an offset is committed; if not yet, it calls back when it is."""


class Uncommitted:
    """One append, up to ``end_offset``. Transitions: waiting → settled, for good: committed, or given up."""

    __slots__ = ("_queue", "end_offset", "error", "is_settled", "waiting")

    def __init__(self, queue: "CommitQueue", end_offset: int = -1) -> None:
        self._queue = queue
        self.end_offset = end_offset
        self.waiting: list[Acknowledge] = []
        self.is_settled = False
        self.error: KafkaError | None = None

    def acknowledge(self, error: KafkaError | None) -> None:
        """Take the outcome from the partition."""
        self._queue.settle(self, error)


class CommitQueue:
    """Releases answers when everything that they may have been made from is committed."""

    __slots__ = ("_await_committed", "_entries")

    def __init__(self, await_committed: AwaitCommitted) -> None:
        self._await_committed = await_committed
        self._entries: deque[Uncommitted] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether everything is committed."""
        return not self._entries

    def expect(self, end_offset: int) -> None:
        """Wait for everything below an offset, unless it is committed."""
        entry = Uncommitted(self, end_offset)
        if not self._await_committed(end_offset, entry.acknowledge):
            self._entries.append(entry)

    def add(self, entry: Uncommitted, end_offset: int) -> None:
        """Something was appended whose acknowledgement is still to come."""
        entry.end_offset = end_offset
        self._entries.append(entry)

    def release_after_last(self, release: Acknowledge) -> None:
        """Call back when the last append is committed; there is one."""
        self._entries[-1].waiting.append(release)

    def settle(self, entry: Uncommitted, error: KafkaError | None) -> None:
        """An append is committed or given up: release, in the order of the log, what waits for it.

        One that took too long is answered so; but it is in the log, and whoever comes later still has to wait for it.
        """
        if entry.is_settled:
            return  # the queue was closed meanwhile
        if error is not None and error.code == ErrorCode.REQUEST_TIMED_OUT:
            waiting, entry.waiting = entry.waiting, []
            for release in waiting:
                release(coordinator_error(error))
            try:
                if not self._await_committed(entry.end_offset, entry.acknowledge):
                    return
                error = None
            except KafkaError as lost:
                error = lost
        entry.is_settled = True
        entry.error = None if error is None else coordinator_error(error)
        entries = self._entries
        while entries and entries[0].is_settled:
            settled = entries.popleft()
            for release in settled.waiting:
                release(settled.error)

    def close(self) -> None:
        """Answer everything that waits with NOT_COORDINATOR."""
        entries, self._entries = self._entries, deque()
        for entry in entries:
            entry.is_settled = True
            for release in entry.waiting:
                release(not_coordinator())
