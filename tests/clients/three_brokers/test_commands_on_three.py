"""Commands whose answer is with several brokers, beside Apache's tools: of three that live, and with one dead."""

import json
import re
from typing import Any

import pytest

from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.sync.admin import Admin
from ottla.clients.sync.producer import Producer
from ottla.common.topic_partition import TopicPartition
from tests.cli.beside import Beside, sorted_lines
from tests.clients.admin.waiting import eventually
from tests.clients.three_brokers.replicas import make_topic
from tests.node_cluster import NodeCluster
from tests.oracle import Oracle


@pytest.fixture
def beside(brokers: NodeCluster, oracle: Oracle) -> Beside:
    """Our command and Apache's tool of that name, on the same cluster."""
    return Beside(brokers.bootstrap, oracle)


@pytest.fixture
def filled(brokers: NodeCluster, admin: Admin, topic: str) -> str:
    """Three partitions, led by 1, 2 and 3, with 1, 2 and 3 records."""
    make_topic(admin, topic, [1, 2, 3])
    with Producer(bootstrap_servers=brokers.bootstrap) as producer:
        for index in range(3):
            for _ in range(index + 1):
                producer.send(topic, b"value", partition=index)
    return topic


def numberless(output: str) -> list[str]:
    """Offsets, times and lags grow between two looks."""
    return sorted(re.sub(r"(?<=: )\s*\d+$|\b\d{1,13}(?=\s*\t)", "N", line) for line in output.splitlines())


def unordered(output: str) -> list[str]:
    """Topics, and the settings of each, come as a hash map has them."""
    parts = (line.partition("Configs: ") for line in output.splitlines())
    return sorted(first + ",".join(sorted(configs.split(","))) for first, _, configs in parts)


def log_dirs(output: str) -> tuple[list[str], Any]:
    """The first lines, and the document with its lists in order."""
    *first, last = output.splitlines()
    document = json.loads(last)
    document["brokers"].sort(key=lambda each: each["broker"])
    for broker in document["brokers"]:
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return first, document


def test_three_that_live(beside: Beside, filled: str) -> None:
    assert beside.same("topics", "--describe", "--topic", filled, normal=unordered).count("Leader:") == 3
    offsets = beside.same("get-offsets", "--topic", filled)
    assert offsets.split() == [f"{filled}:{index}:{index + 1}" for index in range(3)]
    beside.same("cluster", "list-endpoints", normal=sorted_lines)
    assert beside.same("broker-api-versions", normal=sorted_lines).count(" -> (") == 3
    beside.same("features", "describe", "--node-id", "3", normal=numberless)
    for broker in ("1", "2", "3"):
        named = ("--entity-type", "brokers", "--entity-name", broker)
        printed = beside.same("configs", "--describe", "--all", *named, normal=sorted_lines)
        assert f"broker.rack=rack-{broker} " in printed
    _, document = log_dirs(beside.same("log-dirs", "--describe", "--topic-list", filled, normal=log_dirs))
    assert [broker["broker"] for broker in document["brokers"]] == [1, 2, 3]
    beside.same("log-dirs", "--describe", "--topic-list", filled, "--broker-list", "3,1", normal=log_dirs)
    beside.same("metadata-quorum", "describe", "--status", normal=numberless)
    replication = beside.same("metadata-quorum", "describe", "--replication", normal=numberless)
    assert (replication.count("Leader"), replication.count("Follower")) == (1, 2)


def test_groups_of_all_brokers(beside: Beside, admin: Admin, filled: str) -> None:
    groups = [f"{filled}-{number}" for number in range(6)]
    for number, group in enumerate(groups):
        admin.alter_group_offsets(group, {TopicPartition(filled, number % 3): OffsetAndMetadata(1)})
    assert set(groups) <= set(beside.same("consumer-groups", "--list", normal=sorted_lines).split())
    assert set(groups) <= set(beside.same("groups", "--list", normal=sorted_lines).split())
    named = [argument for group in groups for argument in ("--group", group)]
    assert beside.same("consumer-groups", "--describe", *named, normal=words).count(f" {filled} ") == 6
    assert beside.same("consumer-groups", "--describe", "--state", *named, normal=words).count("Empty") == 6
    reset = ("--reset-offsets", "--to-earliest", "--topic", filled, *named)
    beside.same("consumer-groups", *reset, "--dry-run", normal=words)


def words(output: str) -> list[list[str]]:
    """Lines, whatever the width of their columns, in any order."""
    return sorted(line.split() for line in output.splitlines())


def test_transactions_of_all_brokers(beside: Beside, brokers: NodeCluster, topic: str) -> None:
    for number in range(6):
        with Producer(bootstrap_servers=brokers.bootstrap, transactional_id=f"{topic}-{number}") as producer:
            producer.init_transactions()
    assert beside.same("transactions", "list", normal=sorted_lines).count(topic) == 6
    for number in range(6):
        beside.same("transactions", "describe", "--transactional-id", f"{topic}-{number}")


def test_one_is_dead(beside: Beside, brokers: NodeCluster, admin: Admin, filled: str) -> None:
    brokers.nodes[3].kill()
    eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == {1, 2})
    eventually(lambda: admin.describe_topics([filled])[filled].partitions[2].leader_id != 3)
    for missing in ("--under-replicated-partitions", "--at-min-isr-partitions"):
        described = beside.same("topics", "--describe", "--topic", filled, missing)
        assert described.count("Leader:") == 3, missing
    for missing in ("--under-min-isr-partitions", "--unavailable-partitions"):
        assert beside.same("topics", "--describe", "--topic", filled, missing) == ""
    everywhere = beside.same("topics", "--describe", "--under-replicated-partitions", normal=unordered)
    assert "__consumer_offsets" in everywhere
    assert beside.same("get-offsets", "--topic", filled).count(f"{filled}:") == 3
    fenced = beside.same("cluster", "list-endpoints", "--include-fenced-brokers", normal=sorted_lines)
    assert re.search(r"rack-3 +fenced", fenced)
    assert "rack-3" not in beside.same("cluster", "list-endpoints", normal=sorted_lines)
    assert beside.same("broker-api-versions", normal=sorted_lines).count(" -> (") == 2
    _, document = log_dirs(beside.same("log-dirs", "--describe", "--topic-list", filled, normal=log_dirs))
    assert [broker["broker"] for broker in document["brokers"]] == [1, 2]
    beside.same_failure(
        "The given brokers do not exist from --broker-list: 3. Current existent brokers: 1,2",
        "log-dirs",
        "--describe",
        "--broker-list",
        "3",
    )
    beside.same("metadata-quorum", "describe", "--replication", normal=numberless)
    beside.same("consumer-groups", "--list", normal=sorted_lines)
    beside.same("transactions", "list", normal=sorted_lines)
    diagnosis = beside.ours("doctor")
    assert diagnosis.code == 1
    assert f"Nothing listens at {brokers.nodes[3].bootstrap}" in diagnosis.stdout
    assert "has 2 broker(s), and lets us in" in diagnosis.stdout


def test_deleting_records_at_their_leaders(beside: Beside, filled: str, tmp_path: Any) -> None:
    path = tmp_path / "offsets.json"
    partitions = [{"topic": filled, "partition": index, "offset": 1} for index in range(3)]
    path.write_text(json.dumps({"partitions": partitions, "version": 1}))
    beside.same("delete-records", "--offset-json-file", str(path), normal=sorted_lines)
    assert beside.same("get-offsets", "--topic", filled, "--time", "earliest").count(":1\n") == 3
