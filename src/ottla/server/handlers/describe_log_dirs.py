"""DescribeLogDirs 1–5: what lies in this broker's data directories, and how much room is left."""

import os
from collections.abc import Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ottla.replication.log_dirs import UNKNOWN_BYTES, LogDirDescription, ReplicaDescription
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import BrokerServices


async def handle(
    services: BrokerServices, context: RequestContext, body: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Each data directory; of its replicas those that are asked for, all where the request says null."""
    require_cluster(services.authorizer, context, AclOperation.DESCRIBE)
    wanted = None
    if body.topics is not None:
        wanted = {TopicPartition(topic.topic, index) for topic in body.topics for index in topic.partitions}
    online = [directory.path for directory in services.replicas.log_manager.directories.online]
    # Asked beforehand: a disk may take its time.
    spaces = await services.runtime.blocking(lambda: {path: _space(path) for path in online})

    def disk_space(path: str) -> tuple[int, int]:
        space = spaces[path]
        if isinstance(space, OSError):
            raise space
        return space

    cordoned: Sequence[str] = ()
    if services.metadata.image.features.metadata_version.is_cordoned_log_dirs_supported:
        cordoned = services.config.current.log.cordoned_log_dirs or ()
    descriptions = services.replicas.log_dirs.describe(wanted, disk_space)
    return DescribeLogDirsResponse(
        results=[_result(description, is_cordoned=description.path in cordoned) for description in descriptions]
    )


def _space(path: str) -> tuple[int, int] | OSError:
    try:
        found = os.statvfs(path)
    except OSError as error:
        return error
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def _result(description: LogDirDescription, *, is_cordoned: bool) -> DescribeLogDirsResult:
    result = DescribeLogDirsResult(log_dir=os.path.abspath(description.path), error_code=description.error_code)
    if description.error_code == ErrorCode.NONE and description.total_bytes == UNKNOWN_BYTES:
        result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    if result.error_code == ErrorCode.NONE:
        result.topics = _topics(description.replicas)
        result.total_bytes, result.usable_bytes = description.total_bytes, description.usable_bytes
        result.is_cordoned = is_cordoned
    return result


def _topics(replicas: Sequence[ReplicaDescription]) -> list[DescribeLogDirsTopic]:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for replica in replicas:
        partition = DescribeLogDirsPartition(
            partition_index=replica.topic_partition.partition,
            partition_size=replica.size_bytes,
            offset_lag=replica.offset_lag,
            is_future_key=replica.is_future,
        )
        topics.setdefault(replica.topic_partition.topic, []).append(partition)
    return [DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()]


APIS: Final = (Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, handle),)
