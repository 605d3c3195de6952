"""CreateTopics."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import Uuid
from ottla.controller.assignments import assigned_partition, placed_partitions
from ottla.controller.cluster import usable_brokers
from ottla.controller.configs import ConfigOperation, OpType, incremental_alter_config
from ottla.controller.effective_configs import TOPIC, effective_topic_configs
from ottla.controller.own_partitions import OwnPartitions
from ottla.controller.placement import place
from ottla.controller.policies import NewTopic
from ottla.controller.result import ControllerResult, check_record_count, message_of
from ottla.controller.settings import ControllerRequestContext, ControllerSettings, Situation
from ottla.controller.topic_names import (
    CLUSTER_METADATA_TOPIC_NAME,
    CollisionIndex,
    validate_topic_name,
)
from ottla.metadata.image import ConfigResource, MetadataImage
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.partition_registration import PartitionRegistration
from ottla.metadata.records import MetadataRecord, TopicRecord
from ottla.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger(__name__)

MAX_PARTITIONS_PER_BATCH: Final = 10_000
"""How many partitions one request may ask for."""


def create_topics(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: CreateTopicsRequest,
    rng: "Random",
) -> ControllerResult[CreateTopicsResponse]:
    """The topics asked for, each with its records or its error; POLICY_VIOLATION where it is far too many at once."""
    _check_partition_count(settings, request)
    duplicates = {name for name, count in Counter(topic.name for topic in request.topics).items() if count > 1}
    situation = Situation(image, settings, context)
    collisions = CollisionIndex(image.topics.by_name)
    own_partitions = OwnPartitions(settings)
    records: list[MetadataRecord] = []
    results = []
    for topic in request.topics:
        if topic.name in duplicates:
            continue
        try:
            _check_name(image, topic.name, collisions)
            new_records, result = _create_topic(situation, topic, rng)
            own_partitions.add(new_records)
        except KafkaError as failure:
            logger.info("CreateTopics: %s failed with %s (%s)", topic.name, ErrorCode(failure.code).name, failure)
            results.append(
                CreatableTopicResult(name=topic.name, error_code=failure.code, error_message=message_of(failure))
            )
        else:
            records += new_records
            results.append(result)
    results += [
        CreatableTopicResult(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name.")
        for name in sorted(duplicates)
    ]
    check_record_count(records)
    if not request.validate_only:
        own_partitions.promise()
    return ControllerResult(() if request.validate_only else records, CreateTopicsResponse(topics=results))


def _check_partition_count(settings: ControllerSettings, request: CreateTopicsRequest) -> None:
    """An upper bound, before anything is made for it: the number might not fit in memory."""
    total = 0
    for topic in request.topics:
        if topic.assignments:
            total += len(topic.assignments)
        else:
            total += settings.num_partitions if topic.num_partitions == -1 else max(topic.num_partitions, 0)
    if total > MAX_PARTITIONS_PER_BATCH:
        raise ApiError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _create_topic(
    situation: Situation, topic: CreatableTopic, rng: "Random"
) -> tuple[list[MetadataRecord], CreatableTopicResult]:
    image, settings, context = situation
    configs = _configs(topic)
    config_records = _config_records(situation, topic.name, configs)
    partitions = _assigned(image, topic) if topic.assignments else _placed(image, settings, topic, rng)
    _check_policy(settings, topic, partitions, configs)
    context.apply_partition_change_quota(len(partitions))
    topic_id = Uuid.random(rng)
    options = ImageWriterOptions(image.features.metadata_version, image.features.is_elr_enabled)
    records: list[MetadataRecord] = [TopicRecord(name=topic.name, topic_id=topic_id), *config_records]
    records += [partition.to_record(topic_id, index, options) for index, partition in enumerate(partitions)]
    result = CreatableTopicResult(name=topic.name, topic_id=topic_id, error_message=None)
    if context.may_describe(topic.name):
        result.num_partitions = len(partitions)
        result.replication_factor = len(partitions[0].replicas)
        result.configs = _shown_configs(image, settings, configs)
    else:
        result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return records, result


def _check_name(image: MetadataImage, name: str, collisions: CollisionIndex) -> None:
    if name == CLUSTER_METADATA_TOPIC_NAME:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA_TOPIC_NAME} is prohibited."
        )
    if name in image.topics.by_name:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    validate_topic_name(name)
    collisions.check(name)


def _configs(topic: CreatableTopic) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    return {config.name: config.value for config in topic.configs if config.value is not None}


def _config_records(situation: Situation, name: str, configs: Mapping[str, str]) -> Sequence[MetadataRecord]:
    if not configs:
        return ()
    operations = {key: ConfigOperation(OpType.SET, value) for key, value in configs.items()}
    return incremental_alter_config(situation, ConfigResource(TOPIC, name), operations, newly_created=True)


def _assigned(image: MetadataImage, topic: CreatableTopic) -> list[PartitionRegistration]:
    if topic.replication_factor != -1:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if topic.num_partitions != -1:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    partitions: dict[int, PartitionRegistration] = {}
    replication_factor = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in partitions:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        partitions[index] = assigned_partition(image.cluster, index, assignment.broker_ids, replication_factor)
        replication_factor = len(assignment.broker_ids)
    if sorted(partitions) != list(range(len(partitions))):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [partitions[index] for index in range(len(partitions))]


def _placed(
    image: MetadataImage, settings: ControllerSettings, topic: CreatableTopic, rng: "Random"
) -> list[PartitionRegistration]:
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    count = settings.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    replication_factor = (
        settings.default_replication_factor if topic.replication_factor == -1 else topic.replication_factor
    )
    try:
        placements = place(count, replication_factor, usable_brokers(image.cluster), rng)
    except ApiError as failure:
        reason = f"Unable to replicate the partition {replication_factor} time(s): {failure}"
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, reason) from None
    return placed_partitions(image.cluster, placements, replication_factor)


def _check_policy(
    settings: ControllerSettings,
    topic: CreatableTopic,
    partitions: Sequence[PartitionRegistration],
    configs: Mapping[str, str],
) -> None:
    if settings.create_topic_policy is None:
        return
    if topic.assignments:
        assignments = {index: partition.replicas for index, partition in enumerate(partitions)}
        new_topic = NewTopic(topic.name, None, None, assignments, configs)
    else:
        new_topic = NewTopic(topic.name, len(partitions), len(partitions[0].replicas), None, configs)
    settings.create_topic_policy(new_topic)


def _shown_configs(
    image: MetadataImage, settings: ControllerSettings, configs: Mapping[str, str]
) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=config.name,
            value=None if config.is_sensitive else config.value,
            config_source=config.source,
            is_sensitive=config.is_sensitive,
        )
        for config in effective_topic_configs(image, settings, configs)
    ]
