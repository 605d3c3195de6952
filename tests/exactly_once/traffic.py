"""What goes in, and what a reader of committed records sees come out, all the time."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from tests.exactly_once.workers import INPUT, OUTPUT

logger = logging.getLogger(__name__)

BOUND_S = 120
_BACKLOG = 2_000
"""Records a partition that wait to be copied: there is always something to do, for some seconds."""
_PATIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 3,
}


class Feeder(threading.Thread):
    """Numbers the records of each partition of the input; keeps `_BACKLOG` of them before the copiers."""

    def __init__(self, bootstrap: str, partitions: int, copied: Callable[[int], int]) -> None:
        super().__init__(name="feeder", daemon=True)
        self.sent = [0] * partitions
        self.failures: list[str] = []
        self._copied = copied
        self._stopping = threading.Event()
        self._producer = Producer(
            _PATIENT
            | {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": BOUND_S * 1000,
            },
            logger=logger,
        )

    def run(self) -> None:
        """Write until told to stop, then wait for what is under way."""
        while not self._stopping.wait(0.02):
            for partition in range(len(self.sent)):
                while self.sent[partition] - self._copied(partition) < _BACKLOG:
                    value = b"%d" % self.sent[partition]
                    self._producer.produce(INPUT, value, partition=partition, on_delivery=self._delivered)
                    self.sent[partition] += 1
            self._producer.poll(0)
        if self._producer.flush(BOUND_S):
            self.failures.append(f"{len(self._producer)} records of the input were never acknowledged")

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.failures.append(str(error))

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._stopping.set()
        self.join(2 * BOUND_S)
        assert not self.is_alive(), "the feeder does not end"


class Watcher(threading.Thread):
    """Reads the committed records of the output from beginning to end; each number is the next of its partition."""

    def __init__(self, bootstrap: str, partitions: int) -> None:
        super().__init__(name="watcher", daemon=True)
        self.seen: list[list[int]] = [[] for _ in range(partitions)]
        """By partition the offsets of the records that were seen; their numbers are 0, 1, 2, …"""
        self.failures: list[str] = []
        self._stopping = threading.Event()
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
        }
        self._consumer = Consumer(_PATIENT | config, logger=logger)
        self._consumer.assign([TopicPartition(OUTPUT, partition, 0) for partition in range(partitions)])

    def run(self) -> None:
        """Read until told to stop."""
        while not self._stopping.is_set() and not self.failures:
            for message in self._consumer.consume(1000, 0.1):
                self._look_at(message)
        self._consumer.close()

    def _look_at(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal():
                self.failures.append(f"the reader of the output: {error}")
            return
        value, partition, offset = message.value(), message.partition(), message.offset()
        assert value is not None
        assert partition is not None
        assert offset is not None
        seen = self.seen[partition]
        if int(value.split()[0]) != len(seen) and not self.failures:
            self.failures.append(f"{value!r} at {partition}@{offset}, where {len(seen)} had to come next")
        seen.append(offset)

    def copied(self, partition: int) -> int:
        """How many records have come out."""
        return len(self.seen[partition])

    def total(self) -> int:
        """How many records have come out of all partitions."""
        return sum(map(len, self.seen))

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._stopping.set()
        self.join(BOUND_S)
