"""Kill after kill of a whole broker while clients write to it; what was acknowledged is there, in order, once."""

import logging
import threading
from pathlib import Path
from random import Random

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.ottla_broker import OttlaBroker

logger = logging.getLogger(__name__)

TOPIC = "chaos"
WRITERS = 3
BOUND_S = 60
LIFE_SECONDS_MAX = 0.6
PROPERTIES = {"log.segment.bytes": "1048576", "log.index.interval.bytes": "512"}
_IN_FLIGHT_MAX = 500


class Writer(threading.Thread):
    """Numbers its records, on one partition, with an idempotent producer that lives through all the kills."""

    def __init__(self, bootstrap: str, partition: int) -> None:
        super().__init__(name=f"chaos-writer-{partition}", daemon=True)
        self._partition = partition
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "delivery.timeout.ms": BOUND_S * 1000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 10,
                "metadata.recovery.strategy": "none",  # else it may forget the only broker while that is away
            },
            logger=logger,
        )
        self.sent = 0
        self.acknowledged: list[tuple[int, int]] = []
        """Offset and number."""
        self.failures: list[str] = []

    def run(self) -> None:
        """Write until told to stop, then wait for what is under way."""
        while not self._stopping.is_set():
            if len(self._producer) < _IN_FLIGHT_MAX:
                self._producer.produce(TOPIC, b"%d" % self.sent, partition=self._partition, on_delivery=self._delivered)
                self.sent += 1
                self._producer.poll(0)
            else:
                self._producer.poll(0.01)
        if self._producer.flush(BOUND_S):
            self.failures.append(f"{len(self._producer)} records were never acknowledged")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        offset, value = message.offset(), message.value()
        if error is not None or offset is None or value is None:
            self.failures.append(str(error))
        else:
            self.acknowledged.append((offset, int(value)))

    def stop(self) -> None:
        """Ask it to end."""
        self._stopping.set()


class BrokerSession:
    """A broker in a process of its own and its writers; ``run`` ends with the check."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.seed = seed
        self.kills = 0
        self.acknowledged = 0
        self._rng = Random(seed)
        self._node = OttlaBroker(directory, PROPERTIES)

    def run(self, kills: int) -> None:
        """Kill and start so many times, while clients write."""
        with self._node:
            admin = AdminClient({"bootstrap.servers": self._node.bootstrap})
            admin.create_topics([NewTopic(TOPIC, WRITERS, 1)])[TOPIC].result(BOUND_S)
            writers = [Writer(self._node.bootstrap, partition) for partition in range(WRITERS)]
            for writer in writers:
                writer.start()
            for _ in range(kills):
                threading.Event().wait(self._rng.uniform(0.05, LIFE_SECONDS_MAX))
                self._node.kill()
                self.kills += 1
                self._node.start()
            for writer in writers:
                writer.stop()
            for writer in writers:
                writer.join(2 * BOUND_S)
                assert not writer.is_alive(), f"{writer.name} does not end"
            for partition, writer in enumerate(writers):
                self._check(partition, writer)
            self._node.stop()

    def _check(self, partition: int, writer: Writer) -> None:
        where = f"partition {partition}, seed {self.seed}"
        assert writer.failures == [], where
        found = self._read(partition)
        numbers = [number for _offset, number in found]
        assert numbers == list(range(writer.sent)), f"{where}: lost, doubled or out of order"
        assert sorted(writer.acknowledged) == found, f"{where}: not at the offsets that were acknowledged"
        self.acknowledged += len(writer.acknowledged)

    def _read(self, partition: int) -> list[tuple[int, int]]:
        consumer = Consumer(
            {"bootstrap.servers": self._node.bootstrap, "group.id": "unused", "enable.auto.commit": False}
        )
        try:
            whole = TopicPartition(TOPIC, partition, 0)
            _start, end = consumer.get_watermark_offsets(whole, BOUND_S, cached=False)
            consumer.assign([whole])
            found: list[tuple[int, int]] = []
            while len(found) < end:
                messages = consumer.consume(min(end - len(found), 10_000), BOUND_S)
                assert messages, f"partition {partition} ends at {len(found)} of {end}"
                for message in messages:
                    offset, value = message.offset(), message.value()
                    assert message.error() is None, message.error()
                    assert offset is not None
                    assert value is not None
                    found.append((offset, int(value)))
            return found
        finally:
            consumer.close()
