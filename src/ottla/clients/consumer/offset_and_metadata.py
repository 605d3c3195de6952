"""What a group commits for a partition."""

from typing import NamedTuple

NO_LEADER_EPOCH = -1


class OffsetAndMetadata(NamedTuple):
    """The offset to read next, the leader epoch of the last record read (-1 unknown) and a note of the user's."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""


class OffsetAndTimestamp(NamedTuple):
    """The first offset at or after a time, the time of its record and its leader epoch (-1 unknown)."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_LEADER_EPOCH
