"""Apache's own command line tools, each in a JVM of its own as its script runs it."""

import json
import re
from pathlib import Path

import pytest

from tests.interop.clients.client import Sent
from tests.interop.clients.confluent_client import Confluent
from tests.interop.tools import CONFIGS, TOOLS, TOPICS, Tools
from tests.node import CLUSTER_ID, Node
from tests.oracle import Oracle


@pytest.fixture
def tools(oracle: Oracle, kafka_cluster: Node) -> Tools:
    return Tools(oracle, kafka_cluster.bootstrap)


def test_topics(tools: Tools, topic: str) -> None:
    created = tools.run(TOPICS, "--create", "--topic", topic, "--partitions", "3", "--config", "retention.ms=1000")
    assert f"Created topic {topic}." in created
    status, again = tools.attempt(TOPICS, "--create", "--topic", topic)
    assert status == 1
    assert f"Topic '{topic}' already exists." in again
    tools.run(TOPICS, "--create", "--topic", topic, "--if-not-exists")
    assert topic in tools.run(TOPICS, "--list").split()
    tools.run(TOPICS, "--alter", "--topic", topic, "--partitions", "4")
    head, *partitions = tools.run(TOPICS, "--describe", "--topic", topic).strip().splitlines()
    assert re.search(r"TopicId: \S{22}\tPartitionCount: 4\tReplicationFactor: 1\tConfigs: .*retention.ms=1000", head)
    assert len(partitions) == 4
    assert all("Leader: 1\tReplicas: 1\tIsr: 1" in line for line in partitions)
    tools.run(TOPICS, "--delete", "--topic", topic)
    status, missing = tools.attempt(TOPICS, "--describe", "--topic", topic)
    assert status == 1
    assert f"Topic '{topic}' does not exist as expected" in missing


def test_configs(tools: Tools, kafka_cluster: Node, topic: str) -> None:
    Confluent(kafka_cluster.bootstrap).create_topic(topic)
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    changed = tools.run(CONFIGS, "--alter", *of_topic, "--add-config", "cleanup.policy=compact,segment.bytes=1048576")
    assert f"Completed updating config for topic {topic}." in changed
    described = tools.run(CONFIGS, "--describe", *of_topic)
    assert f"Dynamic configs for topic {topic} are:" in described
    assert (
        "cleanup.policy=compact sensitive=false synonyms="
        "{DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact, DEFAULT_CONFIG:log.cleanup.policy=delete}" in described
    )
    tools.run(CONFIGS, "--alter", *of_topic, "--delete-config", "cleanup.policy")
    everything = tools.run(CONFIGS, "--describe", *of_topic, "--all")
    assert "segment.bytes=1048576" in everything
    assert "cleanup.policy=delete" in everything
    status, refused = tools.attempt(CONFIGS, "--alter", *of_topic, "--add-config", "segment.bytes=few")
    assert status == 1
    assert "Invalid value few for configuration segment.bytes" in refused


def test_broker_configs(tools: Tools) -> None:
    of_broker = ("--entity-type", "brokers", "--entity-name", "1")
    of_all = ("--entity-type", "brokers", "--entity-default")
    tools.run(CONFIGS, "--alter", *of_broker, "--add-config", "log.cleaner.threads=2")
    tools.run(CONFIGS, "--alter", *of_all, "--add-config", "log.retention.ms=7654321")
    described = tools.run(CONFIGS, "--describe", *of_broker)
    assert "log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2" in described
    assert "log.retention.ms=7654321" in tools.run(CONFIGS, "--describe", *of_all)
    everything = tools.run(CONFIGS, "--describe", *of_broker, "--all")
    assert "node.id=1 sensitive=false synonyms={STATIC_BROKER_CONFIG:node.id=1}" in everything
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7654321" in everything
    tools.run(CONFIGS, "--alter", *of_broker, "--delete-config", "log.cleaner.threads")
    tools.run(CONFIGS, "--alter", *of_all, "--delete-config", "log.retention.ms")
    assert "7654321" not in tools.run(CONFIGS, "--describe", *of_broker, "--all")


