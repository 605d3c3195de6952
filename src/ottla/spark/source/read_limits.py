"""How much of what is there a micro-batch takes: ``maxOffsetsPerTrigger``, ``minOffsetsPerTrigger``. Pure."""

import math
from collections.abc import Mapping

from ottla.common.topic_partition import TopicPartition
from ottla.spark.source.offset_json import Offsets


def prorated(limit: int, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Offsets:
    """The end of a batch of about ``limit`` offsets, divided among partitions in proportion to what each has.

    A partition that has any gets one at least, so that small ones do not starve: with more partitions than ``limit``
    the batch is larger. One whose start is not known, or after its end, is not touched.
    """
    sizes = {each: end[each] - start[each] for each in end if each in start and end[each] > start[each]}
    total = float(sum(sizes.values()))
    if not sizes:
        return dict(end)
    limited = dict(end)
    for partition, size in sizes.items():
        share = limit * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        limited[partition] = min(start[partition] + taken, end[partition])
    return limited


class HoldBack:
    """Holds a batch back until there are ``min_offsets`` to read, or ``max_delay_ms`` have passed since the last.

    The first batch of a run is never held back.
    """

    __slots__ = ("_last_ms", "_max_delay_ms", "_min_offsets")

    def __init__(self, min_offsets: int, max_delay_ms: int) -> None:
        self._min_offsets = min_offsets
        self._max_delay_ms = max_delay_ms
        self._last_ms: int | None = None

    def holds(self, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int], now_ms: int) -> bool:
        """Whether to wait; if not, the batch counts as made now."""
        is_late = self._last_ms is None or now_ms - self._last_ms >= self._max_delay_ms
        new = sum(offset - start.get(partition, 0) for partition, offset in latest.items())
        if not is_late and new < self._min_offsets:
            return True
        self._last_ms = now_ms
        return False
