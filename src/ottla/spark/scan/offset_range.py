"""What a task reads of one partition."""

from typing import NamedTuple


class OffsetRange(NamedTuple):
    """The records of a partition from ``start_offset`` up to, and without, ``end_offset``."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
