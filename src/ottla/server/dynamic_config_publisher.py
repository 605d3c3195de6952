"""Keeps a broker's configuration up with what the metadata says of it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from ottla.config.dynamic_config import DynamicConfig
from ottla.metadata.image.configs import ConfigResource, ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataPublisher
from ottla.metadata.manifest import LoaderManifest
from ottla.server.background import Background

CLUSTER_DEFAULT: Final = ""


class DynamicConfigPublisher(MetadataPublisher):
    """Calls ``apply`` when the configuration in force has changed, one call after the other."""

    name = "DynamicConfigPublisher"

    def __init__(
        self, config: DynamicConfig, apply: Callable[[], Coroutine[Any, Any, None]], background: Background
    ) -> None:
        self._config = config
        self._apply = apply
        self._background = background
        self._broker = str(config.static.kraft.node_id)
        self._applying: asyncio.Task[None] | None = None

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:  # noqa: ARG002
        """Take over the layers that have changed."""
        if delta.configs_delta is None:
            return
        changed = False
        changes = delta.configs_delta.changes
        configs = new_image.configs
        if ConfigResource(ConfigResourceType.BROKER, CLUSTER_DEFAULT) in changes:
            changed |= self._config.update_default(configs.properties(ConfigResourceType.BROKER, CLUSTER_DEFAULT))
        if ConfigResource(ConfigResourceType.BROKER, self._broker) in changes:
            changed |= self._config.update_broker(configs.properties(ConfigResourceType.BROKER, self._broker))
        if changed:
            self._applying = self._background.spawn(self._apply_after(self._applying), "dynamic-config")

    async def _apply_after(self, previous: "asyncio.Task[None] | None") -> None:
        if previous is not None:
            await asyncio.wait({previous})
        await self._apply()
