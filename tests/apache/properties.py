"""The server.properties of a single node on loopback, read alike by Apache's broker and by Ottla."""

import socket
import sys
from pathlib import Path
from typing import NamedTuple


class Ports(NamedTuple):
    """Where a combined node listens."""

    broker: int
    controller: int


_held: list[socket.socket] = []


def free_port(wanted: int = 0) -> int:
    """Return a port that nobody listens on. On Linux nobody else is given it while this process lives.

    OSError if it is to be one that somebody has.
    """
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", wanted))
    except BaseException:
        held.close()
        raise
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # from now on: another's is not for us
    port: int = held.getsockname()[1]
    if sys.platform == "linux":
        # Servers, which ask for SO_REUSEADDR too, may listen beside a socket that does not. Else the port would be
        # anybody's, client's or server's, until a node has started, and again whenever a test has killed it.
        _held.append(held)
    else:
        held.close()
    return port


def free_ports() -> Ports:
    """Return a node's ports, as ``free_port`` does."""
    return Ports(free_port(), free_port())


def server_properties(log_dir: Path, ports: Ports) -> dict[str, str]:
    """Return what a combined node needs, with small internal topics and no topic that nobody asked for.

    Records are kept however old they say they are: retention looks half a minute after a start, amid a test.
    """
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
        "log.retention.ms": "-1",
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
