"""Shows a consumer group how far a query is, so that Kafka's own tools tell its lag. Nothing depends on it."""

import asyncio
import logging
from typing import Final

from ottla.clients.admin.group_offsets import committed_offsets, offset_commit_request
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.common.errors import KafkaError
from ottla.spark.source.offset_json import Offsets

logger = logging.getLogger(__name__)

_BY_NAME_VERSION: Final = 9
"""Later versions of OffsetCommit know topics by id only."""


class GroupCommits:
    """Commits the newest offsets it is given, one request at a time; lives in the loop of its cluster client.

    A failure is logged, once for each reason; the next offsets are the next attempt.
    """

    __slots__ = ("_cluster", "_committed", "_group", "_task", "_waiting", "_warned_of")

    def __init__(self, cluster: ClusterClient, group: str) -> None:
        self._cluster = cluster
        self._group = group
        self._waiting: Offsets | None = None
        self._committed: Offsets | None = None
        self._task: asyncio.Task[None] | None = None
        self._warned_of: str | None = None

    def offer(self, offsets: Offsets) -> None:
        """Offsets up to which everything has been processed; returns at once."""
        if offsets and offsets != self._committed:
            self._waiting = offsets
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._commit_all())

    async def settled(self) -> None:
        """Wait until what was offered is committed, or has failed."""
        if self._task is not None:
            await self._task

    async def _commit_all(self) -> None:
        while self._waiting is not None:
            offsets, self._waiting = self._waiting, None
            try:
                await self._commit(offsets)
            except KafkaError as error:
                if str(error) != self._warned_of:
                    self._warned_of = str(error)
                    logger.warning("Group %s does not get the offsets of this query: %s", self._group, error)
            else:
                self._committed, self._warned_of = offsets, None

    async def _commit(self, offsets: Offsets) -> None:
        request = offset_commit_request(
            self._group, {each: OffsetAndMetadata(offset) for each, offset in offsets.items()}
        )
        response = await self._cluster.ask_coordinator(
            CoordinatorType.GROUP, self._group, request, max_version=_BY_NAME_VERSION
        )
        for error in committed_offsets(response).values():
            if error is not None:
                raise error