def test_offsets_log_dirs_and_deleted_records(tools: Tools, kafka_cluster: Node, topic: str, tmp_path: Path) -> None:
    client = Confluent(kafka_cluster.bootstrap)
    client.create_topic(topic, 2, {"retention.ms": "-1"})  # these records are old
    client.produce(topic, [Sent(b"x" * 100, timestamp_ms=10_000 + number) for number in range(10)])
    offsets = f"{TOOLS}.GetOffsetShell"
    assert tools.run(offsets, "--topic", topic).split() == [f"{topic}:0:10", f"{topic}:1:0"]
    wanted = tmp_path / "delete.json"
    wanted.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 4}], "version": 1}))
    deleted = tools.run(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", wanted)
    assert f"partition: {topic}-0\tlow_watermark: 4" in deleted
    assert tools.run(offsets, "--topic", topic, "--time", "earliest").split() == [f"{topic}:0:4", f"{topic}:1:0"]
    by_time = tools.run(offsets, "--topic-partitions", f"{topic}:0", "--time", "10007")
    assert by_time.split() == [f"{topic}:0:7"]
    latest = tools.run(offsets, "--topic-partitions", f"{topic}:0", "--time", "max-timestamp")
    assert latest.split() == [f"{topic}:0:9"]
    listed = tools.run(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", topic)
    (broker,) = json.loads(listed.strip().splitlines()[-1])["brokers"]
    (log_dir,) = broker["logDirs"]
    assert (broker["broker"], log_dir["error"], log_dir["logDir"]) == (1, None, str(kafka_cluster.log_dir))
    sizes = {each["partition"]: each["size"] for each in log_dir["partitions"]}
    assert sizes == {f"{topic}-0": log_bytes(kafka_cluster, topic), f"{topic}-1": 0}


def log_bytes(node: Node, topic: str) -> int:
    return sum(path.stat().st_size for path in node.partition_dir(topic).glob("*.log"))


def test_features_quorum_and_cluster(tools: Tools, oracle: Oracle, kafka_cluster: Node) -> None:
    features = tools.run(f"{TOOLS}.FeatureCommand", "describe")
    assert re.search(r"metadata.version\s+SupportedMinVersion: 3.3-IV3\s+.*FinalizedVersionLevel: 4.3-IV0", features)
    assert re.search(r"kraft.version\s.*FinalizedVersionLevel: 1\s", features)
    quorum = f"{TOOLS}.MetadataQuorumCommand"
    status = tools.run(quorum, "describe", "--status")
    assert re.search(rf"ClusterId: +{CLUSTER_ID}\nLeaderId: +1\nLeaderEpoch: +\d+\nHighWatermark: +\d+\n", status)
    assert re.search(r"MaxFollowerLag: +0\n", status)
    replication = tools.run(quorum, "describe", "--replication")
    assert re.search(r"\n1\s+\S{22}\s+\d+\s+0\s+\d+\s+\d+\s+Leader\s", replication)
    by_controller = ("--bootstrap-controller", kafka_cluster.bootstrap_controller)
    done = oracle.run(quorum, *by_controller, "describe", "--status", fresh=True)
    assert re.search(r"LeaderId: +1\n", done.stdout), done.stderr
    done = oracle.run(f"{TOOLS}.ClusterTool", "cluster-id", "--bootstrap-server", kafka_cluster.bootstrap, fresh=True)
    assert f"Cluster ID: {CLUSTER_ID}" in done.stdout
    server = ("--bootstrap-server", kafka_cluster.bootstrap)
    done = oracle.run(f"{TOOLS}.ClusterTool", "list-endpoints", *server, fresh=True)
    assert re.search(rf"\n1 +127.0.0.1 +{kafka_cluster.ports.broker} +null +unfenced +broker", done.stdout), done
    versions = tools.run(f"{TOOLS}.BrokerApiVersionsCommand")
    assert f"127.0.0.1:{kafka_cluster.ports.broker} (id: 1 rack: null isFenced: false)" in versions
    assert re.search(r"Produce\(0\): 0 to 13 \[usable: 13\]", versions)


def test_console_producer_and_consumer(tools: Tools, kafka_cluster: Node, topic: str) -> None:
    Confluent(kafka_cluster.bootstrap).create_topic(topic)
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    lines = "h:1\tone\tvalue 1\nh:2\ttwo\tvalue 2\nh:3\tthree\tvalue 3\n"
    tools.run(f"{TOOLS}.ConsoleProducer", "--topic", topic, *keyed, "--compression-codec", "zstd", stdin=lines)
    show = [f"print.{what}=true" for what in ("key", "headers", "offset", "partition")]
    options = [each for shown in show for each in ("--formatter-property", shown)]
    by_offset = ("--partition", "0", "--offset", "1", "--max-messages", "2")
    read = tools.run(f"{TOOLS}.consumer.ConsoleConsumer", "--topic", topic, *by_offset, *options)
    assert "Partition:0\tOffset:1\th:2\ttwo\tvalue 2\nPartition:0\tOffset:2\th:3\tthree\tvalue 3\n" in read
    from_start = ("--partition", "0", "--offset", "earliest", "--max-messages", "3")
    committed = ("--isolation-level", "read_committed")
    read = tools.run(f"{TOOLS}.consumer.ConsoleConsumer", "--topic", topic, *from_start, *committed)
    assert read.startswith("value 1\nvalue 2\nvalue 3\n")


@pytest.mark.parametrize("acks", ["1", "all"])
def test_producer_performance(tools: Tools, kafka_cluster: Node, topic: str, acks: str) -> None:
    client = Confluent(kafka_cluster.bootstrap)
    client.create_topic(topic)
    options = ("--num-records", "20000", "--record-size", "100", "--throughput", "-1", "--topic", topic)
    report = tools.run(f"{TOOLS}.ProducerPerformance", *options, "--command-property", f"acks={acks}")
    assert re.search(r"20000 records sent, [\d.]+ records/sec", report)
    assert client.watermarks(topic) == (0, 20_000)
