"""AlterReplicaLogDirs 1–2: move replicas between this broker's data directories."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import BrokerServices


async def handle(
    services: BrokerServices, context: RequestContext, body: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Each replica on its own; one that is named twice goes to the last directory. Answered when the moves begin."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    destinations = _destinations(body)
    cordoned = _cordoned(services)
    errors: dict[TopicPartition, int] = dict.fromkeys(destinations, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    allowed = [(topic_partition, path) for topic_partition, path in destinations.items() if path not in cordoned]
    codes = await services.replicas.log_dirs.alter_replica_log_dirs(allowed)
    for (topic_partition, _), code in zip(allowed, codes, strict=True):
        errors[topic_partition] = code
    return _response(errors)


def _cordoned(services: BrokerServices) -> set[str]:
    """The directories that work and shall not get replicas."""
    online = {directory.path for directory in services.replicas.log_manager.directories.online}
    return online.intersection(services.config.current.log.cordoned_log_dirs or ())


def _destinations(body: AlterReplicaLogDirsRequest) -> dict[TopicPartition, str]:
    return {
        TopicPartition(topic.name, index): directory.path
        for directory in body.dirs
        for topic in directory.topics
        for index in topic.partitions
    }


def _response(errors: dict[TopicPartition, int]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for (topic, index), code in errors.items():
        result = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        topics.setdefault(topic, []).append(result)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions) for name, partitions in topics.items()
        ]
    )


def error_response(body: AlterReplicaLogDirsRequest, error: KafkaError) -> AlterReplicaLogDirsResponse:
    """The error, at every partition."""
    return _response(dict.fromkeys(_destinations(body), error.code))


APIS: Final = (Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, handle, error_response=error_response),)
