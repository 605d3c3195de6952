"""Whole nodes: what their listeners and roles come to, and what is refused, as Apache's KafkaConfig has it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.common.endpoint import Endpoint
from ottla.common.errors import InvalidConfigError
from ottla.config.kafka_config import KafkaConfig

FACTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "apache_4_3_1.json").read_text())["nodes"]
WITH_TLS = [fact for fact in FACTS if fact["props"].get("controller.listener.names") == "SSL"]
ACCEPTED = [fact for fact in FACTS if "error" not in fact and fact not in WITH_TLS]
REFUSED = [fact for fact in FACTS if "error" in fact]

SAID_OTHERWISE = {
    "Invalid value observer for configuration process.roles: String must be one of: broker, controller",
    "Configuration 'process.roles' must not be empty. Valid values include: [broker, controller]",
    "Configuration 'listeners' must not be empty. Valid values include: any non-empty value",
    "Configuration 'advertised.listeners' must not be empty. Valid values include: any non-empty value",
    "port out of range:65536",
}
"""What Apache says where we say it in words of our own; all other messages contain Apache's."""

DIFFERS_FROM = re.compile(r"Set\(|  \(|begin 0|'$")
"""Where Apache shows what only Scala and Java would: from here on our message may differ."""


def shown(endpoints: tuple[Endpoint, ...]) -> list[str]:
    return [
        f"{name}|{'null' if host is None else host}|{port}|{protocol.name}" for name, host, port, protocol in endpoints
    ]


@pytest.mark.parametrize("fact", ACCEPTED, ids=lambda fact: str(fact["props"]))
def test_a_node_listens_where_apache_listens(fact: dict[str, Any]) -> None:
    config = KafkaConfig.from_props(fact["props"])
    listeners = config.listeners
    assert {
        "props": fact["props"],
        "node_id": config.kraft.node_id,
        "listeners": shown(listeners.endpoints),
        "controller": shown(listeners.controller_endpoints),
        "broker": shown(listeners.broker_endpoints),
        "advertised_controller": shown(listeners.advertised_controller_endpoints),
        "advertised_broker": shown(listeners.advertised_broker_endpoints),
        "inter_broker": listeners.inter_broker_listener_name,
        "early_start": sorted(listeners.early_start),
        "metadata_log_dir": config.metadata_log_dir,
        "cordoned": list(config.log.cordoned_log_dirs),
    } == fact


@pytest.mark.parametrize("key", ["offsets.topic.segment.bytes", "transaction.state.log.segment.bytes"])
def test_a_coordinators_topic_that_could_never_be_made_is_refused(key: str) -> None:
    """Apache's node starts, and then creates no such topic, because its own segment.bytes must be 1 MiB."""
    props = ACCEPTED[0]["props"]
    with pytest.raises(
        InvalidConfigError, match=f"^{key}=1048575 must be at least 1048576, the smallest segment.bytes"
    ):
        KafkaConfig.from_props({**props, key: "1048575"})
    assert KafkaConfig.from_props({**props, key: "1048576"})
    controller = next(fact["props"] for fact in ACCEPTED if fact["props"]["process.roles"] == "controller")
    assert KafkaConfig.from_props({**controller, key: "1"}), "a controller makes them as brokers ask"


def test_a_metadata_directory_is_one_of_the_data_directories_however_it_is_written() -> None:
    props = {**ACCEPTED[0]["props"], "log.dirs": "/a/,/b"}
    assert KafkaConfig.from_props({**props, "metadata.log.dir": "/./a"}).metadata_log_dir == "/a/"
    assert KafkaConfig.from_props({**props, "metadata.log.dir": "/m"}).metadata_log_dir == "/m"


@pytest.mark.parametrize("fact", REFUSED, ids=lambda fact: str(fact["props"]))
def test_a_node_is_refused_where_apache_refuses_it(fact: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        KafkaConfig.from_props(fact["props"])
    if fact["error"] not in SAID_OTHERWISE:
        assert DIFFERS_FROM.split(fact["error"])[0] in str(raised.value)


def test_tls_is_refused_that_apache_has() -> None:
    assert [("error" in fact) for fact in WITH_TLS] == [False]
    with pytest.raises(InvalidConfigError, match="the security protocol SSL, which is not supported yet"):
        KafkaConfig.from_props(WITH_TLS[0]["props"])
