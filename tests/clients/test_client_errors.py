"""The clients' errors against Apache's: every code has its class, its name, and whether it is worth another try."""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.clients import errors
from ottla.clients.errors import ApiError, KafkaError, UnknownServerError, error_for, invalidates_metadata
from ottla.common.error_code import ErrorCode
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "ErrorFacts.java"
OTHER_NAMES = {
    "TimeoutException": "KafkaTimeoutError",
    "RecordBatchTooLargeException": "RecordListTooLargeError",
    "InvalidConfigurationException": "InvalidConfigError",
    "SaslAuthenticationException": "AuthenticationError",
    "OffsetMetadataTooLarge": "OffsetMetadataTooLargeError",
    "InvalidRegularExpression": "InvalidRegularExpressionError",
}


@pytest.fixture(scope="module")
def facts(oracle: Oracle) -> dict[str, Any]:
    done = oracle.run_source(PROGRAM)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found["errors"]  # type: ignore[no-any-return]


def test_every_code_is_what_it_is_to_apache(facts: dict[str, Any]) -> None:
    assert {int(code) for code in facts} == {code for code in ErrorCode if code != ErrorCode.NONE}
    for code, fact in facts.items():
        error = error_for(int(code))
        assert error.code == int(code)
        assert error.retriable == fact["retriable"], fact
        assert invalidates_metadata(int(code)) == fact["invalid_metadata"], fact
        assert str(error), "an error says something even if the broker does not"
        if not isinstance(error, ApiError):
            expected = OTHER_NAMES.get(fact["exception"], fact["exception"].removesuffix("Exception") + "Error")
            assert type(error).__name__ == expected


def test_only_what_a_client_never_hears_of_has_no_class() -> None:
    anonymous = {code for code in ErrorCode if code and isinstance(error_for(code), ApiError)}
    assert {code.name for code in anonymous} == {
        "PRINCIPAL_DESERIALIZATION_FAILURE",
        "SNAPSHOT_NOT_FOUND",
        "POSITION_OUT_OF_RANGE",
        "DUPLICATE_BROKER_REGISTRATION",
        "INELIGIBLE_REPLICA",
        "NEW_LEADER_ELECTED",
        "UNKNOWN_SUBSCRIPTION_ID",
        "TELEMETRY_TOO_LARGE",
        "INVALID_REGISTRATION",
        "INVALID_RECORD_STATE",
        "FENCED_STATE_EPOCH",
        "STREAMS_INVALID_TOPOLOGY",
        "STREAMS_INVALID_TOPOLOGY_EPOCH",
        "STREAMS_TOPOLOGY_FENCED",
    }


def test_the_brokers_words_go_before_ours() -> None:
    assert str(error_for(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")) == "Topic 't' already exists."
    assert isinstance(error_for(ErrorCode.TOPIC_ALREADY_EXISTS, None), errors.TopicExistsError)


def test_a_code_of_the_future_is_an_error_too() -> None:
    error = error_for(3000)
    assert isinstance(error, UnknownServerError)
    assert error.code == 3000
    assert UnknownServerError("x").code == -1
    assert "3000" in str(error)


def test_every_name_is_an_error() -> None:
    for name in errors.__all__:
        found = getattr(errors, name)
        assert name in ("error_for", "invalidates_metadata") or issubclass(found, KafkaError)
