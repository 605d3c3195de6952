"""CreateTopics, DeleteTopics and CreatePartitions over the wire, on both kinds of listener."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from ottla.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.wire import BOUND_S, Wire, create_topic, eventually

BOUND_MS = BOUND_S * 1000


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "false", "num.partitions": "4"}


@pytest.fixture(params=["broker", "controller"])
def either(request: pytest.FixtureRequest) -> Wire:
    """A connection to either listener: the broker passes on what is the controller's business."""
    found: Wire = request.getfixturevalue("wire" if request.param == "broker" else "controller_wire")
    return found


def creatable(name: str, partitions: int = 1, replicas: int = 1, **options: Any) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, **options)


def create(wire: Wire, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Any:
    request = CreateTopicsRequest(topics=topics, timeout_ms=BOUND_MS, validate_only=validate_only)
    return wire.ask(request, version).topics


def create_one(wire: Wire, topic: CreatableTopic, version: int = 7, **options: bool) -> CreatableTopicResult:
    (result,) = create(wire, topic, version=version, **options)
    found: CreatableTopicResult = result
    return found


def partitions_of(wire: Wire, topic: str) -> int:
    """How many partitions brokers know of; −1 for no such topic."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    (found,) = wire.ask(wanted, 12).topics
    return len(found.partitions) if not found.error_code else -1


def await_partitions(wire: Wire, topic: str, count: int) -> None:
    """An answer of the controller's listener may come before the broker has heard."""
    for _ in eventually():
        if partitions_of(wire, topic) == count:
            return


# -- CreateTopics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 8))
def test_create(either: Wire, wire: Wire, topic: str, version: int) -> None:
    wanted = creatable(topic, 3, configs=[CreatableTopicConfig(name="retention.ms", value="1234")])
    result = create_one(either, wanted, version)
    assert (result.error_code, result.error_message, result.name) == (0, None, topic)
    assert (result.topic_id != ZERO_UUID) == (version >= 7)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        configs = {config.name: (config.value, config.config_source) for config in result.configs or ()}
        assert configs["retention.ms"] == ("1234", 1)
        assert configs["segment.bytes"] == ("1073741824", 5)
    await_partitions(wire, topic, 3)


def test_the_brokers_defaults(either: Wire, wire: Wire, topic: str) -> None:
    result = create_one(either, creatable(topic, -1, -1))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 4, 1)
    await_partitions(wire, topic, 4)


@pytest.mark.parametrize("version", [2, 5, 7])
def test_validate_only(either: Wire, wire: Wire, topic: str, version: int) -> None:
    result = create_one(either, creatable(topic, 2), version, validate_only=True)
    assert result.error_code == 0
    assert partitions_of(wire, topic) == -1
    assert create_one(either, creatable(topic, 0), version, validate_only=True).error_code


def config(name: str, value: str | None) -> dict[str, Any]:
    return {"configs": [CreatableTopicConfig(name=name, value=value)]}


