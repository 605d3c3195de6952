"""The promise of a ``send_batch``: what became of many records, without an object for each."""

import asyncio
import copy
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.clients.errors import IllegalStateError
from ottla.clients.producer.batch_outcome import NO_OFFSET, BatchOutcome
from ottla.common.errors import KafkaError
from ottla.common.extras import needs
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROWS_SHOWN: Final = 10


class PartitionDelivery(NamedTuple):
    """A partition's share: others may have written between its first and its last offset; -1 if they are unknown."""

    first_offset: int
    last_offset: int
    records_count: int


class Placement(NamedTuple):
    """Rows that stand side by side in a partition, the first of them at ``first_offset`` (-1 if it is unknown)."""

    partition: TopicPartition
    first_offset: int
    rows: Sequence[int]


class BatchFailure(NamedTuple):
    """Rows that were not delivered, or nobody knows, and why."""

    error: KafkaError
    rows: Sequence[int]


class BatchMetadata:
    """Where the records of a ``send_batch`` are; rows count from 0 in the order in which they were given."""

    __slots__ = ("_placements", "count", "partitions")

    def __init__(self, placements: Sequence[Placement], count: int) -> None:
        self._placements = placements
        self.count = count
        self.partitions: Mapping[TopicPartition, PartitionDelivery] = _by_partition(placements)

    def placements(self) -> Sequence[Placement]:
        """Which rows are where, in runs."""
        return self._placements

    def offsets(self) -> "NDArray[np.int64]":
        """Each row's offset. Needs numpy."""
        with needs("fast", "BatchMetadata.offsets()"):
            import numpy as np

        found = np.full(self.count, NO_OFFSET, np.int64)
        for _, first_offset, rows in self._placements:
            if first_offset != NO_OFFSET:
                found[_index(rows)] = np.arange(first_offset, first_offset + len(rows))
        return found

    def partition_numbers(self) -> "NDArray[np.int32]":
        """Each row's partition. Needs numpy."""
        with needs("fast", "BatchMetadata.partition_numbers()"):
            import numpy as np

        found = np.full(self.count, -1, np.int32)
        for partition, _, rows in self._placements:
            found[_index(rows)] = partition.partition
        return found


