"""How a batch becomes visible exactly once: decisions only. Pure; docs/spark-exactly-once.md tells why it holds.

Tasks leave their transactions open. The driver records a decision that names them, and from then on the batch is these
transactions, whoever sees it through; then it commits them, and records that it is done. Each function is a generator:
it yields an Action, is sent what came of it, and may be given up at any yield, where a crash would be. A driver that
comes later goes on from what the state topic says.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from ottla.spark.sink.commit_actions import (
    Action,
    Describe,
    End,
    Examine,
    Finish,
    ReadHistory,
    Record,
    Rewrite,
    Status,
    Statuses,
    Sweep,
)
from ottla.spark.sink.decision import Decision
from ottla.spark.sink.sink_errors import BatchFailedError, OldCheckpointError
from ottla.spark.sink.sink_history import SinkHistory
from ottla.spark.sink.task_transaction import TaskTransaction

Steps = Generator[Action, Any, None]


@dataclass(frozen=True, slots=True)
class CommitProtocol:
    """The steps of one sink. ``forgets`` is for writes that have one batch only, which nobody will repeat."""

    sink_id: str
    new_id: Callable[[], str]
    forgets: bool = False

    def recover(self) -> Steps:
        """Before the tasks of a batch start: see through what was decided, and abort what never will be."""
        history: SinkHistory = yield ReadHistory()
        for decision in history.pending():
            yield from self._see_through(decision)
        yield _sweep(history)

    def commit(
        self, query_id: str, batch_id: int, transactions: Sequence[TaskTransaction]
    ) -> Generator[Action, Any, bool]:
        """All tasks of a batch are done. False if it was written before, by this driver or another: nothing is now."""
        own = tuple(transactions)
        history: SinkHistory = yield ReadHistory()
        for decision in history.pending():
            yield from self._see_through(decision)
        last = history.last(query_id)
        if last is not None and last.batch_id >= batch_id:
            yield End(own, is_commit=False)
            if last.batch_id > batch_id:
                raise OldCheckpointError(
                    f"The query is at batch {batch_id}, and its sink {self.sink_id!r} has batch {last.batch_id}: its "
                    "checkpoint is an old one; give the query another kafka.transactional.id to write it all again"
                )
            return False
        if not own:
            return True
        statuses: Statuses = yield Describe(own)
        ended = [each for each in own if statuses[each.transactional_id] is not Status.OPEN]
        if ended:
            yield End(own, is_commit=False)
            raise BatchFailedError(
                f"Batch {batch_id} cannot be committed: {len(ended)} of its {len(own)} transactions ended before all "
                f"tasks were done ({ended[0].transactional_id}); if the batch takes longer than "
                "kafka.transaction.timeout.ms, raise that, or make batches smaller; if another query writes as "
                f"{self.sink_id!r}, give each a kafka.transactional.id of its own"
            )
        decision = Decision(self.sink_id, query_id, batch_id, self.new_id(), 1, own)
        yield Record(decision)
        history = yield ReadHistory()
        counts = history.last(query_id)
        assert counts is not None and counts.batch_id >= batch_id, "a decision is on record and no other counts"
        if counts.record_id != decision.record_id:
            yield End(own, is_commit=False)
        if not counts.is_done:
            yield from self._see_through(counts)
        yield _sweep(history)
        return counts.record_id == decision.record_id

    def abort(self, query_id: str, batch_id: int, transactions: Sequence[TaskTransaction]) -> Steps:
        """The batch has failed, as far as Spark knows: if it was decided it will be seen nevertheless."""
        history: SinkHistory = yield ReadHistory()
        last = history.last(query_id)
        if last is not None and last.batch_id == batch_id and not last.is_done:
            decided = {each.transactional_id for each in last.transactions}
            yield from self._see_through(last)
        else:
            decided = set()
        yield End(tuple(each for each in transactions if each.transactional_id not in decided), is_commit=False)
        yield _sweep(history)

    def _see_through(self, decision: Decision) -> Steps:
        """Commit all transactions of a decision; records of those that were aborted meanwhile are written again."""
        while True:
            statuses: Statuses = yield End(decision.transactions, is_commit=True)
            unknown = _with_status(decision, statuses, Status.UNKNOWN)
            if unknown:
                statuses = statuses | (yield Examine(unknown))
            aborted = _with_status(decision, statuses, Status.ABORTED)
            if not aborted:
                break
            rewritten: TaskTransaction = yield Rewrite(aborted)
            following = decision._replace(
                record_id=self.new_id(),
                version=decision.version + 1,
                transactions=(*_with_status(decision, statuses, Status.COMMITTED), rewritten),
            )
            yield Record(following)
            history: SinkHistory = yield ReadHistory()
            counts = history.last(decision.query_id)
            assert counts is not None, "a decision is on record"
            if counts.record_id != following.record_id:
                yield End((rewritten,), is_commit=False)
            if counts.is_done or counts.batch_id != decision.batch_id:
                return  # somebody else has seen it through
            decision = counts
        done = decision._replace(record_id=self.new_id(), transactions=(), is_done=True)
        yield Finish(done, forget=self.forgets)


def _sweep(history: SinkHistory) -> Sweep:
    """Whatever is open and not decided: no task runs now whose transaction somebody still waits for."""
    return Sweep(frozenset(each.transactional_id for decision in history.pending() for each in decision.transactions))


def _with_status(decision: Decision, statuses: Statuses, status: Status) -> tuple[TaskTransaction, ...]:
    return tuple(each for each in decision.transactions if statuses[each.transactional_id] is status)