def assigned(*assignments: Sequence[int], first: int = 0) -> dict[str, Any]:
    return {
        "assignments": [
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignments, first)
        ]
    }


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (creatable("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("no-partitions", 0), ErrorCode.INVALID_PARTITIONS),
        (creatable("minus-two", -2), ErrorCode.INVALID_PARTITIONS),
        (creatable("no-replicas", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (creatable("many-replicas", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (creatable("bad-key", **config("no.such.key", "1")), ErrorCode.INVALID_CONFIG),
        (creatable("bad-value", **config("retention.ms", "soon")), ErrorCode.INVALID_CONFIG),
        (creatable("null-value", **config("retention.ms", None)), ErrorCode.INVALID_CONFIG),
        (creatable("twice", 1, 1, **assigned([1])), ErrorCode.INVALID_REQUEST),
        (creatable("nobody", -1, -1, **assigned([7])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("one-twice", -1, -1, **assigned([1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("empty", -1, -1, **assigned([])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("gap", -1, -1, **assigned([1], first=1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=lambda value: value.name[:20] if isinstance(value, CreatableTopic) else "",
)
def test_what_cannot_be_created(either: Wire, wire: Wire, wanted: CreatableTopic, error: ErrorCode) -> None:
    for validate_only in (True, False):
        result = create_one(either, wanted, validate_only=validate_only)
        assert ErrorCode(result.error_code) == error
        assert result.error_message
    assert partitions_of(wire, wanted.name) == -1


def test_assignments(either: Wire, wire: Wire, topic: str) -> None:
    result = create_one(either, creatable(topic, -1, -1, **assigned([1], [1])))
    assert (result.error_code, result.num_partitions) == (0, 2)
    await_partitions(wire, topic, 2)


def test_a_topic_that_exists(either: Wire, address: str, topic: str) -> None:
    create_topic(address, topic)
    for validate_only in (True, False):
        result = create_one(either, creatable(topic), validate_only=validate_only)
        assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_names_that_collide_in_metrics(either: Wire, address: str, topic: str) -> None:
    create_topic(address, f"{topic}.x")
    assert create_one(either, creatable(f"{topic}_x")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_each_topic_has_its_own_answer(either: Wire, wire: Wire, topic: str) -> None:
    results = create(either, creatable(topic), creatable("a b"), creatable(f"{topic}-2", 2))
    assert {result.name: result.error_code for result in results} == {
        topic: 0,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"{topic}-2": 0,
    }
    await_partitions(wire, f"{topic}-2", 2)


def test_a_name_that_is_given_twice(either: Wire, wire: Wire, topic: str) -> None:
    results = create(either, creatable(topic), creatable(topic, 2))
    assert {(result.name, result.error_code) for result in results} == {(topic, ErrorCode.INVALID_REQUEST)}
    assert partitions_of(wire, topic) == -1


# -- DeleteTopics -----------------------------------------------------------------------------------------------------


def delete(wire: Wire, version: int, *states: DeleteTopicState) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(timeout_ms=BOUND_MS)
    if version >= 6:
        request.topics = states
    else:
        request.topic_names = [state.name or "" for state in states]
    return list(wire.ask(request, version).responses)


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_by_name(either: Wire, wire: Wire, address: str, topic: str, version: int) -> None:
    topic_id = create_topic(address, topic)
    (result,) = delete(either, version, DeleteTopicState(name=topic))
    assert (result.error_code, result.name) == (0, topic)
    assert result.topic_id == (topic_id if version >= 6 else ZERO_UUID)
    await_partitions(wire, topic, -1)
    (result,) = delete(either, version, DeleteTopicState(name=topic))
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert create_topic(address, topic) != topic_id, "another topic of the same name"


def test_delete_by_id(either: Wire, wire: Wire, address: str, topic: str) -> None:
    topic_id = create_topic(address, topic)
    (result,) = delete(either, 6, DeleteTopicState(topic_id=topic_id, name=None))
    assert (result.error_code, result.name, result.topic_id) == (0, topic, topic_id)
    (result,) = delete(either, 6, DeleteTopicState(topic_id=topic_id, name=None))
    assert (result.error_code, result.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, topic_id)


def test_deletions_that_make_no_sense(either: Wire, address: str, topic: str) -> None:
    topic_id = create_topic(address, topic)
    both, neither = DeleteTopicState(name=topic, topic_id=topic_id), DeleteTopicState(name=None)
    assert [result.error_code for result in delete(either, 6, both)] == [ErrorCode.INVALID_REQUEST]
    assert [result.error_code for result in delete(either, 6, neither)] == [ErrorCode.INVALID_REQUEST]
    twice = delete(either, 6, DeleteTopicState(name=topic), DeleteTopicState(name=topic))
    assert {result.error_code for result in twice} == {ErrorCode.INVALID_REQUEST}


# -- CreatePartitions -------------------------------------------------------------------------------------------------


def grow(
    wire: Wire,
    topic: str,
    count: int,
    *,
    version: int = 3,
    assignments: Sequence[Sequence[int]] | None = None,
    validate_only: bool = False,
) -> int:
    wanted = CreatePartitionsTopic(name=topic, count=count, assignments=None)
    if assignments is not None:
        wanted.assignments = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=BOUND_MS, validate_only=validate_only)
    (result,) = wire.ask(request, version).results
    assert result.name == topic
    code: int = result.error_code
    return code


@pytest.mark.parametrize("version", range(4))
def test_create_partitions(either: Wire, wire: Wire, address: str, topic: str, version: int) -> None:
    create_topic(address, topic)
    assert grow(either, topic, 3, version=version) == 0
    await_partitions(wire, topic, 3)
    assert grow(either, topic, 4, version=version, assignments=[[1]]) == 0
    await_partitions(wire, topic, 4)


Wrong = Callable[[Wire, str], int]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        pytest.param(lambda wire, topic: grow(wire, topic, 2), ErrorCode.INVALID_PARTITIONS, id="as many"),
        pytest.param(lambda wire, topic: grow(wire, topic, 1), ErrorCode.INVALID_PARTITIONS, id="fewer"),
        pytest.param(lambda wire, topic: grow(wire, topic, 0), ErrorCode.INVALID_PARTITIONS, id="none"),
        pytest.param(lambda wire, topic: grow(wire, topic, -5), ErrorCode.INVALID_PARTITIONS, id="negative"),
        pytest.param(
            lambda wire, _topic: grow(wire, "nowhere", 5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, id="no such topic"
        ),
        pytest.param(
            lambda wire, topic: grow(wire, topic, 4, assignments=[[1]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            id="too few assignments",
        ),
        pytest.param(
            lambda wire, topic: grow(wire, topic, 3, assignments=[[9]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            id="an unknown broker",
        ),
    ],
)
def test_partitions_that_cannot_be_created(
    either: Wire, wire: Wire, address: str, topic: str, wrong: Wrong, error: ErrorCode
) -> None:
    create_topic(address, topic, partitions=2)
    assert ErrorCode(wrong(either, topic)) == error
    assert partitions_of(wire, topic) == 2


def test_partitions_are_only_validated(either: Wire, wire: Wire, address: str, topic: str) -> None:
    create_topic(address, topic)
    assert grow(either, topic, 3, validate_only=True) == 0
    assert grow(either, topic, 1, validate_only=True) == ErrorCode.INVALID_PARTITIONS
    assert partitions_of(wire, topic) == 1


def test_an_id_is_never_given_twice(wire: Wire, topic: str) -> None:
    ids: set[Uuid] = set()
    for _ in range(5):
        ids.add(create_one(wire, creatable(topic)).topic_id)
        assert [result.error_code for result in delete(wire, 6, DeleteTopicState(name=topic))] == [0]
    assert len(ids) == 5
