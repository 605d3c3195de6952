"""Who appends to a log, which decides how much of an append is checked."""

from enum import Enum, auto


class AppendOrigin(Enum):
    """The source of an append."""

    REPLICATION = auto()
    """Copied from the leader, which has checked it: nothing is refused, oddities are logged."""

    COORDINATOR = auto()
    """Written by the group or transaction coordinator: epochs are checked, sequences are not."""

    CLIENT = auto()
    """A produce request: everything is checked."""

    RAFT_LEADER = auto()
    """Written by the raft leader, which has already given out the offsets."""
