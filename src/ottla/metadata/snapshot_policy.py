"""When to write a snapshot of the metadata: after so many bytes of log, or after so long."""

import logging

from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.manifest import LoaderManifest, LogDeltaManifest

logger = logging.getLogger(__name__)


class SnapshotPolicy:
    """Told of every published image; says why a snapshot of it should be written.

    The counters start anew when a snapshot begins to be written or was loaded. While one is being written no other is
    due, but the log that is read meanwhile counts. Times are of the monotonic clock.
    """

    __slots__ = ("_bytes_max", "_bytes_since", "_disabled_reason", "_interval_max_ms", "_last_ms", "_writing")

    def __init__(self, max_record_bytes_between_snapshots: int, max_snapshot_interval_ms: int, now_ms: int) -> None:
        """``max_snapshot_interval_ms`` 0 means never for time's sake."""
        self._bytes_max = max_record_bytes_between_snapshots
        self._interval_max_ms = max_snapshot_interval_ms
        self._bytes_since = 0
        self._last_ms = now_ms
        self._writing = False
        self._disabled_reason: str | None = None

    def disable(self, reason: str) -> None:
        """No snapshots from now on; the first reason stays."""
        self._disabled_reason = self._disabled_reason or reason

    def published(self, image: MetadataImage, manifest: LoaderManifest, now_ms: int) -> str | None:
        """The reason to write a snapshot of ``image`` now, or None."""
        if not isinstance(manifest, LogDeltaManifest):
            logger.debug("Resetting the snapshot counters because we just read %s.", image.provenance.snapshot_name)
            self._reset(now_ms)
            return None
        self._bytes_since += manifest.num_bytes
        reason = self._due(now_ms)
        if reason is None or self._writing:
            return None
        obstacle = self._disabled_reason
        if obstacle is None and not image.provenance.is_offset_batch_aligned:
            obstacle = "metadata image is not batch aligned"
        if obstacle is not None:
            logger.log(
                logging.ERROR if self._disabled_reason else logging.DEBUG,
                "Not emitting %s despite the fact that %s because snapshots are disabled; %s",
                image.provenance.snapshot_name,
                reason,
                obstacle,
            )
            return None
        return reason

    def _due(self, now_ms: int) -> str | None:
        if self._bytes_since >= self._bytes_max:
            return f"we have replayed at least {self._bytes_max} bytes"
        if self._interval_max_ms and now_ms - self._last_ms >= self._interval_max_ms:
            return f"we have waited at least {self._interval_max_ms // 60_000} minute(s)"
        return None

    def writing(self, image: MetadataImage, reason: str, now_ms: int) -> None:
        """A snapshot of ``image`` is being written: the next one counts from here."""
        logger.info("Creating new KRaft snapshot file %s because %s.", image.provenance.snapshot_name, reason)
        self._writing = True
        self._reset(now_ms)

    def written(self) -> None:
        """The snapshot is written, or writing it failed."""
        self._writing = False

    def _reset(self, now_ms: int) -> None:
        self._bytes_since = 0
        self._last_ms = now_ms
