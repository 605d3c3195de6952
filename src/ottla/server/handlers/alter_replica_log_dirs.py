"""AlterReplicaLogDirs 1–2: move replicas between this broker's data directories."""

from typing import Final

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


def handle(
    services: BrokerServices, context: RequestContext, body: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Each replica on its own; one that is named twice goes to the last directory."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    errors = services.replicas.alter_replica_log_dirs(_destinations(body))
    return _response(errors)


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
