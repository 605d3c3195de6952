"""What becomes of each key of a call, whatever nodes answer: pure."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.admin.ask import AT_CONTROLLER, Ask, RetryRule, anywhere, codes, keyed, retriable
from ottla.clients.admin.routing import ABSENCE_GRACE_MS, Progress, leader_of, split
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import (
    BrokerNotAvailableError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NotControllerError,
    TopicAuthorizationError,
    TopicExistsError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def about(*keys: str, retries: RetryRule = AT_CONTROLLER) -> Ask[str, int]:
    def read(_: object) -> dict[str, int | KafkaError]:
        raise AssertionError("nobody reads here")

    return Ask(keys, anywhere, lambda *_: ApiVersionsRequest(), keyed(read), retries)


def test_results_stand_in_the_order_of_the_keys() -> None:
    progress = Progress(about("a", "b", "c"), 0)
    progress.answer(["c", "a"], {"c": 3, "a": 1}, 5)
    assert list(progress.pending) == ["b"]
    progress.answer(["b"], {"b": 2, "nobody asked": 4}, 6)
    assert list(progress.results().items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_an_answer_that_forgets_a_key_is_an_error_of_that_key() -> None:
    progress = Progress(about("a", "b"), 0)
    progress.answer(["a", "b"], {"a": 1}, 0)
    assert isinstance(progress.results()["b"], UnknownServerError)


def test_errors_of_a_key_are_results_unless_the_call_retries_them() -> None:
    progress = Progress(about("a", "b", "c"), 0)
    exists, elsewhere, unknown = TopicExistsError(), NotControllerError(), UnknownTopicOrPartitionError()
    progress.answer(["a", "b", "c"], {"a": exists, "b": elsewhere, "c": unknown}, 0)
    assert list(progress.pending) == ["b"]
    progress.answer(["b"], {"b": 2}, 0)
    assert progress.results() == {"a": exists, "b": 2, "c": unknown}


def test_an_error_of_a_whole_answer_is_retried_if_it_may_go_away() -> None:
    progress = Progress(about("a", "b"), 0)
    progress.fail(["a", "b"], NetworkError(), 0)
    assert list(progress.pending) == ["a", "b"]
    denied = TopicAuthorizationError()
    progress.fail(["a"], denied, 0)
    assert list(progress.pending) == ["b"]
    progress.expire(100, 2)
    results = progress.results()
    assert results["a"] is denied
    assert isinstance(results["b"], KafkaTimeoutError)
    assert isinstance(results["b"].__cause__, NetworkError)


@pytest.mark.parametrize("absent", [UnknownTopicOrPartitionError, BrokerNotAvailableError])
def test_what_nobody_knows_is_looked_for_only_briefly(absent: Callable[[], KafkaError]) -> None:
    progress = Progress(about("a", retries=retriable), 1000)
    progress.fail(["a"], absent(), 1000 + ABSENCE_GRACE_MS - 1)
    assert progress.pending
    error = absent()
    progress.fail(["a"], error, 1000 + ABSENCE_GRACE_MS)
    assert progress.results() == {"a": error}


def test_a_timeout_says_what_was_asked_and_why_it_failed() -> None:
    progress = Progress(about("orders"), 0)
    progress.expire(500, 1)
    (error,) = progress.results().values()
    assert "about orders in 500 ms and 1 attempts; nobody answered" in str(error)
    progress = Progress(about("orders"), 0)
    progress.fail(["orders"], NetworkError("lost it"), 0)
    progress.expire(500, 3)
    assert str(progress.results()["orders"]).endswith("3 attempts; last error: lost it")


_OUTCOMES = st.sampled_from(["result", "final", "retry", "lost", "denied", "silent"])


@given(st.lists(st.lists(_OUTCOMES, min_size=4, max_size=4), max_size=8))
def test_every_key_ends_once_with_its_first_final_outcome(rounds: list[list[str]]) -> None:
    keys = "abcd"
    progress = Progress(about(*keys, retries=codes(ErrorCode.NOT_CONTROLLER)), 0)
    expected: dict[str, str] = {}
    for number, outcomes in enumerate(rounds):
        for key, outcome in zip(keys, outcomes, strict=True):
            if key not in progress.pending:
                continue
            match outcome:
                case "result":
                    progress.answer([key], {key: number}, number)
                case "final":
                    progress.answer([key], {key: TopicExistsError(str(number))}, number)
                case "retry":
                    progress.answer([key], {key: NotControllerError(str(number))}, number)
                case "lost":
                    progress.fail([key], NetworkError(str(number)), number)
                case "denied":
                    progress.fail([key], TopicAuthorizationError(str(number)), number)
                case "silent":
                    progress.answer([key], {}, number)
            if outcome not in ("retry", "lost"):
                expected[key] = outcome
                # What comes later, from a request that was repeated, changes nothing.
                progress.answer([key], {key: -1}, number)
            assert (key in progress.pending) == (key not in expected)
    progress.expire(1, len(rounds))
    kinds = {"final": TopicExistsError, "denied": TopicAuthorizationError, "silent": UnknownServerError}
    results = progress.results()
    assert list(results) == list(keys)
    for key, result in results.items():
        if expected.get(key) == "result":
            assert isinstance(result, int)
            assert result >= 0
        else:
            assert isinstance(result, kinds.get(expected.get(key, ""), KafkaTimeoutError))


@given(st.dictionaries(st.integers(), st.integers(0, 3)), st.booleans())
def test_a_split_covers_every_key_once(places: dict[int, int], one_by_one: bool) -> None:
    requests = split(places, places.__getitem__, one_by_one=one_by_one)
    assert sorted(key for _, keys in requests for key in keys) == sorted(places)
    assert all(places[key] == place for place, keys in requests for key in keys)
    if one_by_one:
        assert all(len(keys) == 1 for _, keys in requests)
    else:
        assert len({place for place, _ in requests}) == len(requests)


def test_leaders() -> None:
    image = ClusterMetadata().merge(
        MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=3, host="h", port=1)],
            topics=[
                MetadataResponseTopic(
                    name="t",
                    partitions=[
                        MetadataResponsePartition(partition_index=0, leader_id=3),
                        MetadataResponsePartition(partition_index=1, leader_id=-1),
                    ],
                ),
                MetadataResponseTopic(name="secret", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            ],
        )
    )
    assert leader_of(image, "t", 0) == Node(3, "h", 1)
    for topic, partition, error in (
        ("t", 1, LeaderNotAvailableError),
        ("t", 2, UnknownTopicOrPartitionError),
        ("u", 0, UnknownTopicOrPartitionError),
        ("secret", 0, TopicAuthorizationError),
    ):
        with pytest.raises(error, match=topic):
            leader_of(image, topic, partition)
