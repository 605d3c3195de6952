"""KAFKA_* variables as Apache Kafka's container image reads them, and what is refused that it passes over."""

import os
import subprocess
from pathlib import Path

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.environment import (
    OF_THE_JVM,
    environment_properties,
    property_name,
    variable_name,
    without_effect,
)
from ottla.config.properties import parse
from tests.oracle import Oracle

NODE = {"process.roles": "broker,controller", "controller.listener.names": "CONTROLLER"}
SET = {
    "KAFKA_LOG_RETENTION_MS": "3600000",
    "KAFKA_LOG_DIRS": "/a,/b",
    "KAFKA_LISTENER_NAME_MY__NET_MAX_CONNECTIONS": "7",
    "KAFKA_LISTENER_NAME_MY___NET_MAX_CONNECTIONS": "8",
    "KAFKA_LISTENERS": "MY_NET://:9092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "MY_NET:PLAINTEXT",
    "KAFKA_METRICS_LISTENER": "",
    "KAFKA_CLIENT_QUOTA_CALLBACK_CLASS": r"a\u0042c = d",
}


@pytest.mark.oracle
def test_the_properties_that_apache_makes(oracle: Oracle, tmp_path: Path) -> None:
    """Of the same variables, by the class that its image runs; the JVM's variables are no properties to either."""
    directories = [tmp_path / name for name in ("default", "mounted", "final")]
    for directory in directories:
        directory.mkdir()
    (directories[2] / "server.properties").touch()
    arguments = [
        text for option, path in zip(("-D", "-M", "-F"), map(str, directories), strict=True) for text in (option, path)
    ]
    variables = {**SET, **dict.fromkeys(OF_THE_JVM - {"KAFKA_JMX_PORT"}, "-Dx=y")}
    subprocess.run(  # the format that follows the properties fails, since there is no CLUSTER_ID
        oracle.command("kafka.docker.KafkaDockerWrapper", "setup", *arguments, log4j="tools-log4j2.properties"),
        env={**os.environ, **variables},
        capture_output=True,
        timeout=120,
        check=False,
    )
    theirs = parse((directories[2] / "server.properties").read_text())
    assert environment_properties(variables, NODE) == theirs
    assert len(theirs) == len(SET)


@pytest.mark.parametrize("name", [key.name for key in BROKER_CONFIG])
def test_every_key_has_a_variable(name: str) -> None:
    assert property_name(variable_name(name)) == name
    assert variable_name(name) not in OF_THE_JVM


def test_names_with_underscores_and_hyphens() -> None:
    assert variable_name("listener.name.my_net.a-b") == "KAFKA_LISTENER_NAME_MY__NET_A___B"
    assert property_name("KAFKA_LISTENER_NAME_MY__NET_A___B") == "listener.name.my_net.a-b"


def test_what_is_no_property() -> None:
    with pytest.raises(InvalidConfigError) as refused:
        environment_properties({**SET, "KAFKA_ZOOKEEPER_CONNECT": "zk", "KAFKA_LOG_RETENTON_MS": "1"}, NODE)
    assert str(refused.value) == (
        "Unknown in the environment: KAFKA_LOG_RETENTON_MS (did you mean KAFKA_LOG_RETENTION_MS?), "
        "KAFKA_ZOOKEEPER_CONNECT"
    )


def test_what_others_put_there() -> None:
    """The shell's own variables, the JVM's of another Kafka, and what Kubernetes says of a service called kafka."""
    links = {
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP_PROTO": "tcp",
        "KAFKA_SERVICE_HOST": "10.0.0.1",
        "KAFKA_SERVICE_PORT": "9092",
        "KAFKA_SERVICE_PORT_CLIENTS": "9092",
        "KAFKA_UI_SERVICE_HOST": "10.0.0.2",
        "KAFKA_UI_PORT_8080_TCP_ADDR": "10.0.0.2",
    }
    others = {"PATH": "/bin", "CLUSTER_ID": "x", "KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_JMX_PORT": "9999", **links}
    assert environment_properties(others, NODE) == {}
    assert without_effect(others) == ["KAFKA_HEAP_OPTS", "KAFKA_JMX_PORT"]


def test_a_node_that_is_told_only_what_it_advertises() -> None:
    """As the script of Apache's image, but that a controller has its listener, without which no node starts."""
    advertised = "INSIDE://kafka:19092,OUTSIDE://[::1]:9092"
    given = environment_properties({"KAFKA_ADVERTISED_LISTENERS": advertised}, NODE)
    assert given["listeners"] == "INSIDE://0.0.0.0:19092,OUTSIDE://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093"
    with_controller = {"KAFKA_ADVERTISED_LISTENERS": f"{advertised},CONTROLLER://kafka:29093"}
    assert environment_properties(with_controller, NODE)["listeners"].endswith(",CONTROLLER://0.0.0.0:29093")
    both = {"KAFKA_ADVERTISED_LISTENERS": advertised, "KAFKA_LISTENERS": "INSIDE://:1"}
    assert environment_properties(both, NODE)["listeners"] == "INSIDE://:1"
