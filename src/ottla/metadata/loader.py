"""The loader of the metadata log: committed batches and snapshots in, images to publishers out."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from ottla.metadata.batch_loader import FaultHandler, LogBatch, MetadataBatchLoader
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.manifest import LoaderManifest, SnapshotManifest
from ottla.metadata.records import MetadataRecord

logger = logging.getLogger(__name__)


class MetadataPublisher(ABC):
    """Whoever wants to know of new images, in the order in which it was installed."""

    name: str

    @abstractmethod
    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:
        """A new image; ``delta`` leads to it from the one before, for the first from an empty image."""

    def controller_changed(self, leader_id: int, leader_epoch: int) -> None:  # noqa: B027  most do not care
        """The quorum has a new leader, or with -1 none."""


class MetadataLoader:
    """Keeps the latest committed image.

    Publishers see nothing until the loader has reached the high watermark that it found at the start, and then begin
    with the whole image. ``on_fault`` is told of records that cannot be replayed; loading goes on without them.
    """

    def __init__(
        self,
        high_watermark: Callable[[], int | None],
        on_fault: FaultHandler,
        is_supported_config: Callable[[int, str], bool] | None = None,
    ) -> None:
        self.image = MetadataImage()
        self.snapshots_loaded = 0
        self.load_errors = 0
        self._high_watermark = high_watermark
        self._tell_fault = on_fault
        self._is_supported_config = is_supported_config
        self._batch_loader = MetadataBatchLoader(self._publish, self._on_fault, is_supported_config)
        self._catching_up = True
        self._publishers: list[MetadataPublisher] = []
        self._uninitialized: list[MetadataPublisher] = []
        self._snapshot_delta: MetadataDelta | None = None

    @property
    def leader_id(self) -> int:
        """The quorum's leader, -1 if unknown."""
        return self._batch_loader.leader[0]

    def handle_commit(self, batch: LogBatch) -> None:
        """Load a batch at once and publish."""
        for _ in self.load(batch):
            pass
        self.flush()

    def load(self, batch: LogBatch) -> Iterator[None]:
        """Load a batch in slices: run it to its end, with others in between, then ``flush``."""
        return self._batch_loader.load(batch)

    def flush(self) -> None:
        """Publish what was loaded, unless a transaction is open."""
        self._batch_loader.flush()

    def begin_snapshot(self) -> None:
        """A snapshot is going to take the place of the whole image; anything begun before is forgotten."""
        self._snapshot_delta = MetadataDelta(self.image, self._is_supported_config)

    def load_snapshot(self, records: Iterable[MetadataRecord]) -> None:
        """Some more records of the snapshot."""
        assert self._snapshot_delta is not None, "no snapshot was begun"
        for record in records:
            try:
                self._snapshot_delta.replay(record)
            except ValueError as error:
                self._on_fault("Error loading metadata log record in snapshot", error)

    def finish_snapshot(self, offset: int, epoch: int, append_time_ms: int) -> None:
        """The snapshot, whose last contained record is named, has been read: publish it."""
        assert self._snapshot_delta is not None, "no snapshot was begun"
        delta, self._snapshot_delta = self._snapshot_delta, None
        delta.finish_snapshot()
        provenance = MetadataProvenance(offset, epoch, append_time_ms, True)
        image = delta.apply(provenance)
        self._batch_loader.reset(image)
        self.snapshots_loaded += 1
        self._publish(delta, image, SnapshotManifest(provenance))

    def handle_leader_change(self, leader_id: int, leader_epoch: int) -> None:
        """The quorum's leader changed."""
        self._batch_loader.leader = (leader_id, leader_epoch)
        for publisher in self._publishers:
            publisher.controller_changed(leader_id, leader_epoch)

    def install_publishers(self, publishers: Iterable[MetadataPublisher]) -> None:
        """Add publishers, in order; they get the whole image at once, or when the loader has caught up."""
        for publisher in publishers:
            known = (*self._publishers, *self._uninitialized)
            assert publisher.name not in [other.name for other in known], f"two publishers named {publisher.name}"
            self._uninitialized.append(publisher)
        self.initialize_publishers()

    def initialize_publishers(self) -> None:
        """Give the whole image to those who have seen none. To be called again when the high watermark moves."""
        if not self._uninitialized or self._still_catching_up("initializeNewPublishers", self.image.offset):
            return
        delta = MetadataDelta.from_empty(self.image)
        manifest = SnapshotManifest(self.image.provenance)
        waiting, self._uninitialized = self._uninitialized, []
        for publisher in waiting:
            logger.info(
                "InitializeNewPublishers: initializing %s with a snapshot at offset %d",
                publisher.name,
                self.image.offset,
            )
            publisher.publish(delta, self.image, manifest)
            publisher.controller_changed(*self._batch_loader.leader)
            self._publishers.append(publisher)

    def remove_publisher(self, publisher: MetadataPublisher) -> None:
        """Publish no more to it."""
        self._publishers = [other for other in self._publishers if other is not publisher]
        self._uninitialized = [other for other in self._uninitialized if other is not publisher]

    def _on_fault(self, message: str, error: Exception) -> None:
        self.load_errors += 1
        self._tell_fault(message, error)

    def _publish(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        self.image = image
        if self._still_catching_up("maybePublishMetadata", image.offset):
            return
        logger.debug("handleCommit: publishing new image with provenance %s.", image.provenance)
        for publisher in self._publishers:
            publisher.publish(delta, image, manifest)
        self.initialize_publishers()

    def _still_catching_up(self, where: str, offset: int) -> bool:
        if not self._catching_up:
            return False
        high_watermark = self._high_watermark()
        if high_watermark is None:
            logger.info("%s: the loader is still catching up because the high watermark is not known yet.", where)
            return True
        if high_watermark - 1 > offset or not self._batch_loader.has_seen_record:
            logger.info(
                "%s: the loader is still catching up because we have loaded up to offset %d, but the high watermark "
                "is %d",
                where,
                offset,
                high_watermark,
            )
            return True
        logger.info("%s: the loader finished catching up to the current high watermark of %d", where, high_watermark)
        self._catching_up = False
        return False
