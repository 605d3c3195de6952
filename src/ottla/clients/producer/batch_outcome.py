"""What became of a batch, for those who hold on to its records' deliveries long after the batch itself is gone."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

NO_OFFSET: Final = -1

Waiter = Callable[[], None]


class RecordMetadata(NamedTuple):
    """Where a record is; ``offset`` is -1 where the broker does not say (acks=0, or a duplicate long ago)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    serialized_key_size: int
    serialized_value_size: int


class BatchOutcome:
    """Open → done, by ``succeed`` or ``fail``; or open → split, and then those that it was split into decide.

    Waiters are called once, in the order in which they came.
    """

    __slots__ = (
        "_children",
        "_first_indexes",
        "_waiters",
        "base_offset",
        "error",
        "is_done",
        "log_append_time_ms",
        "record_errors",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.is_done = False
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = -1
        self.error: KafkaError | None = None
        self.record_errors: Mapping[int, KafkaError] | None = None
        """By the record's index, for those that have an error of their own."""
        self._waiters: list[tuple[int, Waiter]] = []
        self._first_indexes: list[int] = []
        self._children: Sequence[BatchOutcome] = ()

    def succeed(self, base_offset: int, log_append_time_ms: int) -> None:
        """The records are in the log."""
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self._finish()

    def fail(self, error: KafkaError, record_errors: Mapping[int, KafkaError] | None = None) -> None:
        """They are not, or nobody knows."""
        self.error = error
        self.record_errors = record_errors
        self._finish()

    def split(self, children: Sequence[tuple[int, "BatchOutcome"]]) -> None:
        """From each index on, up to the next one, the records are another batch's now."""
        assert not self.is_done
        self._first_indexes = [first for first, _ in children]
        self._children = [outcome for _, outcome in children]
        waiters, self._waiters = self._waiters, []
        for index, waiter in waiters:
            outcome, place = self.find(index)
            outcome.add_waiter(place, waiter)

    def find(self, index: int) -> tuple["BatchOutcome", int]:
        """The outcome that decides over a record now, and the record's index there."""
        outcome = self
        while outcome._children:
            child = bisect_right(outcome._first_indexes, index) - 1
            index -= outcome._first_indexes[child]
            outcome = outcome._children[child]
        return outcome, index

    def leaves(self, first: int, last: int) -> Iterator[tuple["BatchOutcome", int, int]]:
        """The outcomes that decide over records ``first`` to ``last`` now, in order, and which records of theirs."""
        if not self._children:
            yield self, first, last
            return
        ends = (*self._first_indexes[1:], last)
        for child, begin, end in zip(self._children, self._first_indexes, ends, strict=True):
            if begin < last and end > first:
                yield from child.leaves(max(first, begin) - begin, min(last, end) - begin)

    def first_pending(self) -> "BatchOutcome | None":
        """One that is not done, of those that this was split into, or itself; None if all is known."""
        if not self._children:
            return None if self.is_done else self
        return next((found for child in self._children if (found := child.first_pending()) is not None), None)

    def add_waiter(self, index: int, waiter: Waiter) -> None:
        """Call ``waiter`` when a record's outcome is known; not before, so ask ``is_done`` first."""
        assert not self.is_done
        self._waiters.append((index, waiter))

    def error_of(self, index: int) -> KafkaError | None:
        """Why a record failed."""
        if self.record_errors is not None:
            return self.record_errors.get(index, self.error)
        return self.error

    def offset_of(self, index: int) -> int:
        """Where a record is in its partition."""
        return NO_OFFSET if self.base_offset == NO_OFFSET else self.base_offset + index

    def _finish(self) -> None:
        assert not self.is_done, "the outcome is known already"
        self.is_done = True
        waiters, self._waiters = self._waiters, []
        for _, waiter in waiters:
            waiter()