class BatchDelivery:
    """The records of one ``send_batch`` on their way; ``await`` it for their metadata.

    If any record failed, awaiting raises the error of the first one that did, with a note that names the rows;
    ``failures`` has all of them, and the others are delivered nevertheless. It belongs to the event loop of its
    producer. Any number may await it, once or again; one that is cancelled leaves the records on their way.
    """

    __slots__ = ("_failures", "_pieces", "count", "is_cut_short")

    def __init__(self) -> None:
        self.count = 0
        """How many rows there are."""
        self.is_cut_short = False
        """Whether something stopped the producer before it had taken all rows; an iterable was read no further."""
        self._pieces: list[tuple[BatchOutcome, int, Sequence[int]]] = []
        self._failures: list[BatchFailure] = []

    def add(self, outcome: BatchOutcome, first_index: int, rows: Sequence[int]) -> None:
        """These rows are in a batch, one after the other from ``first_index`` on. For the producer."""
        self._pieces.append((outcome, first_index, rows))

    def add_failure(self, error: KafkaError, rows: Sequence[int]) -> None:
        """These rows were not even taken. For the producer."""
        if len(rows):
            self._failures.append(BatchFailure(error, rows))

    def extend(self, other: "BatchDelivery") -> None:
        """Rows of another that follow upon these. For the producer."""
        for outcome, first_index, rows in other._pieces:
            self._pieces.append((outcome, first_index, _shifted(rows, self.count)))
        for error, rows in other._failures:
            self._failures.append(BatchFailure(error, _shifted(rows, self.count)))
        self.count += other.count
        self.is_cut_short |= other.is_cut_short

    def missing(self, start: int) -> list[int]:
        """The rows from ``start`` on of which nothing was said. For the producer."""
        known = {
            int(row)
            for rows in (*(piece[2] for piece in self._pieces), *(failure.rows for failure in self._failures))
            if rows[-1] >= start
            for row in rows
        }
        return [row for row in range(start, self.count) if row not in known]

    def done(self) -> bool:
        """Whether the outcome of all is known."""
        return all(outcome.first_pending() is None for outcome, _, _ in self._pieces)

    def failures(self) -> list[BatchFailure]:
        """Which rows failed, and why. IllegalStateError while any is under way."""
        if not self.done():
            raise IllegalStateError("Records of the batch are still on their way")
        found = list(self._failures)
        for leaf, first_index, rows in self._leaves():
            if leaf.error is None:
                continue
            own = leaf.record_errors or {}
            rest = [row for index, row in enumerate(rows, first_index) if index not in own]
            if rest:
                found.append(BatchFailure(leaf.error, rest if own else rows))
            found += [
                BatchFailure(error, [int(rows[index - first_index])])
                for index, error in sorted(own.items())
                if 0 <= index - first_index < len(rows)
            ]
        return sorted(found, key=_first_row)

    def result(self) -> BatchMetadata:
        """Where the records are; raises as awaiting does, and IllegalStateError while any is under way."""
        failures = self.failures()
        if failures:
            raise _described(failures, self.count)
        placements = [
            Placement(leaf.topic_partition, leaf.offset_of(first_index), rows)
            for leaf, first_index, rows in self._leaves()
        ]
        return BatchMetadata(placements, self.count)

    async def settled(self) -> None:
        """Wait until the outcome of all is known, and raise nothing of it."""
        for outcome, _, _ in self._pieces:
            while (pending := outcome.first_pending()) is not None:
                future = asyncio.get_running_loop().create_future()
                pending.add_waiter(0, partial(_wake, future))
                await future

    def __await__(self) -> Generator[Any, None, BatchMetadata]:
        yield from self.settled().__await__()
        return self.result()

    def add_done_callback(self, callback: Callable[["BatchDelivery"], object]) -> None:
        """Call ``callback(delivery)`` on the loop once the outcome of all is known."""
        loop = asyncio.get_running_loop()
        pending = next((found for piece in self._pieces if (found := piece[0].first_pending()) is not None), None)
        if pending is None:
            loop.call_soon(callback, self)
        else:
            pending.add_waiter(0, partial(self.add_done_callback, callback))

    def _leaves(self) -> Iterator[tuple[BatchOutcome, int, Sequence[int]]]:
        """Rows by the outcome that decided over them: a batch may have been split."""
        for outcome, first_index, rows in self._pieces:
            at = 0
            for leaf, first, last in outcome.leaves(first_index, first_index + len(rows)):
                yield leaf, first, rows[at : at + last - first]
                at += last - first


def _index(rows: Sequence[int]) -> Any:
    """For numpy, which takes a slice faster than the numbers in it."""
    return slice(rows.start, rows.stop) if isinstance(rows, range) else rows


def _shifted(rows: Sequence[int], count: int) -> Sequence[int]:
    if isinstance(rows, range):
        return range(rows.start + count, rows.stop + count)
    return [int(row) + count for row in rows]


def _by_partition(placements: Sequence[Placement]) -> dict[TopicPartition, PartitionDelivery]:
    found: dict[TopicPartition, PartitionDelivery] = {}
    for partition, first_offset, rows in placements:
        before = found.get(partition)
        last_offset = NO_OFFSET if first_offset == NO_OFFSET else first_offset + len(rows) - 1
        if before is None:
            found[partition] = PartitionDelivery(first_offset, last_offset, len(rows))
        else:
            count = before.records_count + len(rows)
            found[partition] = PartitionDelivery(before.first_offset, max(before.last_offset, last_offset), count)
    return found


def _first_row(failure: BatchFailure) -> int:
    return int(min(failure.rows))


def _described(failures: Sequence[BatchFailure], count: int) -> KafkaError:
    """The first error, with a note on the rows; a copy, since others may raise the same object."""
    error = copy.copy(failures[0].error)
    failed = sorted(int(row) for failure in failures for row in failure.rows)
    shown = ", ".join(map(str, failed[:_ROWS_SHOWN]))
    more = f" and {len(failed) - _ROWS_SHOWN} more" if len(failed) > _ROWS_SHOWN else ""
    error.add_note(f"{len(failed)} of {count} rows were not delivered: {shown}{more}")
    return error


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():  # whoever waited may have been cancelled
        future.set_result(None)
