"""The built-in partitioner for records without a key (KIP-794): stay with a partition, then move on.

It stays until ``batch.size`` bytes went to the partition and its last batch is full or gone, so that batches do not
stay small, and at most for twice as many. The next partition is drawn at random; shorter queues are drawn more often,
and a broker that cannot be sent to for too long is left out.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from random import Random


class PartitionLoad(NamedTuple):
    """How much waits for a partition; ``is_available`` is False where no leader is known or that does not answer."""

    partition: int
    queued_batches: int
    is_available: bool = True


class StickyPartitioner:
    """The current partition of one topic; -1 before the first."""

    __slots__ = ("_rng", "_started_at_bytes", "_sticky_bytes", "partition")

    def __init__(self, sticky_bytes: int, rng: "Random") -> None:
        self._sticky_bytes = max(1, sticky_bytes)
        self._rng = rng
        self._started_at_bytes = 0
        self.partition = -1

    def has_enough(self, appended_bytes: int, *, all_batches_full: bool) -> bool:
        """Whether it is time to move on, when so many bytes in all have gone to the current partition."""
        produced_bytes = appended_bytes - self._started_at_bytes
        return produced_bytes >= self._sticky_bytes * (1 if all_batches_full else 2)

    def switch(self, partition: int, appended_bytes: int) -> None:
        """Stay with ``partition`` from now on; so many bytes have gone there before."""
        self.partition = partition
        self._started_at_bytes = appended_bytes

    def draw(self, partitions: Sequence[int], available: Sequence[int]) -> int:
        """Any of those that have a leader; of all if none has."""
        among = available or partitions
        return among[self._rng.randrange(len(among))]

    def draw_by_load(self, loads: Sequence[PartitionLoad], available: Sequence[int]) -> int:
        """One of the available, the sooner the less waits for it; ``loads`` has all partitions of the topic."""
        among = [load for load in loads if load.is_available]
        if not among or len(loads) < 2:
            return self.draw([load.partition for load in loads], available)
        most = max(load.queued_batches for load in among) + 1
        frequencies = list(accumulate(most - load.queued_batches for load in among))
        return among[bisect_right(frequencies, self._rng.randrange(frequencies[-1]))].partition
