"""A metadata log that Apache's controller wrote gives the cluster that Apache's admin client sees."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import METADATA_VERSION
from ottla.metadata.image import EMPTY_IMAGE, ClientQuotaEntity, ConfigResourceType, MetadataImage
from ottla.metadata.loader import MetadataLoader
from ottla.metadata.metadata_version import LATEST_PRODUCTION
from ottla.metadata.records import MetadataRecord
from ottla.metadata.serde import decode_record, encode_record, record_version
from ottla.records.batch import RecordBatch, batches
from ottla.records.record import decode_records
from tests.apache import driver
from tests.metadata.metadata_histories import replayed
from tests.oracle import Oracle

OPERATIONS = [
    driver.create_topic("orders", 3, {"retention.ms": "1234", "cleanup.policy": "compact"}),
    driver.create_topic("gone", 1, {"retention.ms": "1"}),
    driver.delete_topic("gone"),
    driver.create_partitions("orders", 4),
    driver.alter_configs("orders", ("DELETE", "cleanup.policy", ""), ("SET", "segment.bytes", "2000000")),
    driver.alter_configs("", ("SET", "log.cleaner.threads", "2"), resource_type="BROKER"),
]
QUESTIONS = [
    driver.list_topics(),
    driver.describe_topic("orders"),
    driver.describe_configs("orders"),
    driver.describe_cluster(),
    driver.describe_features(),
]
CONFIG_COMMAND = "kafka.admin.ConfigCommand"
QUOTA = ("--entity-type", "users", "--entity-name", "alice", "--add-config", "request_percentage=12.5")
SCRAM = ("--entity-type", "users", "--entity-name", "bob", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=x]")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the log, for the loader."""

    header: RecordBatch
    records: list[MetadataRecord]

    @property
    def base_offset(self) -> int:
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        return self.header.last_offset

    @property
    def epoch(self) -> int:
        return self.header.partition_leader_epoch

    @property
    def append_time_ms(self) -> int:
        return self.header.max_timestamp

    @property
    def size_bytes(self) -> int:
        return self.header.size_in_bytes


def _batches(file: Path) -> list[Batch]:
    return [
        Batch(
            batch, [] if batch.is_control else [decode_record(record.value or b"") for record in decode_records(batch)]
        )
        for batch in batches(file.read_bytes())
    ]


def _records(file: Path) -> list[MetadataRecord]:
    return [record for batch in _batches(file) for record in batch.records]


@dataclass(frozen=True, slots=True)
class Story:
    """What Apache answered, and what it left on disk."""

    answers: list[dict[str, Any]]
    directory: Path

    @property
    def log(self) -> list[Batch]:
        """All batches of the metadata log."""
        return [
            batch
            for file in sorted((self.directory / "__cluster_metadata-0").glob("*.log"))
            for batch in _batches(file)
        ]


@pytest.fixture(scope="module")
def story(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """One broker's life; it writes a snapshot whenever it can."""
    properties = {"metadata.log.max.record.bytes.between.snapshots": "1"}
    with oracle.broker(tmp_path_factory.mktemp("apache"), properties) as broker:
        broker.drive(OPERATIONS)
        for options in (QUOTA, SCRAM):
            done = oracle.run(CONFIG_COMMAND, "--bootstrap-server", broker.bootstrap, "--alter", *options)
            assert done.returncode == 0, done.stderr
        answers = broker.drive(QUESTIONS)
        broker.kill()
        yield Story(answers, broker.log_dir)


@pytest.fixture(scope="module")
def image(story: Story) -> MetadataImage:
    """The log, loaded."""
    faults: list[str] = []
    loader = MetadataLoader(lambda: None, lambda what, error: faults.append(f"{what}: {error}"))
    for batch in story.log:
        loader.handle_commit(batch)
    assert not faults
    return loader.image


def test_the_image_is_the_cluster_that_the_admin_client_sees(story: Story, image: MetadataImage) -> None:
    topics, orders, configs, cluster, features = story.answers
    assert sorted(image.topics.by_name) == topics["topics"] == ["orders"]
    topic = image.topics.by_name["orders"]
    assert str(topic.id) == orders["id"]
    assert [
        {"partition": index, "leader": partition.leader, "replicas": list(partition.replicas)}
        for index, partition in sorted(topic.partitions.items())
    ] == orders["partitions"]
    dynamic = {key: entry["value"] for key, entry in configs.items() if entry["source"] == "DYNAMIC_TOPIC_CONFIG"}
    assert image.configs.properties(ConfigResourceType.TOPIC, "orders") == dynamic
    assert dynamic == {"retention.ms": "1234", "segment.bytes": "2000000"}
    assert [
        {"id": broker.id, "host": endpoint.host, "port": endpoint.port}
        for broker in image.cluster.brokers.values()
        for endpoint in broker.listeners.values()
    ] == cluster["nodes"]
    finalized = {**image.features.finalized_versions, METADATA_VERSION: image.features.metadata_version}
    assert finalized == {name: level for name, level in features.items() if name != "kraft.version"}


def test_nothing_else_is_lost(image: MetadataImage) -> None:
    assert image.configs.properties(ConfigResourceType.BROKER, "")["log.cleaner.threads"] == "2"
    assert image.client_quotas.entities == {ClientQuotaEntity.of({"user": "alice"}): {"request_percentage": 12.5}}
    assert image.scram.mechanisms[1]["bob"].iterations == 4096
    assert image.cluster.controllers
    (broker,) = image.cluster.brokers.values()
    assert not broker.fenced
    assert broker.directories


def test_records_are_written_in_the_versions_that_apache_chose(story: Story) -> None:
    for file in (story.directory / "__cluster_metadata-0").glob("*.log"):
        for batch in batches(file.read_bytes()):
            for record in () if batch.is_control else decode_records(batch):
                decoded = decode_record(record.value or b"")
                assert encode_record(decoded, record_version(decoded, LATEST_PRODUCTION)) == record.value


def test_apaches_snapshots_hold_what_our_images_hold(story: Story) -> None:
    snapshots = sorted((story.directory / "__cluster_metadata-0").glob("*.checkpoint"))
    compared = 0
    for file in snapshots:
        end_offset = int(file.name.partition("-")[0])
        if end_offset == 0:
            continue
        loader = MetadataLoader(lambda: None, lambda what, error: pytest.fail(f"{what}: {error}"))
        for batch in story.log:
            if batch.last_offset < end_offset:
                loader.handle_commit(batch)
        theirs = replayed(EMPTY_IMAGE, _records(file))
        assert replace(loader.image, provenance=theirs.provenance) == theirs
        compared += 1
    assert compared, "Apache wrote no snapshot"


def test_the_bootstrap_file_names_the_levels(story: Story) -> None:
    bootstrap = BootstrapMetadata.from_records(_records(story.directory / "bootstrap.checkpoint"), "the file")
    assert bootstrap.metadata_version == LATEST_PRODUCTION
    assert bootstrap.feature_level("group.version") == 1
    levels = {
        name: bootstrap.feature_level(name) for name in ("transaction.version", "share.version", "streams.version")
    }
    rebuilt = BootstrapMetadata.from_versions(
        LATEST_PRODUCTION, {**levels, "group.version": 1, "eligible.leader.replicas.version": 1}, "the file"
    )
    assert list(bootstrap.records) == list(rebuilt.records)
