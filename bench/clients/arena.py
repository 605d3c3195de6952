"""A broker for the clients to meet at."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # its stubs do not export it

from bench.broker.nodes import Contenders
from tests.node import Node
from tests.oracle import Oracle

_BOUND_S = 60


class ClientArena:
    """One broker in a process of its own, and fresh topics."""

    def __init__(self, name: str, directory: Path, *, quick: bool) -> None:
        self.quick = quick
        self.rounds = 2 if quick else 5
        self._oracle = Oracle(print) if name == "apache" else None
        self._node: Node = Contenders(self._oracle).node(name, directory)
        self._numbers = count()

    def start(self) -> None:
        """Format and start the broker."""
        self._node.format()
        self._node.start()
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap})

    def stop(self) -> None:
        """End it."""
        self._node.kill()
        if self._oracle is not None:
            self._oracle.close()

    @property
    def bootstrap(self) -> str:
        """Where it is."""
        return self._node.bootstrap

    @contextmanager
    def topic(self, partitions: int) -> Iterator[str]:
        """A topic that is deleted afterwards."""
        name = f"bench-{next(self._numbers)}"
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(_BOUND_S)
        try:
            yield name
        finally:
            self._admin.delete_topics([name])[name].result(_BOUND_S)

    def check_count(self, topic: str, partitions: int, expected: int) -> None:
        """All records are there, and none twice."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "bench"})
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, number), _BOUND_S)[1] for number in range(partitions)
        ]
        consumer.close()
        if sum(ends) != expected:
            raise RuntimeError(f"{topic} has {sum(ends)} records, not {expected}")
