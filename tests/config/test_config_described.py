"""DescribeConfigs and the refusal of changes, compared with a running broker of Apache's."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.common.errors import InvalidConfigError, InvalidRequestError, KafkaError
from ottla.config.client_metrics_config import validate_client_metrics_config
from ottla.config.config_entry import TYPE_IDS, ConfigEntry
from ottla.config.describe import (
    describe_broker,
    describe_broker_default,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from ottla.config.dynamic_config import DynamicConfig
from ottla.config.group_config import validate_group_config
from ottla.config.kafka_config import KafkaConfig
from ottla.config.properties import parse
from ottla.config.topic import validate_topic_config
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "DescribedConfigs.java"
OUR_OWN = {"ottla.produce.validation", "ottla.send.mode", "metrics.listener"}
STATIC = {
    "log.retention.hours": "100",
    "log.roll.ms": "3600000",
    "log.cleanup.policy": "delete, compact",
    "listener.name.plaintext.max.connections": "77",
    "listener.name.plaintext.sasl.oauthbearer.client.credentials.client.secret": "secret",
    "sasl.oauthbearer.client.credentials.client.secret": "secret",
    "no.such.key": "hidden",
    "log.initial.task.delay.ms": "1000",
    "compression.type": "lz4",
}
TOPIC = {"retention.ms": "5", "cleanup.policy": "compact,delete", "internal.segment.bytes": "100000"}
BROKER = {
    "log.retention.minutes.ignored": "1",
    "log.segment.bytes": "2097152",
    "num.io.threads": "16",
    "listener.name.plaintext.max.connections": "88",
    "of.a.plugin": "secret",
}
DEFAULT = {
    "log.retention.ms": "7000000",
    "log.segment.bytes": "3145728",
    "compression.type": "zstd",
    "leader.replication.throttled.rate": "12345",
    "max.connections.per.ip.overrides": "localhost:100",
}
GROUP = {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "by_duration:PT5M"}
METRICS = {"interval.ms": "1000", "match": "client_id=a.*"}
AT_FORMAT = {"min.insync.replicas": "1"}
"""What formatting the storage puts into the cluster's default."""
TRIED = [
    ("BROKER", "1", "log.dirs", "/elsewhere"),
    ("BROKER", "1", "log.retention.hours", "5"),
    ("BROKER", "1", "ssl.keystore.location", "/x"),
    ("BROKER", "1", "log.segment.bytes", "5"),
    ("BROKER", "1", "num.io.threads", "100"),
    ("BROKER", "1", "num.io.threads", "1"),
    ("BROKER", "1", "num.network.threads", "7"),
    ("BROKER", "1", "listener.name.plaintext.num.network.threads", "7"),
    ("BROKER", "", "num.network.threads", "6"),
    ("BROKER", "1", "log.cleaner.threads", "9"),
    ("BROKER", "1", "log.cleaner.threads", "0"),
    ("BROKER", "1", "max.connections.per.ip", "0"),
    ("BROKER", "1", "max.connections.per.ip.overrides", "nonsense"),
    ("BROKER", "1", "listener.name.plaintext.max.connections", "0"),
    ("BROKER", "1", "listener.name.plaintext.connections.max.idle.ms", "5"),
    ("BROKER", "1", "listeners", "PLAINTEXT://127.0.0.1:1"),
    ("BROKER", "1", "cordoned.log.dirs", "/elsewhere"),
    ("BROKER", "1", "log.local.retention.ms", "7000001"),
    ("BROKER", "1", "log.cleaner.min.compaction.lag.ms", "-1"),
    ("BROKER", "", "listeners", "PLAINTEXT://127.0.0.1:1"),
    ("BROKER", "", "cordoned.log.dirs", "*"),
    ("BROKER", "", "listener.name.plaintext.ssl.key.password", "x"),
    ("BROKER", "", "log.flush.interval.messages", "0"),
    ("TOPIC", "described", "retention.ms", "-2"),
    ("TOPIC", "described", "no.such.key", "1"),
    ("TOPIC", "described", "min.compaction.lag.ms", "9223372036854775807x"),
    ("GROUP", "g", "consumer.session.timeout.ms", "60001"),
    ("GROUP", "g", "consumer.heartbeat.interval.ms", "4999"),
    ("GROUP", "g", "share.delivery.count.limit", "11"),
    ("GROUP", "g", "streams.num.standby.replicas", "3"),
    ("GROUP", "g", "share.assignment.interval.ms", "15001"),
    ("GROUP", "g", "share.auto.offset.reset", "by_duration:5M"),
    ("GROUP", "g", "no.such.key", "1"),
    ("CLIENT_METRICS", "m", "interval.ms", "99"),
    ("CLIENT_METRICS", "m", "match", "client=x"),
    ("CLIENT_METRICS", "m", "match", "client_id=["),
    ("CLIENT_METRICS", "m", "no.such.key", "1"),
]
LAYERS = {("BROKER", ""): DEFAULT, ("BROKER", "1"): BROKER, ("GROUP", "g"): GROUP, ("CLIENT_METRICS", "m"): METRICS}


