"""CreatePartitions."""

from collections import Counter
from typing import TYPE_CHECKING

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.controller.assignments import assigned_partition, placed_partitions
from ottla.controller.cluster import usable_brokers
from ottla.controller.own_partitions import OwnPartitions
from ottla.controller.placement import place
from ottla.controller.result import (
    MAX_RECORDS_PER_USER_OP,
    ControllerResult,
    check_record_count,
    excessively_large,
    message_of,
)
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.image import MetadataImage
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records import MetadataRecord
from ottla.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from random import Random


def create_partitions(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: CreatePartitionsRequest,
    rng: "Random",
) -> ControllerResult[CreatePartitionsResponse]:
    """More partitions for each topic asked for, or its error."""
    own_partitions = OwnPartitions(settings)
    counts = Counter(topic.name for topic in request.topics)
    records: list[MetadataRecord] = []
    results = []
    for topic in request.topics:
        if counts[topic.name] > 1:
            continue
        result = CreatePartitionsTopicResult(name=topic.name)
        try:
            new_records = _create_partitions(image, context, topic, rng)
            own_partitions.add(new_records)
            records += new_records
        except KafkaError as failure:
            result.error_code, result.error_message = failure.code, message_of(failure)
        results.append(result)
    results += [
        CreatePartitionsTopicResult(
            name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name."
        )
        for name, count in counts.items()
        if count > 1
    ]
    check_record_count(records)
    if not request.validate_only:
        own_partitions.promise()
    return ControllerResult(() if request.validate_only else records, CreatePartitionsResponse(results=results))


def _create_partitions(
    image: MetadataImage, context: ControllerRequestContext, asked: CreatePartitionsTopic, rng: "Random"
) -> list[MetadataRecord]:
    topic = image.topics.by_name.get(asked.name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    current = len(topic.partitions)
    if asked.count == current:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
    if asked.count < current:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {asked.name} currently has {current} partition(s); {asked.count} would not be an increase.",
        )
    additional = asked.count - current
    if asked.assignments is not None and len(asked.assignments) != additional:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only {len(asked.assignments)} assignment(s) "
            "were specified.",
        )
    context.apply_partition_change_quota(additional)
    replication_factor = len(topic.partitions[0].replicas)
    if asked.assignments is not None:
        partitions = [
            assigned_partition(image.cluster, current + index, assignment.broker_ids, replication_factor)
            for index, assignment in enumerate(asked.assignments)
        ]
    else:
        if additional > MAX_RECORDS_PER_USER_OP:
            raise excessively_large()
        placements = place(additional, replication_factor, usable_brokers(image.cluster), rng)
        partitions = placed_partitions(image.cluster, placements, replication_factor)
    options = ImageWriterOptions(image.features.metadata_version, image.features.is_elr_enabled)
    return [partition.to_record(topic.id, current + index, options) for index, partition in enumerate(partitions)]
