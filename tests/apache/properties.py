"""The server.properties of a single node on loopback, read alike by Apache's broker and by Ottla."""

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple


class Ports(NamedTuple):
    """Where a combined node listens."""

    broker: int
    controller: int


def free_ports() -> Ports:
    """Return two ports that nobody listens on."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in Ports._fields]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return Ports(*(each.getsockname()[1] for each in sockets))


def server_properties(log_dir: Path, ports: Ports) -> dict[str, str]:
    """Return what a combined node needs, with small internal topics and no topic that nobody asked for."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports.controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{ports.broker},CONTROLLER://127.0.0.1:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(log_dir),
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }


def static_voters(*nodes: Ports) -> dict[str, str]:
    """Return the properties of a cluster whose voters are named in its configuration instead of its metadata log.

    The nodes' ids are 1, 2, …
    """
    voters = (f"{node_id}@127.0.0.1:{ports.controller}" for node_id, ports in enumerate(nodes, 1))
    return {
        "controller.quorum.voters": ",".join(voters),
        "controller.quorum.bootstrap.servers": "",
    }
