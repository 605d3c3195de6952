"""Both brokers, running; each is measured while the other stands still."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # its stubs do not export it

from bench.broker import nodes, process
from bench.broker.board import Board
from bench.broker.load import Load, generate
from bench.measure import Row
from tests.node import Node

_BOUND_S = 60
_STILL_COLD = 0.02


class Cost(NamedTuple):
    """What a broker spent on a load, and what the load's generator did."""

    load: Load
    broker_cpu_s: float


class Arena:
    """The running contenders, by name, and how many rounds are wanted."""

    def __init__(self, names: list[str], contenders: nodes.Contenders, directory: Path, *, long: bool) -> None:
        self.names = names
        self.contenders = contenders
        self.directory = directory
        self.long = long
        self.rounds = 5 if long else 3
        self.nodes: dict[str, Node] = {}
        self.rows: list[Row] = []
        self._topics = 0

    def start(self, section: str) -> None:
        """Start the contenders, anew, for a section."""
        for name in self.names:
            self.nodes[name] = self.contenders.node(name, self.directory / f"{section}-{name}")
            self.nodes[name].start()

    def kill(self) -> None:
        """End them, and give back their space."""
        for node in self.nodes.values():
            node.kill()
            shutil.rmtree(node.log_dir, ignore_errors=True)
        self.nodes.clear()

    @contextmanager
    def board(self, title: str) -> Iterator[Board]:
        """A table that is printed in the end."""
        board = Board(title, self.names)
        yield board
        self.rows += board.print()

    def turns(self, rounds: int | None = None) -> Iterator[tuple[str, Node]]:
        """Each contender in turn, alone on the machine, `rounds` times; who comes first changes."""
        for number in range(self.rounds if rounds is None else rounds):
            for name in self.names if number % 2 == 0 else self.names[::-1]:
                others = [node for other, node in self.nodes.items() if other != name]
                with nodes.standing_still(others):
                    yield name, self.nodes[name]

    @contextmanager
    def topic(self, node: Node, partitions: int = 1, config: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
        """A new topic, deleted afterwards so that its dirty pages need not be written."""
        self._topics += 1
        name = f"bench-{self._topics}"
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(name, partitions, 1, config=dict(config))])[name].result(_BOUND_S)
        yield name
        admin.delete_topics([name])[name].result(_BOUND_S)


def loaded(node: Node, **plan: object) -> Cost:
    """Put a load on a broker and return what it cost."""
    before = process.cpu_s(node.pid)
    load = generate(host="127.0.0.1", port=node.ports.broker, **plan)
    return Cost(load, process.cpu_s(node.pid) - before)


def check_written(node: Node, topic: str, partitions: int, records: int) -> None:
    """All that was acknowledged is there."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "unused"})
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), _BOUND_S)[1] for each in range(partitions)]
    consumer.close()
    if sum(ends) != records:
        raise RuntimeError(f"{sum(ends)} records were written where {records} were acknowledged")


def drop_from_page_cache(node: Node, topic: str, partitions: int) -> None:
    """Write the partitions' logs to the disk and make the page cache forget them."""
    for partition in range(partitions):
        for path in node.partition_dir(topic, partition).glob("*.log"):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                _drop(descriptor, path.stat().st_size)
            finally:
                os.close(descriptor)


def _drop(descriptor: int, size: int) -> None:
    deadline = time.monotonic() + _BOUND_S
    while True:  # a broker may still be reading ahead
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if _warm_share(descriptor, size) < _STILL_COLD:
            break
        if time.monotonic() > deadline:
            raise RuntimeError("the page cache does not forget")
        time.sleep(0.1)


def _warm_share(descriptor: int, size: int) -> float:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # a probe must not read ahead
    probe = [bytearray(1)]
    warm, positions = 0, range(0, size, size // 256 + 1)
    for position in positions:
        try:
            warm += os.preadv(descriptor, probe, position, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
    return warm / len(positions)
