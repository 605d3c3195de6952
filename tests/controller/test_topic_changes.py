"""DeleteTopics, CreatePartitions, ElectLeaders, AlterPartition."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.controller.alter_partition import alter_partition
from ottla.controller.partition_creation import create_partitions
from ottla.controller.partitions import balance_partition_leaders, elect_leaders, elect_unclean_leaders
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerRequestContext
from ottla.controller.topic_deletion import delete_topics
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from ottla.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponsePartitionData,
    BrokerState,
)
from ottla.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from tests.controller.controller_world import (
    CONTEXT,
    SETTINGS,
    all_of,
    directory,
    image_of,
    register_record,
    replayed,
    uuid,
)

A, B = uuid(1), uuid(2)


def partition_record(topic_id: Uuid = A, partition_id: int = 0, **fields: Any) -> PartitionRecord:
    values: dict[str, Any] = {
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "directories": [directory(1), directory(2)],
    }
    return PartitionRecord(topic_id=topic_id, partition_id=partition_id, **(values | fields))


BROKERS = [register_record(1), register_record(2), register_record(3)]
TOPICS = [
    TopicRecord(name="a", topic_id=A),
    partition_record(),
    TopicRecord(name="b", topic_id=B),
    partition_record(B),
    partition_record(B, 1, leader=2),
]
IMAGE = image_of(*BROKERS, *TOPICS)


def named(*names: str) -> list[DeleteTopicState]:
    return [DeleteTopicState(name=name) for name in names]


def with_ids(*ids: Uuid) -> list[DeleteTopicState]:
    return [DeleteTopicState(topic_id=topic_id) for topic_id in ids]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (named("a"), [("a", A, 0, None)]),
        (with_ids(A), [("a", A, 0, None)]),
        (
            named("gone"),
            [
                (
                    "gone",
                    ZERO_UUID,
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    "This server does not host this topic-partition.",
                )
            ],
        ),
        (
            with_ids(uuid(9)),
            [(None, uuid(9), ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")],
        ),
        (named("a", "a"), [("a", ZERO_UUID, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")]),
        (with_ids(A, A), [(None, A, ErrorCode.INVALID_REQUEST, "Duplicate topic id.")]),
        (
            [DeleteTopicState()],
            [(None, ZERO_UUID, ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")],
        ),
        (
            [DeleteTopicState(name="a", topic_id=A)],
            [("a", A, ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")],
        ),
        (
            [*named("a"), *with_ids(A)],
            [
                ("a", A, 0, None),
                (
                    "a",
                    A,
                    ErrorCode.INVALID_REQUEST,
                    "The provided topic name maps to an ID that was already supplied.",
                ),
            ],
        ),
    ],
)
def test_topics_are_deleted_by_name_or_id(
    states: list[DeleteTopicState], expected: list[tuple[str | None, Uuid, int, str | None]]
) -> None:
    result = delete_topics(IMAGE, SETTINGS, CONTEXT, DeleteTopicsRequest(topics=states))
    got = [(one.name, one.topic_id, one.error_code, one.error_message) for one in result.response.responses]
    assert got == expected
    assert result.records == [RemoveTopicRecord(topic_id=topic_id) for _, topic_id, code, _ in expected if not code]


def test_old_requests_name_topics_only() -> None:
    result = delete_topics(IMAGE, SETTINGS, CONTEXT, DeleteTopicsRequest(topic_names=["a", "b"]))
    image = replayed(
        replayed(IMAGE, [ConfigRecord(resource_type=2, resource_name="a", name="x", value="1")]), result.records
    )
    assert image.topics.is_empty
    assert image.configs.is_empty


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_can_be_disabled(version: int, code: ErrorCode) -> None:
    settings = replace(SETTINGS, delete_topic_enable=False)
    with pytest.raises(ApiError) as refused:
        context = ControllerRequestContext(api_version=version)
        delete_topics(IMAGE, settings, context, DeleteTopicsRequest(topics=named("a")))
    assert refused.value.code == code


def grow(
    name: str, count: int, assignments: Sequence[Sequence[int]] | None = None, image: MetadataImage = IMAGE
) -> ControllerResult[CreatePartitionsResponse]:
    assigned = None if assignments is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=count, assignments=assigned)])
    return create_partitions(image, SETTINGS, CONTEXT, request, Random(1))


def test_a_topic_grows() -> None:
    result = grow("a", 3)
    added = all_of(PartitionRecord, result.records)
    assert [(record.partition_id, len(record.replicas)) for record in added] == [(1, 2), (2, 2)]
    assert result.response.results[0].error_code == 0
    result = grow("a", 2, [[3, 2]])
    assert [list(record.replicas) for record in all_of(PartitionRecord, result.records)] == [[3, 2]]


def test_growth_that_this_broker_has_no_files_for_is_refused() -> None:
    def refuse(partitions: int) -> None:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"no room for {partitions}")

    settings = replace(SETTINGS, node_id=2, partition_room=SimpleNamespace(require_room=refuse))
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=4, assignments=None)])
    result = create_partitions(IMAGE, settings, CONTEXT, request, Random(1))
    assert result.response.results[0].error_code == ErrorCode.POLICY_VIOLATION
    assert not result.records


def test_validating_growth_changes_nothing() -> None:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="a", count=2, assignments=None)], validate_only=True
    )
    result = create_partitions(IMAGE, SETTINGS, CONTEXT, request, Random(1))
    assert (list(result.records), result.response.results[0].error_code) == ([], 0)


@pytest.mark.parametrize(
    ("name", "count", "assignments", "code", "message"),
    [
        ("gone", 2, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        ("b", 2, None, ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            "b",
            1,
            None,
            ErrorCode.INVALID_PARTITIONS,
            "The topic b currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            "a",
            3,
            [[1, 2]],
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            "a",
            2,
            [[1]],
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with "
            "previous partitions, which have 2 replica(s).",
        ),
        ("a", 2_000_000_000, None, ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."),
    ],
)
def test_growth_that_cannot_be_says_why(
    name: str, count: int, assignments: list[list[int]] | None, code: ErrorCode, message: str | None
) -> None:
    result = grow(name, count, assignments)
    (answer,) = result.response.results
    assert (list(result.records), answer.error_code, answer.error_message) == ([], code, message)


def test_a_topic_asked_for_twice_does_not_grow() -> None:
    topics = [CreatePartitionsTopic(name="a", count=count, assignments=None) for count in (2, 3)]
    result = create_partitions(IMAGE, SETTINGS, CONTEXT, CreatePartitionsRequest(topics=topics), Random(1))
    assert [(one.name, one.error_message) for one in result.response.results] == [("a", "Duplicate topic name.")]


def elect(
    image: MetadataImage, election_type: int, topics: Sequence[TopicPartitions] | None
) -> ControllerResult[ElectLeadersResponse]:
    return elect_leaders(image, SETTINGS, ElectLeadersRequest(election_type=election_type, topic_partitions=topics))


def test_the_preferred_replica_is_elected() -> None:
    result = elect(
        IMAGE, 0, [TopicPartitions(topic="b", partitions=[0, 1, 2]), TopicPartitions(topic="c", partitions=[0])]
    )
    assert result.records == [PartitionChangeRecord(topic_id=B, partition_id=1, leader=1)]
    answers = [
        (topic.topic, one.partition_id, ErrorCode(one.error_code).name, one.error_message)
        for topic in result.response.replica_election_results
        for one in topic.partition_result
    ]
    assert answers == [
        ("b", 0, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."),
        ("b", 1, "NONE", None),
        ("b", 2, "UNKNOWN_TOPIC_OR_PARTITION", "No such partition as b-2"),
        ("c", 0, "UNKNOWN_TOPIC_OR_PARTITION", "No such topic as c"),
    ]


def test_asking_for_all_tells_of_those_that_needed_it_only() -> None:
    result = elect(IMAGE, 0, None)
    answers = {
        topic.topic: [one.partition_id for one in topic.partition_result]
        for topic in result.response.replica_election_results
    }
    assert answers == {"a": [], "b": [1]}
    assert balance_partition_leaders(IMAGE, SETTINGS) == (result.records, False, False)


def test_an_unclean_election_needs_a_replica_that_is_up() -> None:
    image = image_of(
        register_record(1, fenced=True), register_record(2), TOPICS[0], partition_record(isr=[1], leader=-1), elr=False
    )
    result = elect(image, 1, [TopicPartitions(topic="a", partitions=[0])])
    assert result.records == [
        PartitionChangeRecord(topic_id=A, partition_id=0, leader=2, isr=[2], leader_recovery_state=1)
    ]
    down = image_of(register_record(1, fenced=True), TOPICS[0], partition_record(isr=[1], leader=-1), elr=False)
    (answer,) = elect(down, 1, [TopicPartitions(topic="a", partitions=[0])]).response.replica_election_results
    assert answer.partition_result[0].error_code == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    with pytest.raises(ApiError, match="Unknown election type 7"):
        elect(image, 7, None)


def test_unclean_elections_happen_by_themselves_where_a_topic_allows_them() -> None:
    records = [
        register_record(1, fenced=True),
        register_record(2),
        *(TOPICS[0], partition_record(isr=[1], leader=-1)),
        *(TOPICS[2], partition_record(B, isr=[1], leader=-1)),
        ConfigRecord(resource_type=2, resource_name="b", name="unclean.leader.election.enable", value="true"),
    ]
    result = elect_unclean_leaders(image_of(*records, elr=False), SETTINGS)
    changes = all_of(PartitionChangeRecord, result.records)
    assert [(change.topic_id, change.leader) for change in changes] == [(B, 2)]


def alter(
    image: MetadataImage = IMAGE,
    broker_id: int = 1,
    broker_epoch: int = 101,
    topic_id: Uuid = A,
    states: Sequence[tuple[int, int]] = ((1, 101),),
    version: int = 3,
    **fields: Any,
) -> tuple[Sequence[MetadataRecord], AlterPartitionResponsePartitionData]:
    values: dict[str, Any] = {
        "new_isr_with_epochs": [BrokerState(broker_id=one, broker_epoch=epoch) for one, epoch in states],
        **fields,
    }
    request = AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        topics=[
            AlterPartitionRequestTopicData(topic_id=topic_id, partitions=[AlterPartitionRequestPartitionData(**values)])
        ],
    )
    result = alter_partition(image, SETTINGS, ControllerRequestContext(api_version=version), request)
    return result.records, result.response.topics[0].partitions[0]


def test_a_leader_shrinks_and_grows_its_isr() -> None:
    records, answer = alter()
    assert records == [PartitionChangeRecord(topic_id=A, partition_id=0, isr=[1])]
    assert (answer.error_code, answer.leader_id, list(answer.isr), answer.partition_epoch) == (0, 1, [1], 1)
    image = replayed(IMAGE, records)
    records, answer = alter(image, states=((1, 101), (2, 102)), partition_epoch=1)
    assert records == [PartitionChangeRecord(topic_id=A, partition_id=0, isr=[1, 2])]
    records, _ = alter(image, version=2, new_isr=[1, 2], partition_epoch=1)
    assert len(records) == 1


def test_a_leader_has_recovered() -> None:
    image = image_of(
        register_record(1),
        TOPICS[0],
        partition_record(replicas=[1], isr=[1], directories=[directory(1)], leader_recovery_state=1),
    )
    records, answer = alter(image, leader_recovery_state=0)
    assert records == [PartitionChangeRecord(topic_id=A, partition_id=0, leader_recovery_state=0)]
    assert answer.leader_recovery_state == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic_id": uuid(9)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition_index": 4}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"broker_id": 2, "broker_epoch": 102}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"leader_recovery_state": 2}, ErrorCode.INVALID_REQUEST),
        ({"states": ((1, 101), (3, 103))}, ErrorCode.INVALID_REQUEST),
        ({"states": ((1, 101), (1, 101))}, ErrorCode.INVALID_REQUEST),
        ({"states": ((2, 102),)}, ErrorCode.INVALID_REQUEST),
        ({"states": ()}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ({"states": ((1, 101), (2, 100))}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_leader_that_knows_less_is_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    records, answer = alter(**fields)
    assert (records, answer.error_code) == ([], code)


@pytest.mark.parametrize("field", ["fenced", "in_controlled_shutdown"])
def test_only_active_brokers_get_into_an_isr(field: str) -> None:
    second = register_record(2)
    setattr(second, field, True)
    image = image_of(register_record(1), second, TOPICS[0], partition_record(isr=[1]))
    records, answer = alter(image, states=((1, 101), (2, 102)))
    assert (records, answer.error_code) == ([], ErrorCode.INELIGIBLE_REPLICA)


def test_a_stale_broker_is_refused() -> None:
    with pytest.raises(ApiError) as refused:
        alter(broker_epoch=7)
    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH
