"""How a broker follows the metadata with its logs, one image after the other."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataPublisher
from ottla.metadata.manifest import LoaderManifest

logger = logging.getLogger(__name__)

SETTLE_MS: Final = 5_000
"""How long somebody waits for the logs to be where the metadata is."""


class BrokerMetadataPublisher(MetadataPublisher):
    """Clients see an image at once (``MetadataCache``); ``follow`` is called for one after the other: files take time.

    ``show`` is called at once, so that a partition which is about to come is told from one that does not exist. Nothing
    is followed before ``run``: the logs must be loaded first, with the ``first_image``.
    """

    name = "BrokerMetadataPublisher"

    def __init__(
        self,
        show: Callable[[MetadataImage], None],
        follow: Callable[[MetadataDelta, MetadataImage], Awaitable[None]],
        on_followed: Callable[[int], None],
    ) -> None:
        self._show = show
        self._follow = follow
        self._on_followed = on_followed
        self._pending: asyncio.Queue[tuple[MetadataDelta, MetadataImage]] = asyncio.Queue()
        self.first_image: asyncio.Future[MetadataImage] = asyncio.get_running_loop().create_future()

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:  # noqa: ARG002
        """Show the image, and queue it for the logs."""
        self._show(new_image)
        self._pending.put_nowait((delta, new_image))
        if not self.first_image.done():
            self.first_image.set_result(new_image)

    async def follow_next(self) -> None:
        """Follow the next image, waiting for it."""
        delta, image = await self._pending.get()
        await self._follow(delta, image)
        self._pending.task_done()
        self._on_followed(image.offset)

    async def settled(self) -> None:
        """Return once everything that is published has been followed, or after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_MS / 1000):
                await self._pending.join()

    async def run(self) -> None:
        """Follow one image after the other."""
        while True:
            await self.follow_next()
