"""Log directories: which replicas are where, and what happens when a directory fails."""

import logging
from collections.abc import Iterator, Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import Uuid
from ottla.controller.cluster import check_broker_epoch
from ottla.controller.partition_change import Election, partition_change
from ottla.controller.partitions import (
    PartitionOf,
    leader_and_isr_updates,
    partition_of,
    partitions_where,
    policy_for,
)
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerSettings
from ottla.metadata.image import BrokerRegistration, MetadataImage
from ottla.metadata.records import BrokerRegistrationChangeRecord, MetadataRecord
from ottla.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)

logger = logging.getLogger(__name__)


def offline_records(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerRegistration, offline: Sequence[Uuid]
) -> list[MetadataRecord]:
    """Directories that were online until now: others lead what is in them, and the broker's registration loses them."""
    lost = [directory for directory in broker.directories if directory in offline]
    if not lost:
        return []
    records: list[MetadataRecord] = []
    for directory in lost:
        context = f"handleDirectoriesOffline[{broker.id}:{directory}]"
        partitions = _in_directory(image, directory)
        records += leader_and_isr_updates(context, image, settings, partitions, remove=broker.id)
    remaining = [directory for directory in broker.directories if directory not in offline]
    logger.warning(
        "Directories %s in broker %d marked offline, remaining directories: %s",
        *([str(directory) for directory in lost], broker.id, [str(directory) for directory in remaining]),
    )
    records.append(BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=remaining))
    return records


def _in_directory(image: MetadataImage, directory: Uuid) -> Iterator[PartitionOf]:
    return partitions_where(image, lambda partition: directory in partition.directories)


def cordoned_records(broker: BrokerRegistration, cordoned: Sequence[Uuid] | None) -> list[MetadataRecord]:
    """Directories that take no new replicas; None until the broker has caught up."""
    if cordoned is None:
        return []
    known = broker.cordoned_directories
    if known is not None and set(known) == set(cordoned):
        return []
    return [BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=cordoned)]


def assign_replicas_to_dirs(
    image: MetadataImage, settings: ControllerSettings, request: AssignReplicasToDirsRequest
) -> ControllerResult[AssignReplicasToDirsResponse]:
    """AssignReplicasToDirs: a broker tells where its replicas are; each answered on its own."""
    if not image.features.metadata_version.is_directory_assignment_supported:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    broker = check_broker_epoch(image.cluster, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    in_offline_dirs: list[PartitionOf] = []
    directories = []
    for directory in request.directories:
        is_offline = not broker.has_online_dir(directory.id)
        topics = []
        for topic in directory.topics:
            answers = []
            for asked in topic.partitions:
                answer = AssignReplicasToDirsResponsePartitionData(partition_index=asked.partition_index)
                try:
                    partition = partition_of(image, topic.topic_id, asked.partition_index)
                    record = _assign(image, settings, partition, broker, directory.id)
                except KafkaError as failure:
                    logger.warning(
                        "AssignReplicasToDirs from broker %d for partition %d of topic %s: %s",
                        *(broker.id, asked.partition_index, topic.topic_id, failure),
                    )
                    answer.error_code = failure.code
                else:
                    if record is not None:
                        records.append(record)
                    if is_offline:
                        in_offline_dirs.append(partition)
                answers.append(answer)
            topics.append(AssignReplicasToDirsResponseTopicData(topic_id=topic.topic_id, partitions=answers))
        directories.append(AssignReplicasToDirsResponseDirectoryData(id=directory.id, topics=topics))
    records += leader_and_isr_updates("offline-dir-assignment", image, settings, in_offline_dirs, remove=broker.id)
    return ControllerResult(records, AssignReplicasToDirsResponse(directories=directories), is_atomic=False)


def _assign(
    image: MetadataImage,
    settings: ControllerSettings,
    partition: PartitionOf,
    broker: BrokerRegistration,
    directory: Uuid,
) -> MetadataRecord | None:
    if broker.id not in partition.registration.replicas:
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {broker.id} is no replica")
    policy = policy_for(image, settings, partition.topic, Election.ONLINE)
    return partition_change(
        partition.registration, partition.topic.id, partition.id, policy, directories={broker.id: directory}
    )
