"""Writes a snapshot of the metadata whenever the policy says that one is due."""

import logging

from ottla.common.errors import KafkaError
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataPublisher
from ottla.metadata.manifest import LoaderManifest
from ottla.metadata.records import MetadataRecord
from ottla.metadata.serde import MetadataRecordSerde
from ottla.metadata.snapshot_policy import SnapshotPolicy
from ottla.raft.raft_client import RaftClient
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)


class SnapshotGenerator(MetadataPublisher):
    """A publisher that keeps the metadata log short."""

    name = "SnapshotGenerator"

    def __init__(self, runtime: Runtime, raft: RaftClient[MetadataRecord], policy: SnapshotPolicy) -> None:
        self._runtime = runtime
        self._raft = raft
        self._policy = policy

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:  # noqa: ARG002
        """Begin a snapshot of this image if one is due; the image never changes, so there is no hurry."""
        now_ms = self._runtime.clock.monotonic_ms()
        reason = self._policy.published(new_image, manifest, now_ms)
        if reason is not None:
            self._policy.writing(new_image, reason, now_ms)
            self._runtime.spawn(self._write(new_image))

    async def _write(self, image: MetadataImage) -> None:
        provenance = image.provenance
        try:
            await self._raft.create_snapshot(
                provenance.last_contained_offset + 1,
                provenance.last_contained_epoch,
                provenance.last_contained_log_time_ms,
                image.records(),
                # The level of this image, not the one that the controller may be moving to.
                MetadataRecordSerde(lambda: image.features.metadata_version),
            )
        except KafkaError as error:
            logger.error("Error writing the snapshot %s: %s", provenance.snapshot_name, error)
        finally:
            self._policy.written()
