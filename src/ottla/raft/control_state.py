"""What the control records of the metadata log say: the voters and the kraft.version, and from which offset on. Pure.

Uncommitted records count: the quorum that commits a change of voters is already the changed one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Generic, TypeVar

from ottla.raft.voter_set import VoterSet
from ottla.records.control_messages import KRaftControlMessage, KRaftVersionRecord, VotersRecord

T = TypeVar("T")

BOOTSTRAP_OFFSET = -1
"""The offset of what the snapshot at 0-0 says, which a formatted directory begins with."""


class LogHistory(Generic[T]):
    """Values by the offset they hold from, ascending."""

    __slots__ = ("_offsets", "_values")

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._values: list[T] = []

    def add(self, offset: int, value: T) -> None:
        """Let a value hold from ``offset`` on, which is after all others."""
        assert offset >= BOOTSTRAP_OFFSET, f"offset {offset} is before the log"
        assert not self._offsets or offset > self._offsets[-1], f"{offset} does not follow {self._offsets[-1]}"
        self._offsets.append(offset)
        self._values.append(value)

    def at(self, offset: int) -> T | None:
        """The value that holds at ``offset``."""
        slot = bisect_right(self._offsets, offset)
        return self._values[slot - 1] if slot else None

    @property
    def last(self) -> tuple[int, T] | None:
        """The latest value with its offset."""
        return (self._offsets[-1], self._values[-1]) if self._offsets else None

    def truncate_new(self, end_offset: int) -> None:
        """Forget what began at ``end_offset`` or later."""
        while self._offsets and self._offsets[-1] >= end_offset:
            self._offsets.pop()
            self._values.pop()

    def truncate_old(self, start_offset: int) -> None:
        """Forget what had ended by ``start_offset``."""
        passed = bisect_right(self._offsets, start_offset) - 1
        if passed > 0:
            del self._offsets[:passed], self._values[:passed]

    def clear(self) -> None:
        """Forget everything."""
        self._offsets.clear()
        self._values.clear()


class ControlState:
    """The voters and the kraft.version over the offsets since the latest snapshot."""

    def __init__(self, static_voters: VoterSet) -> None:
        """``static_voters`` hold until the log names others."""
        self._static_voters = static_voters
        self._voters: LogHistory[VoterSet] = LogHistory()
        self._versions: LogHistory[int] = LogHistory()

    @property
    def voters(self) -> VoterSet:
        """The latest voters."""
        last = self._voters.last
        return last[1] if last is not None else self._static_voters

    @property
    def voters_offset(self) -> int | None:
        """Where the latest voters were written, None while they are the static ones."""
        last = self._voters.last
        return last[0] if last is not None else None

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version."""
        last = self._versions.last
        return last[1] if last is not None else 0

    def voters_at(self, offset: int) -> VoterSet | None:
        """The voters that the log names at ``offset``; None if it names none."""
        return self._voters.at(offset)

    def kraft_version_at(self, offset: int) -> int:
        """The kraft.version at ``offset``."""
        return self._versions.at(offset) or 0

    def handle_log_batch(self, base_offset: int, messages: Sequence[KRaftControlMessage | None]) -> None:
        """Take in a control batch of the log; None stands for a record of an unknown type."""
        for offset, message in enumerate(messages, base_offset):
            self._handle(offset, message)

    def handle_snapshot(self, last_contained_offset: int, messages: Sequence[KRaftControlMessage | None]) -> None:
        """Begin anew with the control records of a snapshot."""
        self._voters.clear()
        self._versions.clear()
        for message in messages:
            self._handle(last_contained_offset, message)

    def _handle(self, offset: int, message: KRaftControlMessage | None) -> None:
        if isinstance(message, VotersRecord):
            self._voters.add(offset, VoterSet.from_record(message))
        elif isinstance(message, KRaftVersionRecord):
            self._versions.add(offset, message.kraft_version)

    def truncate_new(self, end_offset: int) -> None:
        """The log was cut at ``end_offset``."""
        self._voters.truncate_new(end_offset)
        self._versions.truncate_new(end_offset)

    def truncate_old(self, start_offset: int) -> None:
        """A snapshot covers everything below ``start_offset``."""
        self._voters.truncate_old(start_offset)
        self._versions.truncate_old(start_offset)
