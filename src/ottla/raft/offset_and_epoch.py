"""Two pairs that name a point in the metadata log, and who leads it. Pure."""

from typing import NamedTuple


class OffsetAndEpoch(NamedTuple):
    """A log's end, or a snapshot's id: the first offset that is not in it, and the epoch of the last one that is.

    Epochs are compared first: ``sort_key``, never the tuple itself.
    """

    offset: int
    epoch: int

    @property
    def sort_key(self) -> tuple[int, int]:
        """By epoch, then by offset."""
        return self.epoch, self.offset


class LeaderAndEpoch(NamedTuple):
    """Who leads in an epoch, None while nobody is known to."""

    leader_id: int | None
    epoch: int

    def is_leader(self, node_id: int) -> bool:
        """Whether this node leads."""
        return self.leader_id == node_id


UNKNOWN_LEADER = LeaderAndEpoch(None, 0)
