"""Nodes that tests of clients run against: Ottla's and, where OTTLA_APACHE_HALF=1 says so, Apache's.

Apache's half is what shows that a test asks for Kafka's behaviour and not for ours; it takes a while, so
`make interop` runs it and `make test` does not.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.apache.properties import Ports, free_ports, static_voters
from tests.node import Node
from tests.node_cluster import NodeCluster
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

CLUSTERS = ("ottla", "apache")
_MEMORY = Path("/dev/shm")
_numbers = count()


def new_node(
    kind: str,
    request: pytest.FixtureRequest,
    directory: Path,
    properties: Mapping[str, str],
    ports: Ports | None = None,
) -> Node:
    """A node that is not started yet."""
    if kind == "ottla":
        return OttlaBroker(directory, properties, ports)
    oracle: Oracle = request.getfixturevalue("oracle")
    return oracle.broker(directory, properties, ports)


@contextmanager
def running_node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, properties: Mapping[str, str]
) -> Iterator[Node]:
    """A running node of the kind in ``request.param``, its logs in memory; it must stop by itself when asked to."""
    with _directory(tmp_path_factory) as directory, new_node(request.param, request, directory, properties) as node:
        yield node
        node.stop()


@contextmanager
def running_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, properties: Mapping[str, str], size: int
) -> Iterator[NodeCluster]:
    """A running cluster of so many nodes of the kind in ``request.param``, each in a rack of its own, in memory."""
    ports = [free_ports() for _ in range(size)]
    with _directory(tmp_path_factory) as directory:
        nodes = [
            new_node(
                request.param,
                request,
                directory / str(node_id),
                {**properties, **static_voters(*ports), "node.id": str(node_id), "broker.rack": f"rack-{node_id}"},
                ports[node_id - 1],
            )
            for node_id in range(1, size + 1)
        ]
        with NodeCluster(nodes) as cluster:
            yield cluster


@contextmanager
def _directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory, in memory where the machine has such."""
    if not _MEMORY.is_dir():
        yield tmp_path_factory.mktemp("cluster")
        return
    directory = Path(tempfile.mkdtemp(prefix="ottla-cluster-", dir=_MEMORY))
    yield directory
    shutil.rmtree(directory)


def unused_topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used, made of the test's."""
    name = getattr(request.node, "originalname", None) or request.node.name
    return f"{name.removeprefix('test_')[:40]}-{next(_numbers)}"


def select_halves(config: pytest.Config, items: list[pytest.Item], fixture: str) -> list[pytest.Item]:
    """Deselect Apache's half of what takes ``fixture`` unless it is wanted; returns what is left of it."""
    affected = [item for item in items if fixture in getattr(getattr(item, "callspec", None), "params", {})]
    if os.environ.get("OTTLA_APACHE_HALF") == "1":
        return affected
    deselected = {item for item in affected if item.callspec.params[fixture] == "apache"}  # type: ignore[attr-defined]
    if deselected:
        config.hook.pytest_deselected(items=list(deselected))
        items[:] = [item for item in items if item not in deselected]
    return [item for item in affected if item not in deselected]


def sample_oracle(config: pytest.Config, items: list[pytest.Item], directory: Path, a_module: int) -> None:
    """Deselect all but the first ``a_module`` tests of each module that ask Apache's tools, unless all are wanted."""
    if os.environ.get("OTTLA_APACHE_HALF") == "1":
        return
    seen: Counter[Path] = Counter()
    deselected = []
    for item in items:
        if directory in item.path.parents and "oracle" in getattr(item, "fixturenames", ()):
            if "apache" in getattr(getattr(item, "callspec", None), "params", {}).values():
                continue  # not run anyway
            seen[item.path] += 1
            if seen[item.path] > a_module:
                deselected.append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        gone = set(deselected)
        items[:] = [item for item in items if item not in gone]
