"""No key promises what nobody keeps: code outside the config room reads each key that is not inert, and no other."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import ottla
from ottla.config.broker import BROKER_CONFIG, BrokerLogConfig
from ottla.config.definition import ConfigKey
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.topic import TOPIC_CONFIG, LogConfig

SOURCES = Path(ottla.__file__).parent
RESOLVED_INTO = {"log_dir": "log_dirs", "internal_segment_bytes": "segment_bytes"}
"""Fields that are only read through another one, which takes their value when a configuration is made."""


def attributes_of_configs(tree: ast.AST) -> Iterator[str]:
    """The names x that code reads as ``config.x``, ``self._topic_config.x``, ``broker.topic_defaults().x``, …"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name.endswith(("config", "defaults")):
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
        if path.relative_to(SOURCES).parts[0] != "config":
            read.update(attributes_of_configs(ast.parse(path.read_text())))
    members = read_by_members(LogConfig)
    pending = list(read)
    while pending:
        new = members.get(pending.pop(), set()) - read
        read |= new
        pending += new
    return read


READ = all_read()


def is_read(key: ConfigKey) -> bool:
    return key.field_name in READ or RESOLVED_INTO.get(key.field_name) in READ


def gives_a_default_that_is_read(key: ConfigKey) -> bool:
    return any(
        key.name in (synonym.name for synonym in synonyms) and is_read(TOPIC_CONFIG[topic_name])
        for topic_name, synonyms in TOPIC_CONFIG_SYNONYMS.items()
    )


@pytest.mark.parametrize("key", list(TOPIC_CONFIG), ids=lambda key: key.name)
def test_a_topic_key_is_read_or_inert(key: ConfigKey) -> None:
    assert is_read(key) != (key.inert is not None), "read, and so not inert" if key.inert else "no code reads this key"


@pytest.mark.parametrize("key", list(BROKER_CONFIG), ids=lambda key: key.name)
def test_a_broker_key_is_read_or_inert(key: ConfigKey) -> None:
    read = is_read(key) or gives_a_default_that_is_read(key)
    assert read != (key.inert is not None), "read, and so not inert" if key.inert else "no code reads this key"


def test_every_key_has_its_field() -> None:
    assert [field.name for field in fields(LogConfig)] == [key.field_name for key in TOPIC_CONFIG]
    assert [field.name for field in fields(BrokerLogConfig)] == [key.field_name for key in BROKER_CONFIG]


def test_the_walk_sees_reads_and_only_reads() -> None:
    code = "a = self._config.x + topic_config.y\nlog_config.z = 1\nself.w\nbroker.topic_defaults().v"
    assert sorted(attributes_of_configs(ast.parse(code))) == ["v", "x", "y"]
