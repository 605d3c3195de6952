"""The internal topics of the coordinators, made when somebody looks for a coordinator, until they can be used."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from ottla.network.request import RequestContext
from ottla.runtime.port import Runtime
from ottla.server.auto_topic_creation import AutoTopicCreation
from ottla.server.metadata_cache import MetadataCache

CREATION_MS: Final = 1_000
"""How long somebody waits for a topic, and holds up the connection."""
_PAUSE_MS: Final = 5


class CoordinatorTopicCreation:
    """A topic is missing → being made → there: this broker has followed it, and loaded what it leads of it."""

    def __init__(
        self,
        creation: AutoTopicCreation,
        metadata: MetadataCache,
        runtime: Runtime,
        *,
        followed: Callable[[], Awaitable[None]],
        loaded: Callable[[], Awaitable[None]],
    ) -> None:
        self._creation = creation
        self._metadata = metadata
        self._runtime = runtime
        self._followed = followed
        self._loaded = loaded
        self._being_made: dict[str, asyncio.Task[None]] = {}

    def is_there(self, topic: str) -> bool:
        """Whether nobody need wait for it."""
        return topic not in self._being_made and self._metadata.image.topics.topic(topic) is not None

    async def make(self, topic: str, context: RequestContext) -> None:
        """Have it made, and return when it is there, could not be made, or ``CREATION_MS`` have passed."""
        task = self._being_made.get(topic)
        if task is None:
            task = self._being_made[topic] = asyncio.get_running_loop().create_task(self._make(topic, context))
        await asyncio.wait([task], timeout=CREATION_MS / 1000)

    async def _make(self, topic: str, context: RequestContext) -> None:
        try:
            async with asyncio.timeout(CREATION_MS / 1000):
                self._creation.create([topic], context)
                if not await self._creation.answered(topic):
                    return
                while self._metadata.image.topics.topic(topic) is None:  # a broker hears of it in its own time
                    await self._runtime.sleep_ms(_PAUSE_MS)
                await self._followed()
                await self._loaded()
        except TimeoutError:
            return
        finally:
            del self._being_made[topic]
