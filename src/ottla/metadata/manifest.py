"""What publishers are told of a published image besides its contents."""

from typing import NamedTuple

from ottla.metadata.image.provenance import MetadataProvenance


class LogDeltaManifest(NamedTuple):
    """The image came from the log: how much of it was read for this delta."""

    provenance: MetadataProvenance
    leader_id: int
    leader_epoch: int
    num_batches: int
    num_bytes: int


class SnapshotManifest(NamedTuple):
    """The image came from a snapshot, or is the first that its publisher sees."""

    provenance: MetadataProvenance


LoaderManifest = LogDeltaManifest | SnapshotManifest
