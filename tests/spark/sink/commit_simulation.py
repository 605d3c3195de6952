"""A cluster in memory for the commit protocol: a state topic, coordinators, partitions that keep what was aborted."""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ottla.common.errors import KafkaError
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
from ottla.spark.sink.sink_history import SinkHistory
from ottla.spark.sink.task_transaction import TaskTransaction, Written

SINK = "sink"


@dataclass
class Stored:
    """A transaction as its coordinator and its partition have it."""

    rows: Counter[int]
    status: Status = Status.OPEN
    is_forgotten: bool = False


@dataclass
class World:
    """Everything that outlives a driver."""

    state_topic: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    stored: dict[str, Stored] = field(default_factory=dict)

    def write(self, rows: Iterable[int]) -> TaskTransaction:
        """A task's, or a driver's that writes again: open."""
        name = f"{SINK}-{len(self.stored):012x}-0"
        kept = Counter(rows)
        self.stored[name] = Stored(kept)
        return TaskTransaction(name, len(self.stored), 0, True, (Written("t", 0, 0, 0, kept.total()),))

    def time_out(self, names: Iterable[str]) -> None:
        """Coordinators abort what is open for too long."""
        for name in names:
            if self.stored[name].status is Status.OPEN:
                self.stored[name].status = Status.ABORTED

    def forget(self, names: Iterable[str]) -> None:
        """Coordinators forget ids that nobody has used for long; never open ones."""
        for name in names:
            if self.stored[name].status is not Status.OPEN:
                self.stored[name].is_forgotten = True

    def compact(self) -> None:
        """The state topic keeps the last record of each key; tombstones go."""
        last = {key: place for place, (key, _) in enumerate(self.state_topic)}
        self.state_topic = [
            (key, value)
            for place, (key, value) in enumerate(self.state_topic)
            if last[key] == place and value is not None
        ]

    def visible(self) -> Counter[int]:
        """What readers of committed records see in the end."""
        found: Counter[int] = Counter()
        for each in self.stored.values():
            if each.status is Status.COMMITTED:
                found += each.rows
        return found

    @property
    def open_names(self) -> list[str]:
        """What holds up readers."""
        return [name for name, each in self.stored.items() if each.status is Status.OPEN]

    def history(self) -> SinkHistory:
        """The state topic, read from its start."""
        history = SinkHistory(SINK)
        for key, value in self.state_topic:
            history.replay(key, value)
        return history

    def status(self, name: str) -> Status:
        """As the coordinator tells it."""
        return Status.UNKNOWN if self.stored[name].is_forgotten else self.stored[name].status

    def do(self, action: Action) -> Any:
        """What the live driver does."""
        match action:
            case ReadHistory():
                return self.history()
            case Describe(transactions):
                return self.statuses(transactions)
            case Record(decision):
                self.state_topic.append((decision.key, decision.value))
            case Finish(decision, forget):
                self._finish(decision, forget=forget)
            case End(transactions, is_commit):
                for each in transactions:
                    self.end(each.transactional_id, is_commit=is_commit)
                return self.statuses(transactions)
            case Examine(transactions):
                return {each.transactional_id: self.stored[each.transactional_id].status for each in transactions}
            case Rewrite(transactions):
                rows: Counter[int] = Counter()
                for each in transactions:
                    assert self.stored[each.transactional_id].status is Status.ABORTED, "only these may be doubled"
                    rows += self.stored[each.transactional_id].rows
                return self.write(rows.elements())
        return None

    def fence(self, names: Iterable[str]) -> None:
        """InitProducerId: aborts what is open; of what has ended the coordinator does not know any more how."""
        for name in names:
            if self.stored[name].status is Status.OPEN:
                self.stored[name].status = Status.ABORTED
            else:
                self.stored[name].is_forgotten = True

    def end(self, name: str, *, is_commit: bool) -> None:
        """EndTxn: it changes only what is open."""
        if self.stored[name].status is Status.OPEN:
            self.stored[name].status = Status.COMMITTED if is_commit else Status.ABORTED

    def statuses(self, transactions: Sequence[TaskTransaction]) -> Statuses:
        """DescribeTransactions."""
        return {each.transactional_id: self.status(each.transactional_id) for each in transactions}

    def _finish(self, decision: Decision, *, forget: bool) -> None:
        superseded = self.history().superseded(decision)
        if not forget:
            self.state_topic.append((decision.key, decision.value))
        self.state_topic.extend((key, None) for key in superseded)


class Driver:
    """Runs the protocol's steps one at a time; whoever holds it may let it go on, or forget it: a crash."""

    def __init__(self, world: World, steps: Generator[Action, Any, Any]) -> None:
        self._world = world
        self._steps = steps
        self._answer: Any = None
        self._swept: list[str] | None = None
        self.is_done = False
        self.error: KafkaError | None = None

    def step(self, ended_of_many: int | None = None) -> None:
        """One action more, or half of a sweep. ``ended_of_many``: it crashes in an End after so many transactions."""
        if self._swept is not None:
            self._world.fence(self._swept)
            self._swept = None
            return
        try:
            action = self._steps.send(self._answer)
        except StopIteration:
            self.is_done = True
            return
        except KafkaError as error:
            self.is_done, self.error = True, error
            return
        if ended_of_many is not None and isinstance(action, End):
            action = End(action.transactions[:ended_of_many], action.is_commit)
            self._world.do(action)
            self.is_done = True
            return
        if isinstance(action, Sweep):  # what is listed may end before it is shut out
            self._swept = [name for name in self._world.open_names if name not in action.keep]
            self._answer = None
            return
        self._answer = self._world.do(action)
