"""Files that wait for their deletion.

A segment leaves the log at once (its files get the suffix ``.deleted``), but stays on the disk for
``file.delete.delay.ms``: a fetch that was answered before may still be sending from it. A restart removes whatever
still carries the suffix. The delay goes by the monotonic clock: a wall clock that is set must not take a file from
under a fetch, nor keep it for hours.
"""

import heapq
import logging
from collections.abc import Callable
from itertools import count

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)


class DelayedDeletions:
    """Deletions by the time they are due. Nothing happens by itself: somebody calls :meth:`run_due`."""

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        self._monotonic_ms = monotonic_ms
        self._queue: list[tuple[int, int, str, Callable[[], None]]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._queue)

    def schedule(self, delay_ms: int, what: str, delete: Callable[[], None]) -> None:
        """Delete ``what`` once ``delay_ms`` have passed."""
        heapq.heappush(self._queue, (self._monotonic_ms() + delay_ms, next(self._order), what, delete))

    def run_due(self) -> int:
        """Carry out what is due; returns how many. A file that cannot be deleted is reported and left to the next
        start, or for want of open files or memory to the next call.
        """
        return self._run_until(self._monotonic_ms())

    def run_all(self) -> int:
        """Carry out everything, as at shutdown."""
        return self._run_until(max((due_ms for due_ms, *_ in self._queue), default=0))

    def _run_until(self, monotonic_ms: int) -> int:
        done = 0
        refused: list[tuple[str, Callable[[], None]]] = []
        while self._queue and self._queue[0][0] <= monotonic_ms:
            _, _, what, delete = heapq.heappop(self._queue)
            try:
                delete()
            except (OSError, KafkaStorageError) as error:
                logger.error("Could not delete %s: %s", what, in_words(error))
                if isinstance(error, ResourceShortageError) or is_shortage(error):
                    refused.append((what, delete))
            else:
                logger.info("Deleted %s", what)
                done += 1
        for what, delete in refused:
            self.schedule(0, what, delete)
        return done