@pytest.fixture(scope="module")
def described(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], Any]]:
    directory = tmp_path_factory.mktemp("described")
    plan = {
        "topic": {"name": "described", "configs": TOPIC},
        "changes": [[*resource, *pair] for resource, layer in LAYERS.items() for pair in layer.items()],
        "described": [["TOPIC", "described"], *(list(resource) for resource in LAYERS)],
        "tried": TRIED,
    }
    with oracle.broker(directory, STATIC) as broker:
        done = oracle.run_source(PROGRAM, broker.bootstrap, json.dumps(plan))
    assert done.returncode == 0, done.stderr
    yield parse((directory / "server.properties").read_text()), json.loads(done.stdout)


@pytest.fixture
def ours(described: tuple[dict[str, str], Any]) -> DynamicConfig:
    config = DynamicConfig(KafkaConfig.from_props(described[0]))
    assert config.update_default({**DEFAULT, **AT_FORMAT})
    assert config.update_broker(BROKER)
    return config


def shown(entries: list[ConfigEntry]) -> dict[str, Any]:
    types = {0: "UNKNOWN", **{number: name for name, number in TYPE_IDS.items()}}
    return {
        entry.name: {
            "value": entry.value,
            "source": entry.config_source.name,
            "sensitive": entry.is_sensitive,
            "read_only": entry.read_only,
            "type": types[entry.config_type],
            "synonyms": [[name, value, source.name] for name, value, source in entry.synonyms],
        }
        for entry in entries
        if entry.name not in OUR_OWN
    }


def test_a_broker_is_described_as_apache_describes_it(described: Any, ours: DynamicConfig) -> None:
    assert shown(describe_broker(ours)) == described[1]["BROKER/1"]


def test_the_default_of_all_brokers_is_described_as_apache_describes_it(described: Any, ours: DynamicConfig) -> None:
    assert shown(describe_broker_default(ours)) == described[1]["BROKER/"]


def test_a_topic_is_described_as_apache_describes_it(described: Any, ours: DynamicConfig) -> None:
    assert shown(describe_topic(ours, TOPIC)) == described[1]["TOPIC/described"]


def test_a_group_is_described_as_apache_describes_it(described: Any, ours: DynamicConfig) -> None:
    assert shown(describe_group(ours, GROUP)) == described[1]["GROUP/g"]


def test_client_metrics_are_described_as_apache_describes_them(described: Any) -> None:
    assert shown(describe_client_metrics(METRICS)) == described[1]["CLIENT_METRICS/m"]


ERRORS = {InvalidRequestError: "InvalidRequestException", InvalidConfigError: "InvalidConfigurationException"}


def refusal(config: DynamicConfig, resource_type: str, name: str, key: str, value: str) -> KafkaError | None:
    changed = {**LAYERS.get((resource_type, name), TOPIC), key: value}
    try:
        match resource_type:
            case "BROKER":
                config.validate_change(changed, per_broker=name != "")
            case "TOPIC":
                validate_topic_config(changed, config.current.log.topic_defaults())
            case "GROUP":
                validate_group_config(changed, config.current.values)
            case _:
                validate_client_metrics_config(name, changed)
    except KafkaError as error:
        return error
    return None


WRAPPED = re.compile(r"Invalid value org\.apache\.\S+: (.*) for configuration Invalid dynamic configuration")
JAVAS_OWN = re.compile(r"/ by zero|begin 0.*|Range \[0.*|Invalid value `.*")


@pytest.mark.parametrize("change", TRIED, ids=lambda change: "-".join(change))
def test_a_change_is_taken_or_refused_as_apache_does_it(described: Any, ours: DynamicConfig, change: Any) -> None:
    error_class, message = described[1]["tried"][TRIED.index(change)] or (None, "")
    error = refusal(ours, *change)
    assert (None if error is None else ERRORS[type(error)]) == error_class, message
    message = WRAPPED.sub(r"Invalid dynamic configuration: \1", message.removeprefix("requirement failed: "))
    assert error is None or JAVAS_OWN.sub("", message) in str(error)
