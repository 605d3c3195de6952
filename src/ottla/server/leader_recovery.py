"""Tells the controller that this broker has recovered the partitions that it leads after an unclean election.

Such a leader is RECOVERING in the metadata (KIP-704). What there is to recover, the log did when it was loaded; until
the leader says so, its in-sync replicas cannot change.
"""

import logging
from collections.abc import Callable

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.topics_delta import TopicsDelta
from ottla.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    BrokerState,
)
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)


class LeaderRecovery:
    """Looks for recovering leaders among the partitions that changed."""

    def __init__(self, node_id: int, channel: ControllerChannel, broker_epoch: Callable[[], int]) -> None:
        self._node_id = node_id
        self._channel = channel
        self._broker_epoch = broker_epoch

    async def finish(self, delta: TopicsDelta, image: MetadataImage) -> None:
        """Report the leaders that have recovered. What the controller refuses has changed since, and comes again."""
        topics = []
        for topic_id in delta.changed_topics:
            topic = image.topics.by_id.get(topic_id)
            if topic is None:
                continue
            recovered = [
                self._recovered(index, partition)
                for index, partition in topic.partitions.items()
                if partition.leader == self._node_id
                and partition.leader_recovery_state is LeaderRecoveryState.RECOVERING
            ]
            if recovered:
                topics.append(AlterPartitionRequestTopicData(topic_id=topic_id, partitions=recovered))
        if topics:
            await self._send(topics)

    def _recovered(self, index: int, partition: PartitionRegistration) -> AlterPartitionRequestPartitionData:
        return AlterPartitionRequestPartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=[BrokerState(broker_id=self._node_id, broker_epoch=self._broker_epoch())],
            leader_recovery_state=LeaderRecoveryState.RECOVERED,
            partition_epoch=partition.partition_epoch,
        )

    async def _send(self, topics: list[AlterPartitionRequestTopicData]) -> None:
        request = AlterPartitionRequest(broker_id=self._node_id, broker_epoch=self._broker_epoch(), topics=topics)
        try:
            response = await self._channel.request(ApiKey.ALTER_PARTITION, request)
        except KafkaError as error:
            logger.warning("The controller did not hear of recovered leaders: %s", error)
            return
        assert isinstance(response, AlterPartitionResponse)
        failed: dict[tuple[Uuid, int], str] = {
            (topic.topic_id, partition.partition_index): ErrorCode(partition.error_code).name
            for topic in response.topics
            for partition in topic.partitions
            if partition.error_code != ErrorCode.NONE
        }
        if response.error_code != ErrorCode.NONE or failed:
            logger.warning(
                "The controller refused recovered leaders: %s %s", ErrorCode(response.error_code).name, failed
            )
