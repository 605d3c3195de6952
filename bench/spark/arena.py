"""One Spark session on two cores, both brokers in processes of their own, and topics to read and write."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # its stubs do not export it

from bench.broker import nodes, process
from bench.spark.contenders import Contender
from ottla.spark.jars import find_jars
from ottla.spark.java import find_java_home
from ottla.spark.session import spark_session
from tests.node import Node
from tests.oracle import Oracle
from tests.spark.conftest import STOCK_CONNECTOR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4
VALUE_BYTES = 100
WIDE_VALUE_BYTES = 1024
BATCH_BYTES = 16_384
"""Kafka's default: what most topics are written in."""
_DISTINCT = 20_000
_BOUND_S = 120
_STOCK_CONSUMERS = "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer$"
_SETTINGS = {
    "spark.ui.enabled": "false",
    # With Spark's 1 GB what the stock connector keeps of its polls, 20,000 rows of 1 KiB when tuned, fills the heap.
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "2",
    # The stock connector closes producers that are idle for minutes, and waits for a broker that stands still.
    "spark.kafka.producer.cache.timeout": "2h",
}


class Used(NamedTuple):
    """CPU time: of Spark, its Python workers included, and of the broker."""

    spark_cpu_s: float
    broker_cpu_s: float


class SparkArena:
    """Started → ``stop``. A broker that is not measured stands still (see ``alone``)."""

    def __init__(self, names: list[str], directory: Path, *, quick: bool) -> None:
        self.quick = quick
        self.names = names
        self._oracle = Oracle(print) if "apache" in names else None
        self.nodes: dict[str, Node] = {}
        self._directory = directory
        self._topics = 0
        self.spark: SparkSession

    def start(self) -> None:
        """Start everything; the stock connector's jars are fetched if they are not in the user's cache."""
        for name in self.names:
            self.nodes[name] = nodes.Contenders(self._oracle).node(name, self._directory / f"spark-{name}")
            self.nodes[name].start()
        jars = find_jars("spark-sql-kafka", STOCK_CONNECTOR, find_java_home(), print)
        self._jvm_log = (self._directory / "spark.log").open("wb")
        settings = {**_SETTINGS, "spark.jars": ",".join(jars)}
        if nodes.COMPILED.is_dir():  # Spark's workers find the package as a wheel installs it
            os.environ["PYTHONPATH"] = str(nodes.COMPILED)
        self.spark = spark_session("ottla-bench", master="local[2]", conf=settings, jvm_log=self._jvm_log)
        if sys.executable != os.environ["PYSPARK_PYTHON"]:
            raise RuntimeError("Spark's workers run another Python")

    def stop(self) -> None:
        """End everything."""
        if hasattr(self, "spark"):
            self.spark.stop()
            self._jvm_log.close()
        for node in self.nodes.values():
            node.kill()
        if self._oracle is not None:
            self._oracle.close()

    @contextmanager
    def alone(self, name: str) -> Iterator[Node]:
        """A broker with the machine to itself and Spark."""
        with nodes.standing_still([node for other, node in self.nodes.items() if other != name]):
            _wait_for_brokers(self.nodes[name])
            yield self.nodes[name]
            self._close_stock_consumers()

    def _close_stock_consumers(self) -> None:
        """While their broker still answers: of one that stands still each takes 30 s.

        The stock connector keeps 64, all of queries that have ended, and then closes the oldest while the others wait.
        """
        jvm = self.spark._jvm
        assert jvm is not None
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        pool = loader.loadClass(_STOCK_CONSUMERS).getDeclaredField("consumerPool")
        pool.setAccessible(True)
        pool.get(None).reset()

    @contextmanager
    def topic(
        self, node: Node, records: int = 0, codec: str = "none", value_bytes: int = VALUE_BYTES, **config: str
    ) -> Iterator[str]:
        """A topic of four partitions with so many records, deleted afterwards."""
        self._topics += 1
        name = f"spark-{self._topics}"
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(name, PARTITIONS, 1, config=dict(config))])[name].result(_BOUND_S)
        try:
            if records:
                fill(node.bootstrap, name, records, codec, value_bytes)
            yield name
        finally:
            admin.delete_topics([name])[name].result(_BOUND_S)

    def load(self, contender: Contender, node: Node, topic: str) -> "DataFrame":
        """All of a topic, as this contender reads it."""
        reader = self.spark.read.format(contender.format).options(**contender.reading)
        return reader.options(
            **{"kafka.bootstrap.servers": node.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
        ).load()

    def save(self, contender: Contender, node: Node, topic: str, records: int, value_bytes: int) -> None:
        """Rows that Spark makes as they are wanted, to a topic, as this contender writes it."""
        made = self.spark.range(0, records, 1, PARTITIONS)
        frame = made.selectExpr(f"CAST(rpad(CAST(id AS STRING), {value_bytes}, 'abcdefghij') AS BINARY) AS value")
        writer = frame.write.format(contender.format).options(**contender.writing).mode("append")
        writer.options(**{"kafka.bootstrap.servers": node.bootstrap, "topic": topic}).save()

    def used(self, node: Node) -> Used:
        """CPU time so far."""
        return Used(process.cpu_s(os.getpid()), process.cpu_s(node.pid))


def _wait_for_brokers(node: Node) -> None:
    """One that stood still is fenced until its next heartbeat, and is not in the answer."""
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 2})
    deadline = time.monotonic() + _BOUND_S
    while not admin.list_topics(timeout=_BOUND_S).brokers:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{node.bootstrap} has no broker that is not fenced")
        time.sleep(0.1)


def values(value_bytes: int = VALUE_BYTES) -> list[bytes]:
    """Values as applications write them: JSON with numbers that differ. They compress to less than half."""
    rng = Random(7)

    def visit() -> str:
        user, page, spent_ms = rng.randbytes(8).hex(), rng.randrange(10_000), rng.randrange(100_000)
        return f'{{"user":"{user}","page":"/products/{page}","ms":{spent_ms},"agent":"Mozilla/5.0"}}'.ljust(VALUE_BYTES)

    visits = -(-value_bytes // VALUE_BYTES)
    return ["".join(visit() for _ in range(visits))[:value_bytes].encode() for _ in range(_DISTINCT)]


def fill(bootstrap: str, topic: str, records: int, codec: str, value_bytes: int) -> None:
    """Write so many records to all partitions alike."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "batch.size": BATCH_BYTES,
            "linger.ms": 50,
            "compression.type": codec,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    some = values(value_bytes)
    for number in range(records):
        value = some[number % _DISTINCT]
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(_BOUND_S):
        raise RuntimeError("not all records were written")


def end_offsets(bootstrap: str, topic: str) -> int:
    """How many offsets a topic has."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench"})
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, number), _BOUND_S)[1] for number in range(PARTITIONS)
        ]
    finally:
        consumer.close()
    return sum(ends)
