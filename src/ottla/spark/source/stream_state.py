"""A stream's run: its first offsets, and where each micro-batch ends. Pure: what the cluster says is passed in."""

from collections.abc import Collection, Mapping

from ottla.common.topic_partition import TopicPartition
from ottla.spark.source.batch_ranges import BatchRanges, ranges_between
from ottla.spark.source.offset_json import Offsets
from ottla.spark.source.read_limits import HoldBack, prorated


class StreamState:
    """New → (``begin``, if there is no checkpoint or its first batch is not done) → ``end_of_batch`` … .

    Spark logs where a batch ends, never where the first one began, and a run that takes over an unfinished first batch
    asks for the beginning again. Where that is the end of a partition (``floating``), it has moved by then. So the
    first batch takes nothing of such a partition: its logged end is the beginning, and what a later run says instead
    does not matter.
    """

    __slots__ = ("_floating", "_has_made_batch", "_hold_back", "_is_first_made", "_max_offsets", "initial", "target")

    def __init__(self, max_offsets: int | None, hold_back: HoldBack | None) -> None:
        self._max_offsets = max_offsets
        self._hold_back = hold_back
        self._floating: frozenset[TopicPartition] = frozenset()
        self._has_made_batch = False
        self._is_first_made = False
        self.initial: Offsets | None = None
        """Where the query begins; None until ``begin``."""
        self.target: Offsets | None = None
        """Where the run ends (Trigger.AvailableNow); None if it goes on."""

    def begin(self, initial: Offsets, floating: Collection[TopicPartition]) -> None:
        """The query begins here."""
        self.initial = initial
        self._floating = frozenset(floating)

    def end_of_batch(
        self,
        start: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        first_of_new: Mapping[TopicPartition, int],
        now_ms: int,
        *,
        is_limited: bool,
    ) -> Offsets:
        """Where the next batch ends: ``start`` if there is to be none yet.

        Without ``is_limited`` it takes all there is. A run that has a target holds nothing back, or it might not get
        there.
        """
        self._has_made_batch |= self._is_first_made
        pinned = self._pinned(start, latest)
        self._has_made_batch = True
        end: Offsets = {**latest, **pinned}
        if not is_limited:
            return end
        if self._hold_back is not None and self.target is None and self._hold_back.holds(start, end, now_ms):
            return dict(start)
        if self._max_offsets is None:
            return end
        return prorated(self._max_offsets, {**first_of_new, **start}, end)

    def first_end(self, latest: Mapping[TopicPartition, int], *, is_new: bool) -> Offsets:
        """As the first ``end_of_batch`` of a run whose start Spark does not tell: it takes all there is.

        The run may still have to do a first batch of an earlier one, so ``ranges`` does not take that for made.
        """
        self._is_first_made = True
        return {**latest, **(self._pinned(self.initial or {}, latest) if is_new else {})}

    def ranges(
        self,
        start: Mapping[TopicPartition, int],
        end: Mapping[TopicPartition, int],
        first_of_new: Mapping[TopicPartition, int],
    ) -> BatchRanges:
        """What a batch reads, and what of it is lost."""
        if self._has_made_batch or self.initial is None or start != self.initial:
            return ranges_between(start, end, first_of_new)
        # The first batch of an earlier run: what has come since belongs to the next one.
        begun = {
            each: min(offset, end[each]) if each in self._floating else offset
            for each, offset in start.items()
            if each in end
        }
        return ranges_between(begun, end, first_of_new)

    def _pinned(self, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> Offsets:
        if self._has_made_batch or start != self.initial:
            return {}
        return {each: start[each] for each in self._floating if each in latest}
