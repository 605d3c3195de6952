"""A stateful job between topics, or from a topic to a Delta table, while executors, driver and broker are killed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from ottla.clients.admin.topics import NewTopic
from ottla.clients.admin.transactions import TransactionState
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.topic_partition import TopicPartition
from tests.ottla_broker import OttlaBroker
from tests.spark.chaos import processes

INPUT, OUTPUT = "chaos-in", "chaos-out"
KEYS = 7
PARTITIONS = 3
ROWS_A_FEED = 400
SOON = 0.2
PATIENCE_S = 600
_PROPERTIES = {
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}


class ChaosSession:
    """``run(kills)``: feed, kill, feed, kill …, then let the job end its work and compare. All chance is the seed's.

    What is killed in turn is drawn from ``victims``: "worker" (a Python worker of Spark's), "executor" (its JVM, if the
    master has such), "driver" (all of Spark at once; a new one starts from the checkpoint) and "broker".
    """

    def __init__(
        self,
        scratch: Path,
        seed: int,
        *,
        sink: str = "ottla",
        exactly_once: bool = True,
        master: str = "local[2,4]",
        victims: tuple[str, ...] = ("worker", "driver", "broker"),
        say: Callable[[str], None] = lambda _what: None,
    ) -> None:
        self._scratch = scratch
        self._rng = Random(seed)
        self._sink = sink
        self._exactly_once = exactly_once
        self._master = master
        self._victims = victims
        self._say = say
        self._broker = OttlaBroker(scratch / "broker", _PROPERTIES)
        self._output = OUTPUT if sink == "ottla" else str(scratch / "table")
        self._job: subprocess.Popen[bytes] | None = None
        self._fed: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()
        self.starts = 0

    def run(self, kills: int) -> None:
        """See the class; raises AssertionError if the output is not exactly what it should be."""
        with self._broker:
            self._create_topics()
            try:
                self._start_job()
                for _ in range(kills):
                    # Now and then two at once; else not before the job has come to work again after the last one.
                    if self._rng.random() > SOON:
                        self._await_rows(self._rows_seen() + 1)
                    self._feed()
                    time.sleep(self._rng.uniform(0, 5))
                    self.kill_once()
                self._feed()
                self._await_rows(self._fed.total())
            finally:
                self._end_job()
            self.check()

    # -- killing ------------------------------------------------------------------------------------------------------

    def kill_once(self) -> None:
        """Kill something, and start again what does not by itself."""
        victim = self._rng.choice(self._victims)
        self._keep_job()
        job = self._job
        assert job is not None
        if victim == "broker":
            self._broker.kill()
            time.sleep(self._rng.uniform(0, 2))
            self._broker.start()
        elif victim == "driver":
            os.killpg(job.pid, signal.SIGKILL)  # its Python workers have groups of their own, and may live on a while
            job.wait()
            self._start_job()
        else:
            found = (processes.executors if victim == "executor" else processes.python_workers)(job.pid)
            while not found and job.poll() is None:
                time.sleep(0.05)
                found = (processes.executors if victim == "executor" else processes.python_workers)(job.pid)
            if found:
                processes.kill(self._rng.choice(found))
        self.killed[victim] += 1
        self._say(f"{self.killed.total()} kills, {victim}; {self._rows_seen()} of {self._fed.total()} rows written")

    # -- the job ------------------------------------------------------------------------------------------------------

    def _start_job(self) -> None:
        command = [sys.executable, "-m", "tests.spark.chaos.job", "run", *self._arguments()]
        with (self._scratch / "job.log").open("ab") as log:
            log.write(f"-- start {self.starts}\n".encode())
            self._job = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.starts += 1

    def _arguments(self) -> list[str]:
        pairs = {
            "--bootstrap": self._broker.bootstrap,
            "--input": INPUT,
            "--output": self._output,
            "--checkpoint": str(self._scratch / "checkpoint"),
            "--sink": self._sink,
            "--master": self._master,
        }
        guarantee = [] if self._exactly_once else ["--at-least-once"]
        return [*(part for pair in pairs.items() for part in pair), *guarantee]

    def _keep_job(self) -> None:
        """Start it again if it has given up: a query fails when a task fails too often, or the broker is away."""
        assert self._job is not None
        if self._job.poll() is not None:
            self._start_job()

    def _end_job(self) -> None:
        if self._job is not None:
            for process in [*processes.descendants(self._job.pid)]:
                processes.kill(process.pid)
            processes.kill(self._job.pid)
            self._job.wait()

    # -- input and output ---------------------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        with Admin(bootstrap_servers=self._broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT)])

    def _feed(self) -> None:
        keys = [f"key-{self._rng.randrange(KEYS)}" for _ in range(ROWS_A_FEED)]
        with Producer(bootstrap_servers=self._broker.bootstrap) as producer:
            producer.send_batch(INPUT, [key.encode() for key in keys]).result()
        self._fed.update(keys)

    @property
    def expected(self) -> Counter[str]:
        """What the output should be."""
        return Counter(f"{key}:{number}" for key, count in self._fed.items() for number in range(1, count + 1))

    def found(self) -> Counter[str]:
        """What readers of committed records see in the output topic, up to the last stable offsets."""
        if self._sink == "delta":
            return self._table()
        found: Counter[str] = Counter()
        with Consumer(
            {
                "bootstrap.servers": self._broker.bootstrap,
                "isolation.level": "read_committed",
                "enable.auto.commit": "false",
            }
        ) as consumer:
            partitions = [TopicPartition(OUTPUT, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            consumer.seek_to_beginning(*partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(each) < ends[each] for each in partitions):
                found.update((record.value or b"").decode() for record in consumer.poll(200))
        return found

    def _table(self) -> Counter[str]:
        command = [sys.executable, "-m", "tests.spark.chaos.job", "dump", *self._arguments()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr[-3000:]
        return Counter(line for line in done.stdout.splitlines() if line.startswith("key-"))

    def _await_rows(self, rows: int) -> None:
        """Until so many rows are in the output, or all there can be, or for long after the last that came."""
        deadline = time.monotonic() + PATIENCE_S
        most = 0
        while (seen := self._rows_seen()) < min(rows, self._fed.total()) and time.monotonic() < deadline:
            if seen > most:
                most, deadline = seen, time.monotonic() + PATIENCE_S
            self._keep_job()
            time.sleep(0.5)

    def _rows_seen(self) -> int:
        if self._sink == "ottla":
            return len(self.found())
        checkpoint = self._scratch / "checkpoint"
        batches = [int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")]
        if not batches:
            return 0
        lines = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines()
        return sum(int(offset) for offset in re.findall(r'"\d+": ?(\d+)', lines[-1]))

    def check(self) -> None:
        """The output is exactly what it should be, and nothing is left open."""
        found, expected = self.found(), self.expected
        doubled, missing = found - expected, expected - found
        where = f"{self._scratch}/job.log"
        assert not doubled, f"{doubled.total()} rows too many, such as {doubled.most_common(3)}; {where}"
        assert not missing, f"{missing.total()} rows are missing, such as {missing.most_common(3)}; {where}"
        with Admin(bootstrap_servers=self._broker.bootstrap) as admin:
            hanging = admin.list_transactions(states=[TransactionState.ONGOING])
        assert not hanging, f"transactions were left open: {sorted(hanging)}"
