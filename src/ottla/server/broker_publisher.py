"""How a broker follows the metadata with its logs, one image after the other."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataPublisher
from ottla.metadata.manifest import LoaderManifest

logger = logging.getLogger(__name__)


class BrokerMetadataPublisher(MetadataPublisher):
    """Clients see an image at once (``MetadataCache``); ``follow`` is called for one after the other: files take time.

    Nothing is followed before ``run``: the logs must be loaded first, with the ``first_image``.
    """

    name = "BrokerMetadataPublisher"

    def __init__(
        self,
        follow: Callable[[MetadataDelta, MetadataImage], Awaitable[None]],
        on_followed: Callable[[int], None],
    ) -> None:
        self._follow = follow
        self._on_followed = on_followed
        self._pending: asyncio.Queue[tuple[MetadataDelta, MetadataImage]] = asyncio.Queue()
        self.first_image: asyncio.Future[MetadataImage] = asyncio.get_running_loop().create_future()

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:  # noqa: ARG002
        """Queue the image for the logs."""
        self._pending.put_nowait((delta, new_image))
        if not self.first_image.done():
            self.first_image.set_result(new_image)

    async def follow_next(self) -> None:
        """Follow the next image, waiting for it."""
        delta, image = await self._pending.get()
        await self._follow(delta, image)
        self._on_followed(image.offset)

    async def run(self) -> None:
        """Follow one image after the other."""
        while True:
            await self.follow_next()
