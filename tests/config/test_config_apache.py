"""Our tables and rules against Apache Kafka's own classes.

apache_4_3_1.json is the output of tests/java/ConfigFacts.java, run with Apache Kafka 4.3.1's jars; the last test runs
it again and compares. So these are facts, not our expectations.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.broker import BROKER_CONFIG, BrokerLogConfig
from ottla.config.client_metrics_config import CLIENT_METRICS_CONFIG
from ottla.config.definition import ConfigTable
from ottla.config.dynamic_keys import ALL_DYNAMIC_KEYS, DYNAMIC_BROKER_CONFIG, PER_BROKER_KEYS
from ottla.config.group_config import GROUP_CONFIG, GROUP_CONFIG_SYNONYMS
from ottla.config.properties import format_properties, parse
from ottla.config.quota_keys import BROKER_QUOTA_KEYS
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.topic import TOPIC_CONFIG, LogConfig, validate_topic_config
from ottla.config.values import ConfigType, format_value, parse_type
from tests.oracle import Oracle

FIXTURE = Path(__file__).parent / "apache_4_3_1.json"
FACTS: dict[str, Any] = json.loads(FIXTURE.read_text())
OUR_OWN = {"ottla.produce.validation", "ottla.send.mode", "metrics.listener"}
WORDS_OF_JAVA_25 = re.compile(r"Range \[(\d+), (-?\d+)\) out of bounds for length (\d+)")
PROGRAM = Path(__file__).parents[1] / "java" / "ConfigFacts.java"


def table_facts(table: ConfigTable) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for key in table:
        if key.name in OUR_OWN:
            continue
        facts[key.name] = {
            "type": key.type.name,
            "required": key.required,
            "default": format_value(key.default),
            "valid": None if key.validator is None else str(key.validator),
            "importance": key.importance.name,
            "internal": key.internal,
            "null_allowed": key.validator is None or key.validator.objection(None) is None,
        }
        if key.type is ConfigType.LIST:
            facts[key.name]["empty_allowed"] = key.validator is None or key.validator.objection(()) is None
    return facts


TABLES = {
    "topic": TOPIC_CONFIG,
    "server": BROKER_CONFIG,
    "group": GROUP_CONFIG,
    "client_metrics": CLIENT_METRICS_CONFIG,
    "broker_quotas": ConfigTable("quota", *BROKER_QUOTA_KEYS),
}


@pytest.mark.parametrize(("facts", "table"), TABLES.items(), ids=TABLES)
def test_tables_have_apaches_names_types_defaults_and_bounds(table: ConfigTable, facts: str) -> None:
    assert table_facts(table) == FACTS[facts]


def test_synonyms_are_apaches() -> None:
    ours = {name: [list(synonym) for synonym in synonyms] for name, synonyms in TOPIC_CONFIG_SYNONYMS.items()}
    assert ours == FACTS["synonyms"]


def test_group_synonyms_are_apaches() -> None:
    assert {key.name: GROUP_CONFIG_SYNONYMS.get(key.name) for key in GROUP_CONFIG} == FACTS["group_synonyms"]


def test_the_same_keys_are_dynamic_as_apaches() -> None:
    modes = {name: "per-broker" if name in PER_BROKER_KEYS else "cluster-wide" for name in ALL_DYNAMIC_KEYS}
    assert modes == FACTS["dynamic"]
    assert {key.name for key in DYNAMIC_BROKER_CONFIG} == ALL_DYNAMIC_KEYS


@pytest.mark.parametrize("fact", FACTS["parse"], ids=lambda fact: f"{fact['type']}-{fact['value']!a}")
def test_text_is_parsed_as_apache_parses_it(fact: dict[str, Any]) -> None:
    config_type = ConfigType[fact["type"]]
    if "error" in fact:
        with pytest.raises(ValueError):
            parse_type(fact["value"], config_type)
        return
    parsed, expected = parse_type(fact["value"], config_type), fact["parsed"]
    if isinstance(parsed, float):
        expected = float.fromhex(expected)
        assert parsed == expected or (math.isnan(parsed) and math.isnan(expected))
    else:
        assert parsed == (tuple(expected) if isinstance(expected, list) else expected)
        assert type(parsed) is type(expected) or isinstance(parsed, tuple)


def with_defaults(section: str, fact: dict[str, Any]) -> dict[str, Any]:
    return {**FACTS[section][0]["values"], **fact["values"]}


def log_config_facts(config: LogConfig) -> dict[str, str | None]:
    facts = {}
    for key in TOPIC_CONFIG:
        value = getattr(config, key.field_name)
        facts[key.name] = format_value(tuple(sorted(value)) if isinstance(value, frozenset) else value)
    return facts


@pytest.mark.parametrize("fact", FACTS["topics"], ids=lambda fact: str(fact["props"]))
def test_a_topic_gets_what_it_gets_from_apache(fact: dict[str, Any]) -> None:
    if "error" in fact:
        with pytest.raises(InvalidConfigError):
            validate_topic_config(fact["props"])
        return
    expected = with_defaults("topics", fact)
    config = validate_topic_config(fact["props"])
    derived = {
        "segmentSize": config.segment_bytes,
        "compact": config.compact,
        "delete": config.delete,
        "maxSegmentMs": config.max_segment_ms,
        "initFileSize": config.init_file_size_bytes,
    }
    assert derived == {name: expected.pop(name) for name in derived}
    expected["segment.bytes"] = str(config.segment_bytes)  # ours is the size in force
    assert log_config_facts(config) == expected


@pytest.mark.parametrize("fact", FACTS["servers"], ids=lambda fact: str(fact["props"]))
def test_a_broker_gives_topics_the_defaults_that_apache_gives(fact: dict[str, Any]) -> None:
    if "error" in fact:
        with pytest.raises(InvalidConfigError):
            BrokerLogConfig.from_props(fact["props"])
        return
    expected = with_defaults("servers", fact)
    config = BrokerLogConfig.from_props(fact["props"])
    assert list(config.log_dirs) == expected.pop("logDirs")
    assert log_config_facts(config.topic_defaults()) == expected


def test_properties_are_read_as_java_reads_them() -> None:
    assert parse(FACTS["properties"]["text"]) == FACTS["properties"]["loaded"]


@pytest.mark.parametrize("fact", FACTS["properties"]["stored"], ids=lambda fact: ascii(fact["key"]))
def test_properties_are_written_as_java_writes_them(fact: dict[str, str]) -> None:
    pair = {fact["key"]: fact["value"]}
    assert format_properties(pair, [""]) == f"{fact['comment']}\n{fact['line']}"
    assert parse(fact["line"]) == pair


def test_the_facts_are_what_apache_says(oracle: Oracle) -> None:
    done = oracle.run_source(PROGRAM, beside=[PROGRAM.with_name("KeyFacts.java")])
    assert done.returncode == 0, done.stderr
    assert json.loads(WORDS_OF_JAVA_25.sub(r"begin \1, end \2, length \3", done.stdout)) == FACTS
