"""Copiers and their broker, killed again and again; whatever dies when, each record comes out once, and in order."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.exactly_once import aftermath
from tests.exactly_once.traffic import Feeder, Watcher
from tests.exactly_once.workers import INPUT, OUTPUT, NewCommand, Worker
from tests.node import Node
from tests.oracle import Oracle

PROPERTIES = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.segment.bytes": "1048576",
    # A broker that was killed is let in again when its session is over.
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}
BOUND_S = 120
"""Nothing takes longer, on however busy a machine."""
_POLL_S = 0.02
_BROKER_SHARE = 0.5
_BROKER_FIRST_SHARE = 0.5


class ExactlyOnceSession:
    """`run` kills, lets the rest be copied, and checks."""

    def __init__(self, node: Node, new_command: NewCommand, directory: Path, seed: int, workers: int = 2) -> None:
        self.kills = 0
        self.broker_kills = 0
        self.copied = 0
        self.aborted = 0
        self.gave_up = 0
        self._node = node
        self._partitions = workers
        self._rng = Random(seed)
        directory.mkdir(parents=True, exist_ok=True)
        self._workers = [
            Worker(new_command(node.bootstrap, number), directory / f"worker-{number}.log") for number in range(workers)
        ]

    def run(self, kills: int, oracle: Oracle, say: Callable[[], None] = lambda: None) -> None:
        """Kill copiers so many times, and the broker with about half of them; `say` is called every ten kills."""
        with self._node:
            self._create_topics()
            watcher = Watcher(self._node.bootstrap, self._partitions)
            feeder = Feeder(self._node.bootstrap, self._partitions, watcher.copied)
            try:
                watcher.start()
                feeder.start()
                for worker in self._workers:
                    worker.start()
                for number in range(1, kills + 1):
                    self._kill(watcher)
                    self.copied = watcher.total()
                    if number % 10 == 0:
                        say()
                feeder.stop()
                self._drain(feeder, watcher)
            finally:
                for worker in self._workers:
                    worker.stop()
            watcher.stop()
            self._check(feeder, watcher, oracle)

    def _create_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._node.bootstrap})
        new = [NewTopic(name, self._partitions, 1) for name in (INPUT, OUTPUT)]
        for created in admin.create_topics(new).values():
            created.result(BOUND_S)

    def _kill(self, watcher: Watcher) -> None:
        """Wait till one of the copiers has done something; kill it at any time after that, and maybe the broker."""
        rng = self._rng
        victim = rng.choice(self._workers)
        self._await(lambda: victim.processed > 0, "a copier that was started again copies", watcher)
        _pass(rng.uniform(0.0, 0.5))
        with_broker, broker_first = rng.random() < _BROKER_SHARE, rng.random() < _BROKER_FIRST_SHARE
        if with_broker and broker_first:
            self._node.kill()
            _pass(rng.uniform(0.0, 0.3))
        if victim.own_end() is None:
            victim.kill()
        victim.start()
        self.kills += 1
        if with_broker:
            if not broker_first:
                _pass(rng.uniform(0.0, 3.0))  # into what it does at its start, and what the others do without it
                self._node.kill()
            self._node.start()
            self.broker_kills += 1

    def _drain(self, feeder: Feeder, watcher: Watcher) -> None:
        """Wait till all has come out, and nobody has left anything open."""
        for partition, written in enumerate(feeder.sent):
            self._await(lambda: watcher.copied(partition) >= written, "the rest is copied", watcher, progress=True)  # noqa: B023
        for worker in self._workers:
            self._await(lambda: worker.ready, "a copier that was started again is ready", watcher)  # noqa: B023

    def _await(self, predicate: Callable[[], bool], what: str, watcher: Watcher, *, progress: bool = False) -> None:
        """Wait, and start again who ends in between: Apache's copier does when it has reached the end that it saw.

        With `progress` it may take as long as it likes, if only something comes out.
        """
        before, deadline = watcher.total(), time.monotonic() + BOUND_S
        while not predicate():
            assert not watcher.failures, watcher.failures
            for worker in self._workers:
                status = worker.own_end()
                if status is not None:
                    self._why_ended(worker, status)
                    worker.start()
            if progress and watcher.total() > before:
                before, deadline = watcher.total(), time.monotonic() + BOUND_S
            assert time.monotonic() < deadline, f"{what}: not within {BOUND_S} s; {watcher.total()} have come out"
            _pass(_POLL_S)

    def _why_ended(self, worker: Worker, status: int) -> None:
        if status == 0 or worker.timed_out():
            return
        assert worker.gave_up(), f"a copier ended with {status}:\n{worker.last_words()}"
        self.gave_up += 1
        assert self.gave_up <= 1 + self.kills // 5, f"copiers give up too often:\n{worker.last_words()}"

    def _check(self, feeder: Feeder, watcher: Watcher, oracle: Oracle) -> None:
        self.copied = watcher.total()
        assert feeder.failures == []
        assert watcher.failures == []
        assert [len(seen) for seen in watcher.seen] == feeder.sent
        assert aftermath.check_nothing_is_open(self._node) == len(self._workers)
        aftermath.check_committed_offsets(self._node, feeder.sent)
        aftermath.check_apache_agrees(oracle, self._node)
        self._node.stop()
        for partition, seen in enumerate(watcher.seen):
            committed, aborted = aftermath.committed_offsets(self._node.partition_dir(OUTPUT, partition))
            assert seen == committed, "a reader of committed records saw others"
            self.aborted += aborted

    def story(self) -> str:
        """What was survived, in a line."""
        return (
            f"{self.kills} kills of copiers and {self.broker_kills} of the broker, {self.copied} records copied once, "
            f"{self.aborted} aborted and never seen" + (f", {self.gave_up} clients gave up" if self.gave_up else "")
        )


def _pass(duration_s: float) -> None:
    threading.Event().wait(duration_s)
