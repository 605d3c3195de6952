"""The clients' tables and rules against Apache Kafka's own classes.

apache_clients_4_3_1.json is the output of tests/java/ClientConfigFacts.java, run with Apache Kafka 4.3.1's jars; the
last test runs it again and compares.
"""

import ast
import dataclasses
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.addresses import Address
from ottla.config.admin_keys import ADMIN_CONFIG
from ottla.config.auto_offset_reset import parse_duration_ms
from ottla.config.client_configs import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from ottla.config.config_section import ConfigSection
from ottla.config.consumer_keys import CONSUMER_CONFIG
from ottla.config.definition import ConfigTable
from ottla.config.producer_keys import PRODUCER_CONFIG
from ottla.config.values import ConfigType, Password, format_value
from ottla.security.tls.tls_config import TlsConfig
from tests.oracle import Oracle

FIXTURE = Path(__file__).parent / "apache_clients_4_3_1.json"
FACTS: dict[str, Any] = json.loads(FIXTURE.read_text())
PROGRAM = Path(__file__).parents[1] / "java" / "ClientConfigFacts.java"
CLIENTS = {
    "producer": (PRODUCER_CONFIG, ProducerConfig),
    "consumer": (CONSUMER_CONFIG, ConsumerConfig),
    "admin": (ADMIN_CONFIG, AdminConfig),
}
SERIALIZERS = {"key.serializer", "value.serializer", "key.deserializer", "value.deserializer"}
"""Required by Apache; here bytes are bytes."""
IN_FORCE = {"delivery.timeout.ms", "default.api.timeout.ms"}
"""Ours hold what is in force; Apache keeps the given value beside it."""
OUR_OWN = {"sasl.username", "sasl.password"}
ANY_CASE = {"security.protocol", "metadata.recovery.strategy", "group.protocol"}
OUTCOMES = [(kind, fact) for kind in CLIENTS for fact in FACTS[f"{kind}s"]]


def key_facts(table: ConfigTable) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for key in table:
        if key.name in OUR_OWN:
            continue
        facts[key.name] = {
            "type": key.type.name,
            "required": key.required or key.name in SERIALIZERS,
            "default": format_value(key.default),
            "valid": None if key.validator is None else str(key.validator),
            "importance": key.importance.name,
            "internal": key.internal,
            "null_allowed": key.validator is None or key.validator.objection(None) is None,
        }
        if key.type is ConfigType.LIST:
            facts[key.name]["empty_allowed"] = key.validator is None or key.validator.objection(()) is None
    return facts


@pytest.mark.parametrize("kind", CLIENTS)
def test_tables_have_apaches_names_types_defaults_and_bounds(kind: str) -> None:
    assert key_facts(CLIENTS[kind][0]) == FACTS[kind]


def value_facts(config: Any, table: ConfigTable) -> dict[str, str | None]:
    facts = {}
    for key in table:
        for section in (config, config.common):
            if key.field_name in section.__dict__:
                value = section.__dict__[key.field_name]
                if isinstance(value, tuple) and value and isinstance(value[0], Address):
                    value = tuple(map(str, value))
                facts[key.name] = format_value(value)
    facts["client.id"] = re.sub("[0-9]+$", "N", facts["client.id"] or "")
    return facts


def comparable(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.lower() if name in ANY_CASE else value
        for name, value in facts.items()
        if name not in IN_FORCE | SERIALIZERS | OUR_OWN
    }


@pytest.mark.parametrize(("kind", "fact"), OUTCOMES, ids=lambda part: part if isinstance(part, str) else part["props"])
def test_values_together_mean_what_they_mean_to_apache(kind: str, fact: dict[str, Any]) -> None:
    table, config_class = CLIENTS[kind]
    props = {"bootstrap.servers": "127.0.0.1:1", **fact["props"]}
    if "error" in fact:
        with pytest.raises(InvalidConfigError):
            config_class.parse(props)
        return
    ours = comparable(value_facts(config_class.parse(props), table))
    expected = comparable({**FACTS[f"{kind}s"][0]["values"], **fact["values"]})
    if kind == "admin":
        ours.pop("client.id")  # Apache's admin client names itself elsewhere
    if "://" in expected["bootstrap.servers"]:
        expected["bootstrap.servers"] = expected["bootstrap.servers"].partition("://")[2]
    assert ours.items() <= expected.items()
    assert set(expected) - set(ours) <= {key.name for key in table if key.inert or key.internal} | {"client.id"}


