"""What the commit protocol asks its driver to do, and what it gets for it. Pure."""

from dataclasses import dataclass
from enum import Enum

from ottla.spark.sink.decision import Decision
from ottla.spark.sink.task_transaction import TaskTransaction


class Status(Enum):
    """What has become of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown to its coordinator"


Statuses = dict[str, Status]
"""By transactional id."""


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """Read the state topic to its end. Gives the SinkHistory."""


@dataclass(frozen=True, slots=True)
class Describe:
    """Ask the coordinators. Gives Statuses."""

    transactions: tuple[TaskTransaction, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Append a decision to the state topic; gives nothing. Whether it counts is for the history to tell."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Finish:
    """Append that a decision is done, and tombstones of what it supersedes; ``forget``: of itself too."""

    decision: Decision
    forget: bool


@dataclass(frozen=True, slots=True)
class End:
    """Commit or abort transactions. Gives Statuses, none of which is OPEN; may be repeated."""

    transactions: tuple[TaskTransaction, ...]
    is_commit: bool


@dataclass(frozen=True, slots=True)
class Examine:
    """Find in the partitions how transactions ended. Gives Statuses: COMMITTED or ABORTED; RecordsLostError."""

    transactions: tuple[TaskTransaction, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Write the records of aborted transactions again, in one that stays open. Gives it; RecordsLostError."""

    transactions: tuple[TaskTransaction, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Abort every open transaction of the sink whose id is not in ``keep``; gives nothing."""

    keep: frozenset[str]


Action = ReadHistory | Describe | Record | Finish | End | Examine | Rewrite | Sweep
