"""CreateTopics: names, placement, assignments, configuration, answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import ZERO_UUID
from ottla.controller.policies import NewTopic
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.controller.topics import create_topics
from ottla.metadata.directory_id import UNASSIGNED
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import ConfigRecord, PartitionRecord, TopicRecord
from ottla.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.controller.controller_world import (
    CONTEXT,
    SETTINGS,
    all_of,
    directory,
    image_of,
    register_record,
    replayed,
    topic_request,
)

ONE_BROKER = image_of(register_record(1))
THREE_BROKERS = image_of(register_record(1), register_record(2), register_record(3))
FENCED = image_of(register_record(1, fenced=True))


def create(
    image: MetadataImage,
    request: CreateTopicsRequest,
    settings: ControllerSettings = SETTINGS,
    context: ControllerRequestContext = CONTEXT,
) -> ControllerResult[CreateTopicsResponse]:
    return create_topics(image, settings, context, request, Random(3))


def only(result: ControllerResult[CreateTopicsResponse]) -> CreatableTopicResult:
    (topic,) = result.response.topics
    return topic


def assignments(*replicas: Sequence[int], first: int = 0) -> list[CreatableReplicaAssignment]:
    return [
        CreatableReplicaAssignment(partition_index=first + index, broker_ids=brokers)
        for index, brokers in enumerate(replicas)
    ]


class FewFiles:
    """A broker with room for three more partitions."""

    def __init__(self) -> None:
        self.promised = 0

    def require_room(self, partitions: int) -> None:
        if self.promised + partitions > 3:
            raise ApiError(ErrorCode.POLICY_VIOLATION, f"no room for {partitions}")

    def promise(self, partitions: int) -> None:
        self.promised += partitions


def test_a_topic_that_this_broker_has_no_files_for_is_refused_before_it_is_written() -> None:
    room = FewFiles()
    settings = replace(SETTINGS, node_id=1, partition_room=room)
    topics = [topic_request(name, count).topics[0] for name, count in (("a", 2), ("b", 2), ("c", 1))]
    request = CreateTopicsRequest(topics=topics, validate_only=True)
    validated = create(ONE_BROKER, request, settings)
    assert room.promised == 0
    result = create(ONE_BROKER, CreateTopicsRequest(topics=topics), settings)
    for each in (validated, result):
        assert [topic.error_code for topic in each.response.topics] == [0, ErrorCode.POLICY_VIOLATION, 0]
        assert each.response.topics[1].error_message == "no room for 4"
    assert [record.name for record in result.records if isinstance(record, TopicRecord)] == ["a", "c"]
    assert room.promised == 3
    elsewhere = replace(settings, node_id=9)  # other brokers' room is not known here
    assert only(create(ONE_BROKER, topic_request("d", 9), elsewhere)).error_code == 0


def test_a_topic_is_a_topic_record_then_its_configuration_then_its_partitions() -> None:
    request = topic_request("t", 2, configs={"retention.ms": "1000"})
    result = create(ONE_BROKER, request)
    topic, config, *partitions = result.records
    assert isinstance(topic, TopicRecord)
    assert topic == TopicRecord(name="t", topic_id=topic.topic_id)
    assert topic.topic_id != ZERO_UUID
    assert config == ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1000")
    assert partitions == [
        PartitionRecord(
            partition_id=index,
            topic_id=topic.topic_id,
            replicas=[1],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[directory(1)],
        )
        for index in range(2)
    ]
    assert result.is_atomic


def test_the_answer_shows_what_was_made() -> None:
    answer = only(create(ONE_BROKER, topic_request("t", 2, configs={"retention.ms": "1000"})))
    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.num_partitions, answer.replication_factor) == (2, 1)
    shown = {config.name: config for config in answer.configs or ()}
    assert list(shown) == sorted(shown)
    assert (shown["retention.ms"].value, shown["retention.ms"].config_source) == ("1000", 1)
    assert (shown["cleanup.policy"].value, shown["cleanup.policy"].config_source) == ("delete", 5)
    assert "internal.segment.bytes" not in shown


@pytest.mark.parametrize(
    ("static", "dynamic", "value", "source"),
    [
        ({"log.retention.hours": "2"}, {}, "7200000", 4),
        ({"log.retention.hours": "2", "log.retention.ms": "5"}, {}, "5", 4),
        ({"log.retention.hours": "2"}, {"": "9"}, "9", 3),
        ({}, {"": "9", "3000": "8"}, "8", 2),
    ],
)
def test_the_answer_names_the_broker_level_that_sets_a_value(
    static: Mapping[str, str], dynamic: Mapping[str, str], value: str, source: int
) -> None:
    records = [
        ConfigRecord(resource_type=4, resource_name=name, name="log.retention.ms", value=text)
        for name, text in dynamic.items()
    ]
    image = replayed(ONE_BROKER, records)
    answer = only(create(image, topic_request("t"), replace(SETTINGS, static_config=static)))
    (shown,) = [config for config in answer.configs or () if config.name == "retention.ms"]
    assert (shown.value, shown.config_source) == (value, source)


def test_a_principal_that_may_not_describe_sees_no_configuration() -> None:
    answer = only(create(ONE_BROKER, topic_request("t"), context=ControllerRequestContext(describable_topics=())))
    assert answer.error_code == 0
    assert answer.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert answer.configs is not None
    assert (answer.num_partitions, list(answer.configs)) == (-1, [])


def test_defaults_come_from_the_settings() -> None:
    settings = replace(SETTINGS, num_partitions=3, default_replication_factor=2)
    result = create(THREE_BROKERS, topic_request("t", -1, -1), settings)
    answer = only(result)
    assert (answer.num_partitions, answer.replication_factor) == (3, 2)
    assert all(len(record.replicas) == 2 for record in result.records if isinstance(record, PartitionRecord))


def test_validating_changes_nothing() -> None:
    request = topic_request("t")
    request.validate_only = True
    result = create(ONE_BROKER, request)
    assert result.records == ()
    assert only(result).error_code == 0


LONG = "x" * 250
EXISTING = replayed(ONE_BROKER, [TopicRecord(name="is_here", topic_id=directory(9))])


@pytest.mark.parametrize(
    ("image", "request_", "code", "message"),
    [
        (EXISTING, topic_request("is_here"), "TOPIC_ALREADY_EXISTS", "Topic 'is_here' already exists."),
        (
            EXISTING,
            topic_request("is.here"),
            "INVALID_TOPIC_EXCEPTION",
            "Topic 'is.here' collides with existing topic: is_here",
        ),
        (
            ONE_BROKER,
            topic_request(""),
            "INVALID_TOPIC_EXCEPTION",
            "Topic name is invalid: the empty string is not allowed",
        ),
        (ONE_BROKER, topic_request(".."), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: '..' is not allowed"),
        (
            ONE_BROKER,
            topic_request(LONG),
            "INVALID_TOPIC_EXCEPTION",
            f"Topic name is invalid: the length of '{LONG}' is longer than the max allowed length 249",
        ),
        (
            ONE_BROKER,
            topic_request("a b"),
            "INVALID_TOPIC_EXCEPTION",
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'",
        ),
        (
            ONE_BROKER,
            topic_request("__cluster_metadata"),
            "INVALID_REQUEST",
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            ONE_BROKER,
            topic_request("t", 0),
            "INVALID_PARTITIONS",
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            ONE_BROKER,
            topic_request("t", 1, 0),
            "INVALID_REPLICATION_FACTOR",
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            ONE_BROKER,
            topic_request("t", 1, 2),
            "INVALID_REPLICATION_FACTOR",
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because "
            "only 1 broker(s) are registered or some brokers have all their log directories cordoned.",
        ),
        (
            FENCED,
            topic_request("t"),
            "INVALID_REPLICATION_FACTOR",
            "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log "
            "directories cordoned.",
        ),
        (
            ONE_BROKER,
            topic_request("t", configs={"retention.ms": None}),
            "INVALID_CONFIG",
            "Null value not supported for topic configs: retention.ms",
        ),
        (ONE_BROKER, topic_request("t", configs={"retention.ms": "soon"}), "INVALID_CONFIG", None),
        (ONE_BROKER, topic_request("t", configs={"retention": "1"}), "INVALID_CONFIG", None),
        (
            ONE_BROKER,
            topic_request("t", -1, 1, assignments=assignments([1])),
            "INVALID_REQUEST",
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
        (
            ONE_BROKER,
            topic_request("t", 1, -1, assignments=assignments([1])),
            "INVALID_REQUEST",
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            ONE_BROKER,
            topic_request("t", -1, -1, assignments=assignments([1], first=1)),
            "INVALID_REPLICA_ASSIGNMENT",
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            ONE_BROKER,
            topic_request("t", -1, -1, assignments=[*assignments([1]), *assignments([1])]),
            "INVALID_REPLICA_ASSIGNMENT",
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            ONE_BROKER,
            topic_request("t", -1, -1, assignments=assignments([])),
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            ONE_BROKER,
            topic_request("t", -1, -1, assignments=assignments([1, 5])),
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes broker 5, but no such broker is registered.",
        ),
        (
            ONE_BROKER,
            topic_request("t", -1, -1, assignments=assignments([1, 1])),
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            THREE_BROKERS,
            topic_request("t", -1, -1, assignments=assignments([1], [2, 3])),
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with "
            "previous partitions, which have 1 replica(s).",
        ),
        (
            FENCED,
            topic_request("t", -1, -1, assignments=assignments([1])),
            "INVALID_REPLICA_ASSIGNMENT",
            "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
            "shutdown.",
        ),
    ],
)
def test_what_cannot_be_made_says_why(
    image: MetadataImage, request_: CreateTopicsRequest, code: str, message: str | None
) -> None:
    result = create(image, request_)
    answer = only(result)
    assert list(result.records) == []
    assert ErrorCode(answer.error_code).name == code
    if message is not None:
        assert answer.error_message == message
    assert answer.error_message


def test_replicas_can_be_assigned_by_hand() -> None:
    image = image_of(register_record(1), register_record(2, fenced=True), register_record(3, directories=[]))
    result = create(image, topic_request("t", -1, -1, assignments=assignments([2, 1], [1, 2])))
    partitions = all_of(PartitionRecord, result.records[1:])
    assert [(list(p.replicas), list(p.isr), p.leader) for p in partitions] == [([2, 1], [1], 1), ([1, 2], [1], 1)]
    assert list(partitions[0].directories) == [directory(2), directory(1)]


def test_a_broker_with_several_directories_decides_itself() -> None:
    image = image_of(register_record(1, directories=[directory(1), directory(1, 1)]))
    (partition,) = all_of(PartitionRecord, create(image, topic_request("t")).records[1:])
    assert list(partition.directories) == [UNASSIGNED]


def test_one_topic_fails_alone_and_duplicates_fail_together() -> None:
    topics = [
        CreatableTopic(name=name, num_partitions=1, replication_factor=factor)
        for name, factor in (("good", 1), ("bad", 9), ("twice", 1), ("twice", 1))
    ]
    result = create(ONE_BROKER, CreateTopicsRequest(topics=topics))
    codes = {topic.name: ErrorCode(topic.error_code).name for topic in result.response.topics}
    assert codes == {"good": "NONE", "bad": "INVALID_REPLICATION_FACTOR", "twice": "INVALID_REQUEST"}
    assert [record.name for record in result.records if isinstance(record, TopicRecord)] == ["good"]


def test_far_too_many_partitions_are_refused_before_they_are_placed() -> None:
    with pytest.raises(ApiError, match="Excessively large number of partitions per request") as refused:
        create(ONE_BROKER, topic_request("t", 10_001))
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_too_many_records_are_refused() -> None:
    topics = [CreatableTopic(name=f"t{i}", num_partitions=10, replication_factor=1) for i in range(1000)]
    with pytest.raises(ApiError, match="excessively large batch") as refused:
        create(ONE_BROKER, CreateTopicsRequest(topics=topics))
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_a_quota_can_refuse_a_topic() -> None:
    def refuse(partitions: int) -> None:
        raise ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{partitions} are too many")

    result = create(
        ONE_BROKER, topic_request("t", 4), context=ControllerRequestContext(apply_partition_change_quota=refuse)
    )
    assert only(result).error_message == "4 are too many"
    assert list(result.records) == []


def test_a_min_insync_replicas_of_its_own_clears_the_eligible_leaders_of_the_topic() -> None:
    result = create(ONE_BROKER, topic_request("t", configs={"min.insync.replicas": "1"}))
    assert [type(record).__name__ for record in result.records] == [
        "TopicRecord",
        "ConfigRecord",
        "ClearElrRecord",
        "PartitionRecord",
    ]


def test_a_configuration_names_its_key_once() -> None:
    request = topic_request("t")
    request.topics[0].configs = [CreatableTopicConfig(name="retention.ms", value=v) for v in ("1", "2")]
    result = create(ONE_BROKER, request)
    assert [record.value for record in result.records if isinstance(record, ConfigRecord)] == ["2"]


def test_a_policy_can_refuse_a_topic() -> None:
    asked = []

    def policy(topic: NewTopic) -> None:
        asked.append(topic)
        if topic.num_partitions == 1:
            raise ApiError(ErrorCode.POLICY_VIOLATION, "one is not enough")

    settings = replace(SETTINGS, create_topic_policy=policy)
    refused = create(ONE_BROKER, topic_request("t", 1, configs={"retention.ms": "1"}), settings)
    assert (only(refused).error_code, only(refused).error_message) == (ErrorCode.POLICY_VIOLATION, "one is not enough")
    assert list(refused.records) == []
    assert only(create(ONE_BROKER, topic_request("t", -1, -1, assignments=assignments([1])), settings)).error_code == 0
    assert asked == [
        NewTopic("t", 1, 1, None, {"retention.ms": "1"}),
        NewTopic("t", None, None, {0: (1,)}, {}),
    ]