def test_what_is_in_force_is_what_goes_together() -> None:
    servers = {"bootstrap.servers": "h:1"}
    assert ProducerConfig.parse({**servers, "linger.ms": 200_000}).delivery_timeout_ms == 230_000
    assert ProducerConfig.parse({**servers, "linger.ms": 2**62}).delivery_timeout_ms == 2**31 - 1
    assert AdminConfig.parse({**servers, "request.timeout.ms": 70_000}).default_api_timeout_ms == 70_000


def test_keywords_go_before_the_dict_and_python_values_are_values() -> None:
    config = ProducerConfig.parse(
        {"bootstrap.servers": ["a:1", "[::1]:2"], "linger.ms": "1", "acks": "all"},
        {"linger_ms": 2, "acks": 1, "transactional_id": None, "enable_idempotence": False},
    )
    assert config.common.bootstrap_servers == (("a", 1), ("::1", 2))
    assert (config.linger_ms, config.acks, config.transactional_id) == (2, 1, None)
    secret = ConsumerConfig.parse(None, {"bootstrap_servers": "a:1", "sasl_jaas_config": "mine;"}).common
    assert secret.sasl_jaas_config == Password("mine;")
    assert "mine" not in repr(secret)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"lingerms": 5}, "did you mean linger.ms?"),
        ({"group_id": "g"}, "Unknown producer config name: group.id"),
        ({"acks": True}, "acks"),
        ({"linger_ms": "soon"}, "linger.ms"),
        ({"bootstrap_servers": "here"}, "here"),
    ],
)
def test_what_is_wrong_is_named(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=re.escape(message)):
        ProducerConfig.parse({"bootstrap.servers": "a:1"}, keywords)


def test_a_key_without_effect_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ConsumerConfig.parse({"bootstrap.servers": "a:1", "metric.reporters": "x.Y"})
    assert "metric.reporters=x.Y has no effect: it names Java classes" in caplog.text


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_key_that_has_an_effect_has_a_typed_field(kind: str) -> None:
    table, config_class = CLIENTS[kind]
    fields = {*config_class.__annotations__, *ClientConfig.__annotations__}
    assert {key.field_name for key in table if not key.inert and not key.internal} <= fields
    for section in (config_class, ClientConfig):
        assert issubclass(section, ConfigSection)


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [("P1D", 86_400_000), ("PT1H2M3.5S", 3_723_500), ("-PT1S", -1_000), ("PT-0.5S", -500), ("PT0.1234S", 123)],
)
def test_durations(text: str, duration_ms: int) -> None:
    assert parse_duration_ms(text) == duration_ms


def test_the_facts_are_what_apache_says(oracle: Oracle) -> None:
    done = oracle.run_source(PROGRAM, fresh=True, beside=[PROGRAM.with_name("KeyFacts.java")])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == FACTS


CLIENT_SOURCES = Path(__file__).parents[2] / "src" / "ottla" / "clients"


def fields_read_by_clients() -> set[str]:
    """The names x that the clients' code reads as ``config.x``, ``given.x``, ``config.common.x``, or has in a table."""
    read = set()
    for path in CLIENT_SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Attribute, ast.Name)):
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
                if owner.endswith(("config", "common", "given")):
                    read.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.add(node.value)
    # The TLS configuration takes its fields by name.
    return read | {f"ssl_{field.name}" for field in dataclasses.fields(TlsConfig)}


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_key_is_read_or_says_why_not(kind: str) -> None:
    read = fields_read_by_clients()
    unread = {key.name for key in CLIENTS[kind][0] if key.field_name not in read and not key.inert and not key.internal}
    assert unread == set()
