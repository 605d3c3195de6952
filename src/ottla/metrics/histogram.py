"""A histogram of non-negative integers: exact below 16, within an eighth above."""

from collections.abc import Sequence
from typing import Final

QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)

# Every power of two is divided into 8 buckets. Bucket numbers of small values come from a table: that is quicker than
# bit_length and two shifts, and most latencies in microseconds are small.
_SUB_BUCKET_BITS: Final = 3
_EXACT_BITS: Final = _SUB_BUCKET_BITS + 1
_MAX_BITS: Final = 63
_BUCKETS: Final = ((_MAX_BITS - _EXACT_BITS) << _SUB_BUCKET_BITS) + (1 << _EXACT_BITS)


def bucket_of(value: int) -> int:
    """The number of the bucket that holds a value."""
    shift = value.bit_length() - _EXACT_BITS
    return value if shift <= 0 else (shift << _SUB_BUCKET_BITS) + (value >> shift)


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The first and the last value of a bucket."""
    if bucket < 1 << _EXACT_BITS:
        return bucket, bucket
    shift = (bucket >> _SUB_BUCKET_BITS) - 1
    first = (bucket - (shift << _SUB_BUCKET_BITS)) << shift
    return first, first + (1 << shift) - 1


TABLE_SIZE: Final = 4096
BUCKET_TABLE: Final = bytes(map(bucket_of, range(TABLE_SIZE)))


class Histogram:
    """Counts values in buckets, for ever; quantiles are of late.

    `rotate`, called every few minutes, remembers the counts so far: quantiles cover what came since the rotation before
    the last one, as Apache's are biased to the last five minutes. Count, sum and max cover everything. `divisor`
    converts what is recorded to what is shown (1000: microseconds shown as milliseconds).
    """

    __slots__ = ("_marks", "buckets", "divisor", "max", "sum")

    def __init__(self, divisor: int = 1) -> None:
        self.divisor = divisor
        self.buckets = [0] * (BUCKET_TABLE[-1] + 1)  # grown by the first large value: most histograms never see one
        self.sum = 0
        self.max = 0
        self._marks: tuple[Sequence[int], Sequence[int]] = ((), ())

    def record(self, value: int) -> None:
        """Counts a value; a negative one (a clock's fault) counts as 0."""
        if value <= 0:
            self.buckets[0] += 1
        elif value < TABLE_SIZE:
            self.buckets[BUCKET_TABLE[value]] += 1
            self.sum += value
            if value > self.max:  # noqa: PLR1730 (max() is a call)
                self.max = value
        else:
            self.record_large(value)

    def record_large(self, value: int) -> None:
        """Counts a value that the table does not cover."""
        shift = value.bit_length() - _EXACT_BITS
        try:
            self.buckets[(shift << _SUB_BUCKET_BITS) + (value >> shift)] += 1
        except IndexError:
            self.buckets.extend([0] * (_BUCKETS - len(self.buckets)))
            self.buckets[min(bucket_of(value), _BUCKETS - 1)] += 1
        self.sum += value
        if value > self.max:  # noqa: PLR1730 (max() is a call)
            self.max = value

    @property
    def count(self) -> int:
        """How many values were recorded."""
        return sum(self.buckets)

    def rotate(self) -> None:
        """Begins a new interval for the quantiles."""
        self._marks = (self._marks[1], tuple(self.buckets) if any(self.buckets) else ())

    def percentile(self, q: float) -> float:
        """The value below which the share `q` of the late values lies, as recorded; 0 without any."""
        return self.percentiles((q,))[0]

    def percentiles(self, quantiles: Sequence[float]) -> list[float]:
        """Several of them, in ascending order, in one pass."""
        before = self._marks[0]
        late = self.buckets.copy()
        for bucket, count in enumerate(before):
            late[bucket] -= count
        total = sum(late)
        if not total:
            return [0.0] * len(quantiles)
        answers: list[float] = []
        seen = 0
        numbered = iter(enumerate(late))
        bucket = 0
        for q in quantiles:
            while seen < q * total or not seen:
                bucket, count = next(numbered)
                seen += count
            first, last = bucket_bounds(bucket)
            answers.append(min((first + last) / 2, self.max))
        return answers
