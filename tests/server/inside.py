"""A look into a running broker, on its own event loop."""

from collections.abc import Callable
from typing import TypeVar

from ottla.common.topic_partition import TopicPartition
from ottla.replication.partition import Partition
from ottla.server.broker_server import BrokerServer
from ottla.server.node import Node
from ottla.testing import Broker

T = TypeVar("T")


def inside(broker: Broker, call: Callable[[BrokerServer], T]) -> T:
    """Call with the broker's parts, between two of its turns."""

    async def run() -> T:
        return call(server_of(broker._running))

    assert broker._thread is not None
    return broker._thread.run(run())


def server_of(node: Node) -> BrokerServer:
    """The broker of a node that runs."""
    assert node._broker is not None
    return node._broker


def partition_of(server: BrokerServer, topic: str, index: int = 0) -> Partition:
    """A partition that the broker hosts."""
    return server.replicas.partitions.require(TopicPartition(topic, index))


def metric(broker: Broker, name: str) -> float:
    """The sum over all labels of a metric, by its name on the Prometheus endpoint."""
    text = inside(broker, lambda _: b"".join(broker._running.render_metrics())).decode()
    lines = [line for line in text.splitlines() if line.partition(" ")[0].partition("{")[0] == name]
    assert lines, f"there is no metric {name}"
    return sum(float(line.rpartition(" ")[2]) for line in lines)
