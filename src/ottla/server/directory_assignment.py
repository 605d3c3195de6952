"""Tells the controller in which of its data directories this broker keeps each replica (KIP-858)."""

import logging
from collections.abc import Callable

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.manager import LogManager
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.topics_delta import TopicsDelta
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)


class DirectoryAssignment:
    """Compares where logs lie with what the metadata says, and corrects the metadata."""

    def __init__(
        self, node_id: int, log_manager: LogManager, channel: ControllerChannel, broker_epoch: Callable[[], int]
    ) -> None:
        self._node_id = node_id
        self._log_manager = log_manager
        self._channel = channel
        self._broker_epoch = broker_epoch

    async def assign(self, delta: TopicsDelta, image: MetadataImage) -> None:
        """Assign the replicas among those that changed whose directory is not the one in the metadata."""
        wrong: dict[Uuid, dict[Uuid, list[int]]] = {}
        for topic_id in delta.changed_topics:
            topic = image.topics.by_id.get(topic_id)
            if topic is None:
                continue
            for index, partition in topic.partitions.items():
                if self._node_id not in partition.replicas:
                    continue
                actual = self._directory_of(TopicPartition(topic.name, index))
                if actual is not None and partition.directory(self._node_id) != actual:
                    wrong.setdefault(actual, {}).setdefault(topic_id, []).append(index)
        if wrong:
            await self._send(wrong)

    def _directory_of(self, topic_partition: TopicPartition) -> Uuid | None:
        log = self._log_manager.logs.get(topic_partition)
        return None if log is None else self._log_manager.directories[log.data_directory].directory_id

    async def _send(self, assignments: dict[Uuid, dict[Uuid, list[int]]]) -> None:
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch(),
            directories=[
                AssignReplicasToDirsRequestDirectoryData(
                    id=directory_id,
                    topics=[
                        AssignReplicasToDirsRequestTopicData(
                            topic_id=topic_id,
                            partitions=[
                                AssignReplicasToDirsRequestPartitionData(partition_index=index) for index in indexes
                            ],
                        )
                        for topic_id, indexes in topics.items()
                    ],
                )
                for directory_id, topics in assignments.items()
            ],
        )
        try:
            response = await self._channel.request(ApiKey.ASSIGN_REPLICAS_TO_DIRS, request)
        except KafkaError as error:
            logger.warning("The controller took no directory assignments: %s", error)
            return
        assert isinstance(response, AssignReplicasToDirsResponse)
        if response.error_code != ErrorCode.NONE:
            logger.warning("The controller took no directory assignments: %s", ErrorCode(response.error_code).name)
