"""Our messages beside Apache's schemas and its generated classes."""

from pathlib import Path
from random import Random

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.produce import ProduceResponse
from tests.apache.schemas import Comparison, read_schemas
from tests.oracle import Oracle
from tests.protocol.all_messages import MESSAGE_CLASSES, MESSAGES_AND_VERSIONS
from tests.random_messages import random_message

FACTS = Path(__file__).parents[1] / "java" / "ProtocolFacts.java"
MESSAGES_EACH = 4


def test_every_message_is_declared_as_in_apaches_schemas(oracle: Oracle) -> None:
    schemas = {
        schema["name"]: schema
        for schema in read_schemas(oracle, "kafka-clients", "common/message")
        if schema["type"] in ("request", "response", "header") and schema["validVersions"] != "none"
    }
    assert {cls.__name__ for cls in MESSAGE_CLASSES} == set(schemas)
    for cls in MESSAGE_CLASSES:
        Comparison(schemas[cls.__name__], prefix=cls.__name__).check(cls)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("name", "Other"),
        ("type", "int64"),
        ("versions", "1+"),
        ("nullableVersions", "0+"),
        ("taggedVersions", "9+"),
        ("tag", 3),
        ("default", "7"),
        ("flexibleVersions", "none"),
    ],
)
def test_the_comparison_sees_every_difference(oracle: Oracle, attribute: str, value: object) -> None:
    (schema,) = (s for s in read_schemas(oracle, "kafka-clients", "common/message") if s["name"] == "ProduceResponse")
    partition = schema["fields"][0]["fields"][2]["fields"][1]
    assert partition["name"] == "ErrorCode"
    partition[attribute] = value
    with pytest.raises(AssertionError):
        Comparison(schema).check(ProduceResponse)


def test_every_api_has_apaches_key_and_name(oracle: Oracle) -> None:
    requests = {
        schema["apiKey"]: schema["name"]
        for schema in read_schemas(oracle, "kafka-clients", "common/message")
        if schema["type"] == "request" and VersionRange.parse(schema["validVersions"]).highest >= 0
    }
    assert {int(key): f"{key.api_name}Request" for key in ApiKey} == requests


def test_apache_reads_our_messages_and_writes_the_same_bytes(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(11)
    questions, expected = [], []
    for cls, version in MESSAGES_AND_VERSIONS:
        for message in [cls(), *(random_message(cls, version, rng) for _ in range(MESSAGES_EACH))]:
            data = encode(message, version)
            assert encode(decode(cls, data, version), version) == data
            questions.append(f"{cls.__name__}|{version}|{data.hex()}")
            expected.append(data.hex())
    file = tmp_path / "questions"
    file.write_text("\n".join(questions) + "\n")
    done = oracle.run_source(FACTS, file)
    assert done.returncode == 0, done.stderr
    for question, answer, written in zip(questions, done.stdout.splitlines(), expected, strict=True):
        assert answer == written, question
