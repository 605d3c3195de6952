"""What a test appended to a partition, and what it was promised: the truth that a log is held against after a crash."""

import copy
from dataclasses import dataclass, field

from ottla.records.batch import RecordBatch, patch_offset_and_epoch


@dataclass
class History:
    """Batches in the order of their offsets; a crash may cut it anywhere from ``flushed_end`` on."""

    batches: list[bytes] = field(default_factory=list)
    flushed_end: int = 0

    @property
    def end(self) -> int:
        """The offset after the last batch."""
        return RecordBatch(self.batches[-1]).next_offset if self.batches else 0

    def up_to(self, offset: int) -> "History":
        """The batches below ``offset``, and what of the promise is left."""
        kept = [batch for batch in self.batches if RecordBatch(batch).next_offset <= offset]
        return History(kept, min(self.flushed_end, offset))


class Ledger:
    """The possible histories of one partition, the current one last.

    There is more than one only while the log is being truncated: a crash leaves it as it was, or as it becomes.
    """

    def __init__(self, *, compacted: bool = False, exists: bool = True) -> None:
        self.compacted = compacted
        self.histories = [History()]
        self.start_min = 0
        """The log start offset that is durable."""
        self.start_max = 0
        """The log start offset that was asked for, or allowed by retention."""
        self.given_up_below = 0
        """The highest of them ever. A crash may bring records back, but not what was known of their producers."""
        self.holes_allowed = False
        """Whether what was not flushed may be missing in the middle: of a compacted log nobody can tell."""
        self.exists = exists
        """False while a deletion may or may not have happened, or has."""
        self.must_be_gone = False
        self.damaged_from: int | None = None
        """A test has damaged the batch here: the log ends before it."""
        self.remembered_producers = set[int]()
        """Producers that must be known although their batches were given up: a durable snapshot has them."""

    @property
    def wanted_from(self) -> int:
        """Nobody has asked yet to give up what lies from here on."""
        return max(self.given_up_below, self.start_max)

    @property
    def current(self) -> History:
        """What the log should hold if nothing happens to it."""
        return self.histories[-1]

    def intend(self, batch: bytes | bytearray, base_offset: int, leader_epoch: int) -> None:
        """Note a batch before it is appended; a crash in the middle leaves it or does not."""
        final = bytearray(batch)
        patch_offset_and_epoch(final, 0, base_offset, leader_epoch)
        self.current.batches.append(bytes(final))

    def flushed(self, end_offset: int) -> None:
        """A flush that began at ``end_offset`` has returned."""
        self.histories = [self.current]
        self.current.flushed_end = max(self.current.flushed_end, end_offset)

    def truncate(self, offset: int) -> None:
        """Note a truncation before it begins."""
        before = self.current
        self.histories.append(before.up_to(offset))
        before.flushed_end = self.current.flushed_end

    def truncate_fully(self, offset: int) -> None:
        """Note that the log begins anew at ``offset``: of what there was, anything may be left."""
        self.current.flushed_end = 0
        self.histories += [History(), History()]
        self.start_min = 0
        self.start_max = max(self.start_max, offset)

    def copy(self) -> "Ledger":
        """One that can settle on its own."""
        other = copy.copy(self)
        other.histories = [History(list(history.batches), history.flushed_end) for history in self.histories]
        return other

    def settle(self, history: History, log_start_offset: int, log_end_offset: int) -> None:
        """Take what a start has found for the truth from now on."""
        self.histories = [History(history.up_to(log_end_offset).batches, log_end_offset)]
        self.given_up_below = max(self.given_up_below, self.start_max)
        self.start_min = self.start_max = log_start_offset
        self.damaged_from = None
