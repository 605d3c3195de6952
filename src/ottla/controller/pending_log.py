"""What the active controller has appended, and how much of it is committed.

Two states: ``committed``, and ``latest`` with everything that waits for its commit. Each append keeps the state that it
led to; when it is committed, that state becomes the committed one, with nothing replayed twice.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.controller.result import ControllerResult
from ottla.controller.state import ControllerState
from ottla.metadata.image import MetadataProvenance
from ottla.metadata.records import MetadataRecord
from ottla.raft.batch import CommittedBatch

logger = logging.getLogger(__name__)

MAX_RECORDS_PER_BATCH: Final = 10_000
MAX_PENDING_APPENDS: Final = 10_000
"""How many appends may wait for their commit; operations are refused beyond."""


class AppendPort(Protocol):
    """The part of raft that takes appends."""

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""

    def schedule_append(self, epoch: int, records: Sequence[MetadataRecord]) -> int:
        """Append one batch; the offset of its last record."""


OnCommit = Callable[[KafkaError | None], None]


@dataclass(slots=True)
class _PendingAppend:
    last_offset: int
    state: ControllerState
    waiters: list[OnCommit] = field(default_factory=list)


class PendingLog:
    """See the module. ``epoch`` is None on standby, where every committed batch is replayed."""

    def __init__(self, raft: AppendPort) -> None:
        self._raft = raft
        self._pending: deque[_PendingAppend] = deque()
        self.epoch: int | None = None
        self.committed = ControllerState()
        self.latest = self.committed
        self.last_committed_offset = -1
        self.last_applied_offset = -1
        self.last_applied_time_ms = -1

    @property
    def pending_appends(self) -> int:
        """How many appends wait for their commit."""
        return len(self._pending)

    def activate(self, epoch: int) -> None:
        """From now on this node, which leads, appends."""
        assert self.epoch is None, "the controller is active already"
        self.epoch = epoch

    def deactivate(self, error: KafkaError) -> None:
        """Another node leads: go back to what is committed. Nobody knows what becomes of the rest."""
        self.epoch = None
        self.latest = self.committed
        self.last_applied_offset = self.last_committed_offset
        abandoned, self._pending = self._pending, deque()
        for append in abandoned:
            for waiter in append.waiters:
                waiter(error)

    def append(self, result: ControllerResult[object], now_ms: int) -> int:
        """Append the records of an operation; returns the last offset that its answer must wait for.

        Raises what raft raises, and REQUEST_TIMED_OUT when too much waits; then ``latest`` is as before, unless a part
        of a result that is not atomic was appended.
        """
        assert self.epoch is not None, "the controller is not active"
        records = result.records
        if not records:
            return self._raft.log_end_offset - 1
        if result.is_atomic:
            assert len(records) <= MAX_RECORDS_PER_BATCH, f"{len(records)} records do not fit in one batch"
        if len(self._pending) >= MAX_PENDING_APPENDS:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "The controller's event queue is full.")
        last_offset = -1
        for start in range(0, len(records), MAX_RECORDS_PER_BATCH):
            last_offset = self._append_batch(self.epoch, records[start : start + MAX_RECORDS_PER_BATCH], now_ms)
        return last_offset

    def _append_batch(self, epoch: int, records: Sequence[MetadataRecord], now_ms: int) -> int:
        before = self.latest
        base_offset = self._raft.log_end_offset
        state = before.replay(records, base_offset, epoch, now_ms)
        append = _PendingAppend(base_offset + len(records) - 1, state)
        # Before raft has it: a raft that commits at once finds what it commits.
        self._pending.append(append)
        self.latest = state
        try:
            last_offset = self._raft.schedule_append(epoch, records)
        except KafkaError:
            assert self._pending.pop() is append
            self.latest = before
            raise
        assert last_offset == append.last_offset, f"raft gave {last_offset}, not {append.last_offset}"
        self.last_applied_offset = last_offset
        self.last_applied_time_ms = now_ms
        return last_offset

    def when_committed(self, waiter: OnCommit) -> None:
        """Call back when all that was appended so far is committed: at once, if it is."""
        if self._pending:
            self._pending[-1].waiters.append(waiter)
        else:
            waiter(None)

    def handle_commit(self, batch: CommittedBatch[MetadataRecord]) -> None:
        """A batch is committed: its append is done or, on standby, it is replayed."""
        self.last_committed_offset = batch.last_offset
        if self.epoch is None:
            if batch.records:
                self.committed = self.latest = self.committed.replay(
                    batch.records, batch.base_offset, batch.epoch, batch.append_time_ms
                )
            self.last_applied_offset = batch.last_offset
            self.last_applied_time_ms = batch.append_time_ms
            return
        while self._pending and self._pending[0].last_offset <= batch.last_offset:
            append = self._pending.popleft()
            self.committed = append.state
            for waiter in append.waiters:
                waiter(None)

    def handle_snapshot(self, state: ControllerState, provenance: MetadataProvenance) -> None:
        """A snapshot takes the place of everything, on standby."""
        assert self.epoch is None, "asked to load a snapshot, but this is the active controller"
        self.committed = self.latest = state
        self.last_committed_offset = self.last_applied_offset = provenance.last_contained_offset
        self.last_applied_time_ms = provenance.last_contained_log_time_ms
