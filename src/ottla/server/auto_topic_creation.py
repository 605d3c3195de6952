"""Topics that come into being because somebody asked for them: by their metadata, or by looking for a coordinator."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)


class AutoTopicCreation:
    """Asks the controller for topics, each once at a time; the client that wanted them asks again by itself.

    ``internal_topics`` says how the coordinators want theirs; all others have the default partitions and replicas.
    """

    def __init__(
        self,
        channel: ControllerChannel,
        request_timeout_ms: Callable[[], int],
        internal_topics: Mapping[str, Callable[[], CreatableTopic]] = MappingProxyType({}),
    ) -> None:
        self._channel = channel
        self._request_timeout_ms = request_timeout_ms
        self._internal_topics = internal_topics
        self._in_flight: dict[str, asyncio.Task[set[str]]] = {}

    def create(self, names: Sequence[str], context: RequestContext) -> None:
        """Begin to create those that are not on their way already."""
        wanted = [name for name in names if name not in self._in_flight]
        if not wanted:
            return
        task = asyncio.get_running_loop().create_task(self._create(wanted, context))
        self._in_flight.update(dict.fromkeys(wanted, task))
        logger.info("Asked the active controller to create %s", ", ".join(wanted))

    async def answered(self, name: str) -> bool:
        """Whether the controller has made the topic that is on its way, when it has answered."""
        task = self._in_flight.get(name)
        return task is not None and name in await asyncio.shield(task)

    def _creatable(self, name: str) -> CreatableTopic:
        internal = self._internal_topics.get(name)
        if internal is not None:
            return internal()
        return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)

    async def _create(self, names: Sequence[str], context: RequestContext) -> set[str]:
        """Those that there are now."""
        request = CreateTopicsRequest(
            topics=[self._creatable(name) for name in names],
            timeout_ms=self._request_timeout_ms(),
        )
        try:
            response = await self._channel.forward(ApiKey.CREATE_TOPICS, request, context)
        except KafkaError as error:
            logger.warning("Auto topic creation failed for %s: %s", ", ".join(names), error)
            return set()
        finally:
            for name in names:
                del self._in_flight[name]
        assert isinstance(response, CreateTopicsResponse)
        made = set()
        for topic in response.topics:
            if topic.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                made.add(topic.name)
            else:
                logger.warning(
                    "Auto topic creation failed for %s with error %s: %s",
                    topic.name,
                    ErrorCode(topic.error_code).name,
                    topic.error_message,
                )
        return made
