"""Kill after kill on one data directory, and after each a look at what is left."""

import base64
import os
import pickle
import shutil
from random import Random
from typing import Any

from ottla.common.topic_partition import TopicPartition
from ottla.log.manager import LogManager
from ottla.runtime.inline import InlineRuntime, run
from tests.chaos.topics import BOTH, COMPACTED, PARTITIONS, SHORT, SHORT_RETENTION_BYTES, TOPICS, broker_config
from tests.chaos.victim import Plan, Victim
from tests.sim.ledger import Ledger
from tests.sim.log_check import check_clean_below, check_log, served_batches

EPOCHS_A_LIFE = 1000


class Session:
    """A directory, the ledgers of its partitions, and the lives of the writers that worked on it."""

    def __init__(self, directory: str, seed: int) -> None:
        self.seed = seed
        self.kills = 0
        self.lives = 0
        self.aims: list[str] = []
        self._directory = directory
        self._rng = Random(seed)
        self._ledgers = {
            partition: Ledger(compacted=partition in (COMPACTED, BOTH), exists=False) for partition in PARTITIONS
        }

    def kill_once(self) -> None:
        """One life to its violent end, and the inspection; a life that ended by itself is inspected and does not
        count.
        """
        before = self.kills
        while self.kills == before:
            plan = Plan.draw(self._rng)
            self.aims.append(plan.aim)
            seed, epoch = self._rng.getrandbits(32), self.lives * EPOCHS_A_LIFE
            victim = Victim(self._directory, seed, epoch, plan, self._hear)
            self.kills += victim.live_and_die()
            self.lives += 1
            try:
                self._inspect()
            except AssertionError as problem:
                problem.add_note(f"session seed {self.seed}, life {self.lives}, killed at {plan}, writer seed {seed}")
                problem.add_note(f"the directory: {self._directory}; the ledgers, pickled: {self._directory}.ledgers")
                with open(f"{self._directory}.ledgers", "wb") as file:
                    pickle.dump(self._ledgers, file)
                raise

    def _hear(self, report: Any) -> None:
        """Write down what a writer says. Killed is not powered off: what was written once stays in the page cache."""
        if report["topic"] is None:
            return
        ledger = self._ledgers[TopicPartition(report["topic"], 0)]
        kind = report["kind"]
        if kind == "loaded":
            found, known = (report["start"], report["end"]), (ledger.start_min, ledger.current.flushed_end)
            assert found == known or not ledger.exists, f"a writer loaded {report}, and the inspection found {known}"
            ledger.exists = True
        elif kind == "append":
            ledger.intend(base64.b64decode(report["batch"]), report["offset"], report["epoch"])
        elif kind in ("appended", "flushed"):
            ledger.flushed(report["end"])
        elif kind == "truncate":
            ledger.truncate(report["offset"])
        elif kind == "truncated":
            ledger.histories = [ledger.current]
        elif kind == "start may move":
            ledger.start_max = max(ledger.start_max, report["offset"])
        elif kind == "start":
            ledger.start_min = max(ledger.start_min, report["offset"])

    def _inspect(self) -> None:
        """Start on a copy, so that the next writer recovers by itself, and may be killed while it does."""
        if not os.path.isdir(self._directory):
            return
        copy = f"{self._directory}.copy"
        shutil.copytree(self._directory, copy)
        manager = LogManager(InlineRuntime(), broker_config(copy), topic_overrides=TOPICS.__getitem__)
        try:
            run(manager.start())
            cleaned = manager.cleaner.cleaner_checkpoints()
            for partition, ledger in self._ledgers.items():
                log = manager.logs.get(partition)
                if log is None:
                    assert not ledger.exists, f"{partition} is lost"
                    continue
                try:
                    check_log(log, ledger)
                    if ledger.compacted:
                        check_clean_below(log, cleaned.get(partition, 0))
                except AssertionError as problem:
                    problem.add_note(f"in {partition}: {log}")
                    raise
                if partition == SHORT and log.log_start_offset > 0:
                    served_bytes = sum(map(len, served_batches(log)))
                    assert served_bytes >= SHORT_RETENTION_BYTES, f"retention has left {served_bytes} bytes"
        finally:
            for log in manager.logs.values():
                log.close_handlers()
            manager.directories.close()
            shutil.rmtree(copy)
