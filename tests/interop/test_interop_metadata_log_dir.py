"""Directories whose metadata log lies apart (``metadata.log.dir``), served in turn by Ottla and by Apache Kafka."""

from pathlib import Path

import pytest

from tests.apache import driver
from tests.apache.properties import free_ports
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker


@pytest.mark.parametrize("first", ["ottla", "apache"])
def test_either_opens_what_the_other_left(oracle: Oracle, tmp_path: Path, first: str) -> None:
    ports = free_ports()
    metadata = tmp_path / "metadata"
    properties = {"metadata.log.dir": str(metadata), "broker.session.timeout.ms": "3000"}
    nodes: dict[str, Node] = {
        "ottla": OttlaBroker(tmp_path, properties, ports),
        "apache": oracle.broker(tmp_path, properties, ports),
    }
    second = "apache" if first == "ottla" else "ottla"
    topics: list[str] = []
    for turn, (player, end) in enumerate([(first, "stop"), (second, "kill"), (first, "kill"), (second, "stop")]):
        with nodes[player] as node:
            topics.append(f"turn-{turn}-{player}")
            listed, directories = driver.drive(
                oracle,
                node.bootstrap,
                [driver.create_topic(topics[-1]), driver.list_topics(), driver.describe_log_dirs()],
            )
            assert sorted(listed["topics"]) == sorted(topics), f"turn {turn}, {player}'s"
            assert str(metadata) not in str(directories)
            getattr(node, end)()
    assert (metadata / "__cluster_metadata-0").is_dir()
    assert not (tmp_path / "data" / "__cluster_metadata-0").exists()
