"""No key promises what nobody keeps: code outside the config room reads each key that is not inert, and no other."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import ottla
from ottla.config.broker import BROKER_CONFIG, BrokerLogConfig
from ottla.config.config_section import ConfigSection
from ottla.config.definition import ConfigKey
from ottla.config.listeners import Listeners
from ottla.config.log_keys import LOG_KEYS
from ottla.config.sections import (
    GroupCoordinatorConfig,
    KraftConfig,
    NetworkConfig,
    ReplicationConfig,
    ServerConfig,
    TransactionConfig,
)
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.topic import TOPIC_CONFIG, LogConfig
from ottla.config.values import ConfigType

SOURCES = Path(ottla.__file__).parent
SECTIONS: dict[str, type[ConfigSection]] = {
    "network": NetworkConfig,
    "kraft": KraftConfig,
    "server": ServerConfig,
    "replication": ReplicationConfig,
    "group": GroupCoordinatorConfig,
    "transaction": TransactionConfig,
}
RESOLVED_INTO = {
    "log_dir": "log_dirs",
    "internal_segment_bytes": "segment_bytes",
    "broker_id": "node_id",
    "metadata_log_segment_bytes": "metadata_segment_bytes",
    "internal_metadata_log_segment_bytes": "metadata_segment_bytes",
    "listeners": "endpoints",
    "advertised_listeners": "advertised_broker_endpoints",
    "listener_security_protocol_map": "broker_endpoints",
    "inter_broker_listener_name": "inter_broker_listener_name",
    "security_inter_broker_protocol": "inter_broker_listener_name",
}
"""Fields that are only read through another one, which takes their value when a configuration is made."""
READ_BY_NAME = {"ottla.send.mode", "quota.window.num", "quota.window.size.seconds", "unclean.leader.election.enable"}
"""Keys that are looked up in a table of values rather than in a section."""
ONLY_CHECKED = {"controller.quorum.bootstrap.servers"}
"""Keys that a node needs to be given, and that say nothing to a node alone."""
NO_BROKERS = ("cli", "clients", "config")
"""Rooms whose reading says nothing of a broker's keys; clients, and commands with them, have keys of the same names."""


def attributes_of_configs(tree: ast.AST) -> Iterator[str]:
    """The names x that code reads as ``config.x``, ``self._topic_config.x``, ``broker.topic_defaults().x``, …"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name.endswith(("config", "defaults", "listeners", *SECTIONS)):
                yield node.attr


def read_by_members(configuration: type) -> dict[str, set[str]]:
    """For each property and method of a configuration class, the attributes of ``self`` that it reads."""
    tree = ast.parse(inspect.getsource(configuration))
    return {
        function.name: {
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
    }


def all_read() -> set[str]:
    read: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        if path.relative_to(SOURCES).parts[0] not in NO_BROKERS:
            read.update(attributes_of_configs(ast.parse(path.read_text())))
    members = {}
    for configuration in (LogConfig, KraftConfig, GroupCoordinatorConfig):
        members.update(read_by_members(configuration))
    pending = list(read)
    while pending:
        new = members.get(pending.pop(), set()) - read
        read |= new
        pending += new
    return read


READ = all_read()
SOURCE_TEXTS = [
    path.read_text() for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).parts[0] not in NO_BROKERS
]


def is_read(key: ConfigKey) -> bool:
    return key.field_name in READ or RESOLVED_INTO.get(key.field_name) in READ


def gives_a_default_that_is_read(key: ConfigKey) -> bool:
    return any(
        key.name in (synonym.name for synonym in synonyms) and is_read(TOPIC_CONFIG[topic_name])
        for topic_name, synonyms in TOPIC_CONFIG_SYNONYMS.items()
    )


def verdict(key: ConfigKey, read: bool) -> None:
    if key.inert is not None:
        assert not read, "read, and so not inert"
    elif key.name in READ_BY_NAME:
        assert any(f'"{key.name}"' in source for source in SOURCE_TEXTS), "no code reads this key"
    elif key.name not in ONLY_CHECKED:
        assert read, "no code reads this key"


@pytest.mark.parametrize("key", list(TOPIC_CONFIG), ids=lambda key: key.name)
def test_a_topic_key_is_read_or_inert(key: ConfigKey) -> None:
    verdict(key, is_read(key))


@pytest.mark.parametrize("key", list(BROKER_CONFIG), ids=lambda key: key.name)
def test_a_broker_key_is_read_or_inert(key: ConfigKey) -> None:
    verdict(key, is_read(key) or gives_a_default_that_is_read(key))


def test_every_key_has_its_field() -> None:
    assert [field.name for field in fields(LogConfig)] == [key.field_name for key in TOPIC_CONFIG]
    assert [field.name for field in fields(BrokerLogConfig)] == [key.field_name for key in LOG_KEYS]
    held = {name for section in SECTIONS.values() for name in section.__annotations__}
    held |= {field.name for field in fields(BrokerLogConfig)} | set(Listeners._fields)
    for key in BROKER_CONFIG:
        assert key.inert or key.field_name in held or RESOLVED_INTO[key.field_name] in held, key.name


PYTHON_TYPES = {
    ConfigType.BOOLEAN: bool,
    ConfigType.INT: int,
    ConfigType.SHORT: int,
    ConfigType.LONG: int,
    ConfigType.STRING: str,
    ConfigType.LIST: tuple[str, ...],
}


@pytest.mark.parametrize("section", SECTIONS.values())
def test_every_field_of_a_section_has_the_type_of_its_key(section: type[ConfigSection]) -> None:
    for name, annotation in section.__annotations__.items():
        key = BROKER_CONFIG[name.replace("_", ".")]
        if name not in section._parsed:
            expected: object = PYTHON_TYPES[key.type]
            nullable = key.default is None and not key.required
            assert annotation == (expected | None if nullable else expected), name  # type: ignore[operator]


def test_a_section_has_defaults_takes_values_and_does_not_change() -> None:
    network = NetworkConfig(max_connections=5)
    assert (network.max_connections, network.socket_listen_backlog_size) == (5, 50)
    assert network.max_connections_per_ip_overrides == {}
    assert network == NetworkConfig(max_connections=5) != NetworkConfig()
    with pytest.raises(AttributeError):
        network.max_connections = 6
    with pytest.raises(TypeError, match="has no max_conections"):
        NetworkConfig(max_conections=5)
    with pytest.raises(TypeError, match="needs process_roles"):
        KraftConfig(node_id=1)


def test_the_walk_sees_reads_and_only_reads() -> None:
    code = "a = self._config.x + topic_config.y\nlog_config.z = 1\nself.w\nbroker.topic_defaults().v"
    assert sorted(attributes_of_configs(ast.parse(code))) == ["v", "x", "y"]
