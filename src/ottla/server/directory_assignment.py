"""Tells the controller in which of its data directories this broker keeps each replica (KIP-858)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)
from ottla.runtime.port import Runtime
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)

RETRY_MS: Final = 500
REPLICAS_MAX: Final = 2_250
"""How many replicas one request names, as in Apache."""

Replica = tuple[Uuid, int]


class DirectoryAssignment:
    """A :class:`ottla.replication.ports.DirectoryAssignments`: what is assigned in one turn goes in one request.

    Tried until the controller accepts. A replica that is assigned anew before that goes to its latest directory.
    """

    def __init__(
        self, runtime: Runtime, node_id: int, channel: ControllerChannel, broker_epoch: Callable[[], int]
    ) -> None:
        self._runtime = runtime
        self._node_id = node_id
        self._channel = channel
        self._broker_epoch = broker_epoch
        self._pending: dict[Replica, Uuid] = {}
        self._accepted: dict[Replica, asyncio.Future[None]] = {}
        self._sender: asyncio.Task[None] | None = None

    def assign(self, topic_id: Uuid, partition: int, directory_id: Uuid) -> "asyncio.Future[None]":
        """See the port."""
        replica = (topic_id, partition)
        self._pending[replica] = directory_id
        loop = asyncio.get_running_loop()
        accepted = self._accepted.setdefault(replica, loop.create_future())
        if self._sender is None or self._sender.done():
            self._sender = loop.create_task(self._send_pending(), name="directory-assignment")
        return accepted

    def stop(self) -> None:
        """Assign nothing more."""
        if self._sender is not None:
            self._sender.cancel()

    async def _send_pending(self) -> None:
        while self._pending:
            batch = dict(list(self._pending.items())[:REPLICAS_MAX])
            try:
                await self._send(batch)
            except KafkaError as error:
                logger.warning("The controller took no directory assignments: %s", error)
                await self._runtime.sleep_ms(RETRY_MS)
                continue
            for replica, directory_id in batch.items():
                if self._pending.get(replica) == directory_id:
                    del self._pending[replica]
                    self._accepted.pop(replica).set_result(None)

    async def _send(self, batch: dict[Replica, Uuid]) -> None:
        by_directory: dict[Uuid, dict[Uuid, list[int]]] = {}
        for (topic_id, partition), directory_id in batch.items():
            by_directory.setdefault(directory_id, {}).setdefault(topic_id, []).append(partition)
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
                for directory_id, topics in by_directory.items()
            ],
        )
        response = await self._channel.request(ApiKey.ASSIGN_REPLICAS_TO_DIRS, request)
        assert isinstance(response, AssignReplicasToDirsResponse)
        if response.error_code != ErrorCode.NONE:
            raise ApiError(ErrorCode(response.error_code), ErrorCode(response.error_code).name)
