"""DescribeLogDirs 1–5: what lies in this broker's data directories, and how much room is left."""

import logging
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.log.log import Log
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ottla.replication.replica_manager import ReplicaManager
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import BrokerServices

logger = logging.getLogger(__name__)

_UNKNOWN_LAG: Final = -1


class _Space(NamedTuple):
    total_bytes: int
    usable_bytes: int


async def handle(
    services: BrokerServices, context: RequestContext, body: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Each data directory; of its replicas those that are asked for, all where the request says null."""
    require_cluster(services.authorizer, context, AclOperation.DESCRIBE)
    directories = services.replicas.log_manager.directories
    online = [directory.path for directory in directories.online]
    spaces = dict(zip(online, await services.runtime.blocking(lambda: [_space(path) for path in online]), strict=True))
    wanted = None
    if body.topics is not None:
        wanted = {TopicPartition(topic.topic, index) for topic in body.topics for index in topic.partitions}
    topics = _topics_by_directory(services.replicas, wanted)
    cordoned: Sequence[str] = ()
    if services.metadata.image.features.metadata_version.is_cordoned_log_dirs_supported:
        cordoned = services.config.current.log.cordoned_log_dirs or ()
    results = []
    for directory in directories:
        path = directory.path
        result = DescribeLogDirsResult(log_dir=os.path.abspath(path))
        results.append(result)
        if not directory.is_online:
            logger.warning("Unable to describe replica dirs for %s: it is offline", path)
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            continue
        space = spaces[path]
        if space is None:
            result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            continue
        result.total_bytes, result.usable_bytes = space
        result.topics = topics.get(path, [])
        result.is_cordoned = path in cordoned
    return DescribeLogDirsResponse(results=results)


def _space(path: str) -> _Space | None:
    try:
        found = os.statvfs(path)
    except OSError as error:
        logger.error("Error while describing replica in dir %s: %s", path, error)
        return None
    return _Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def _topics_by_directory(
    replicas: ReplicaManager, wanted: set[TopicPartition] | None
) -> dict[str, list[DescribeLogDirsTopic]]:
    """The replicas of each data directory, those that are on their way to it included."""
    manager = replicas.log_manager
    found: dict[tuple[str, str], list[DescribeLogDirsPartition]] = {}
    for logs, is_future in ((manager.logs, False), (manager.future_logs, True)):
        for topic_partition, log in logs.items():
            if wanted is None or topic_partition in wanted:
                partition = DescribeLogDirsPartition(
                    partition_index=topic_partition.partition,
                    partition_size=log.size_in_bytes,
                    offset_lag=_offset_lag(replicas, topic_partition, log, is_future=is_future),
                    is_future_key=is_future,
                )
                found.setdefault((log.data_directory, topic_partition.topic), []).append(partition)
    topics: dict[str, list[DescribeLogDirsTopic]] = {}
    for (path, name), partitions in found.items():
        topics.setdefault(path, []).append(DescribeLogDirsTopic(name=name, partitions=partitions))
    return topics


def _offset_lag(replicas: ReplicaManager, topic_partition: TopicPartition, log: Log, *, is_future: bool) -> int:
    """How far the log is behind the high watermark, or a future one behind the one that it will replace."""
    partition = replicas.partitions.get(topic_partition)
    current = None if partition is None else partition.log
    if current is None:
        return _UNKNOWN_LAG
    if is_future:
        return current.log_end_offset - log.log_end_offset
    return max(current.high_watermark - log.log_end_offset, 0)


APIS: Final = (Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, handle),)
