"""Producer ids for the producers that ask this broker: taken from blocks that the controller gives out.

Ids are unique in the cluster and for ever, because the controller notes every block in the metadata log. The next block
is asked for when nine tenths of the current one are used.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ottla.runtime.completion import Completion
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)

PREFETCH_THRESHOLD: Final = 0.9


class ProducerIds:
    """Gives out producer ids, one at a time."""

    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._ids = range(0)
        self._next_ids = range(0)
        self._prefetch_at = -1
        self._allocation: asyncio.Task[None] | None = None

    def generate(self) -> Completion[int]:
        """The next id; COORDINATOR_LOAD_IN_PROGRESS, which every client retries, if the controller gives none."""
        generated: Completion[int] = Completion()
        if (producer_id := self._take()) is not None:
            generated.complete(producer_id)
        else:
            self._allocate().add_done_callback(lambda _task: self._give(generated))
        return generated

    def _give(self, generated: Completion[int]) -> None:
        """Answer somebody who had to wait for a block."""
        if (producer_id := self._take()) is not None:
            generated.complete(producer_id)
        else:
            generated.fail(
                ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "Producer ID block is full. Waiting for next block")
            )

    def _take(self) -> int | None:
        if not self._ids:
            self._ids, self._next_ids = self._next_ids, range(0)
            self._prefetch_at = self._ids.start + int(len(self._ids) * PREFETCH_THRESHOLD)
        if not self._ids:
            return None
        producer_id = self._ids[0]
        self._ids = self._ids[1:]
        if producer_id == self._prefetch_at:
            self._allocate()
        return producer_id

    def _allocate(self) -> "asyncio.Task[None]":
        """Ask for a block, unless that is under way."""
        if self._allocation is None or self._allocation.done():
            self._allocation = asyncio.get_running_loop().create_task(self._ask())
        return self._allocation

    async def _ask(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        try:
            response = await self._channel.request(ApiKey.ALLOCATE_PRODUCER_IDS, request)
        except KafkaError as error:
            logger.warning("The controller gave no producer ids: %s", error)
            return
        assert isinstance(response, AllocateProducerIdsResponse)
        if response.error_code != ErrorCode.NONE:
            logger.warning("The controller gave no producer ids: %s", ErrorCode(response.error_code).name)
            return
        start = response.producer_id_start
        assert start >= self._ids.stop, f"producer ids from {start} on were given out before"
        self._next_ids = range(start, start + response.producer_id_len)
