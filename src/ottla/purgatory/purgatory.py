"""Delayed operations by the keys that may complete them."""

import logging
import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from ottla.purgatory.delayed_operation import DelayedOperation
from ottla.purgatory.timer import Timer

# How many watched entries one turn looks at when it purges: some 50 µs.
PURGE_SHARD_ENTRIES: Final = 1000

_logger = logging.getLogger(__name__)

Operation = TypeVar("Operation", bound=DelayedOperation)


class Purgatory(Generic[Operation]):
    """Holds operations until an event on one of their keys, or their timeout, completes them.

    The timer belongs to this purgatory alone: its size is the number of operations that wait.

    An operation that one key completed stays in the lists of its other keys until an event on those, or a purge. A
    purge is due when more than `purge_interval` operations were completed since the last one (0: after each). Apache
    shards its watchers to divide a lock; with one reactor there is nothing to lock, and what must be divided is time: a
    purge goes through the watchers in shards of `PURGE_SHARD_ENTRIES` entries, one shard a call of `advance`.

    Everything may be called from within an operation's own methods. No decision is taken on a list while an operation's
    code may change it: operations are tried from a copy, and lists are swept with no foreign code running.
    """

    def __init__(self, name: str, timer: Timer, purge_interval: int = 1000) -> None:
        self.name = name
        self._timer = timer
        self._purge_interval = purge_interval
        self.watchers: dict[Hashable, list[Operation]] = {}
        """Who waits for what; to be looked at, so that an event that nobody waits for costs no call."""
        self._estimated_total_operations = 0
        self._purge: Iterator[None] | None = None

    @property
    def watched(self) -> int:
        """PurgatorySize: all entries of all watch lists, completed operations that await a purge among them."""
        return sum(map(len, self.watchers.values()))

    @property
    def watched_keys(self) -> int:
        """The number of keys with a watch list."""
        return len(self.watchers)

    @property
    def num_delayed(self) -> int:
        """NumDelayedOperations: the operations whose timeout runs."""
        return self._timer.size

    @property
    def expired(self) -> int:
        """How many operations their timeout has completed so far."""
        return self._timer.expired

    def try_complete_else_watch(self, operation: Operation, keys: Sequence[Hashable]) -> bool:
        """Completes the operation if it can be, else watches the keys and starts its timeout; True when it completed.

        The condition is tried again after the operation is on every list: an event in between is seen by that second
        try, and any later one by `check_and_complete`. Trying at each key would cost keys², as a try looks at all keys.
        An operation whose delay is not positive expires before this returns.
        """
        assert keys, "The watch key list can't be empty"
        if operation.try_complete():
            return True
        if operation.is_completed:  # by something that its own try set off
            return False
        watchers = self.watchers
        for key in keys:
            operations = watchers.get(key)
            if operations is None:
                watchers[key] = [operation]
            else:
                operations.append(operation)
        self._estimated_total_operations += 1
        if operation.try_complete():
            return True
        if not operation.is_completed:
            self._timer.add(operation)
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Tries the operations that watch the key, after an event on it; answers how many this completed."""
        operations = self.watchers.get(key)
        if operations is None:
            return 0
        completed = 0
        stale = False
        for operation in tuple(operations):
            if not operations:  # swept or cancelled by what an operation did
                break
            if operation.is_completed:
                stale = True
            elif operation.try_complete():
                completed += 1
        if completed or stale:
            self._sweep(key, operations)
        if completed:
            if self._needs_purge():
                self._timer.on_earlier_deadline(0)
            _logger.debug("Request key %s unblocked %d %s operations", key, completed, self.name)
        return completed

    def cancel_for_key(self, key: Hashable) -> list[Operation]:
        """Stops watching the key and the timeouts of those who did; answers them, not completed.

        They stay on the lists of their other keys, and may still be completed there.
        """
        operations = self.watchers.pop(key, None)
        if operations is None:
            return []
        cancelled = [operation for operation in operations if not operation.is_completed]
        operations.clear()
        for operation in cancelled:
            operation.cancel()
        return cancelled

    def advance(self, now_ms: int, limit: int = sys.maxsize) -> int:
        """Expires what is due, `limit` operations at most, purges one shard if need be; answers how many expired."""
        expired = self._timer.advance(now_ms, limit)
        if self._purge is None and self._needs_purge():
            # What completes while the purge goes on may be looked at or not: it counts for the next purge.
            self._estimated_total_operations = self._timer.size
            self._purge = self._purge_shards()
        if self._purge is not None and next(self._purge, self) is self:
            self._purge = None
        return expired

    def next_deadline_ms(self) -> int | None:
        """When to call `advance` next; 0, which is at once, while there is something to purge; None if never."""
        if self._purge is not None or self._needs_purge():
            return 0
        return self._timer.next_deadline_ms()

    def _needs_purge(self) -> bool:
        return self._estimated_total_operations - self._timer.size > self._purge_interval

    def _purge_shards(self) -> Iterator[None]:
        keys = list(self.watchers)
        watchers = self.watchers
        purged = 0
        shard = PURGE_SHARD_ENTRIES
        for key in keys:
            operations = watchers.get(key)
            if operations is not None:
                shard -= len(operations)
                purged += self._sweep(key, operations)
                if shard <= 0:
                    shard = PURGE_SHARD_ENTRIES
                    yield
        _logger.debug("Purged %d elements from %s watch lists.", purged, self.name)

    def _sweep(self, key: Hashable, operations: list[Operation]) -> int:
        before = len(operations)
        operations[:] = [operation for operation in operations if not operation.is_completed]
        if not operations and self.watchers.get(key) is operations:
            del self.watchers[key]
        return before - len(operations)
