"""What a task has written, as it is told to the driver and recorded. Pure."""

from typing import NamedTuple

UNKNOWN_OFFSET = -1


class Written(NamedTuple):
    """What was written into a partition; others may have written between its offsets, which are -1 if unknown."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    records_count: int


class TaskTransaction(NamedTuple):
    """A transaction that is open until the driver ends it, and what it holds."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_v2: bool
    written: tuple[Written, ...]

    @property
    def records_count(self) -> int:
        """How many records it holds."""
        return sum(each.records_count for each in self.written)
