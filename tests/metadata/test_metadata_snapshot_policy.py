"""When a snapshot of the metadata is due."""

from dataclasses import replace

from ottla.metadata.image import EMPTY_IMAGE, MetadataImage, MetadataProvenance
from ottla.metadata.manifest import LogDeltaManifest, SnapshotManifest
from ottla.metadata.snapshot_policy import SnapshotPolicy

HOUR_MS = 3_600_000


def _image(*, aligned: bool = True) -> MetadataImage:
    return replace(EMPTY_IMAGE, provenance=MetadataProvenance(41, 1, 0, aligned))


def _read(policy: SnapshotPolicy, num_bytes: int, now_ms: int = 0, *, aligned: bool = True) -> str | None:
    image = _image(aligned=aligned)
    return policy.published(image, LogDeltaManifest(image.provenance, 1, 1, 1, num_bytes), now_ms)


def test_a_snapshot_is_due_after_so_many_bytes() -> None:
    policy = SnapshotPolicy(1000, 0, 0)
    assert _read(policy, 999) is None
    reason = _read(policy, 1)
    assert reason == "we have replayed at least 1000 bytes"
    policy.writing(_image(), reason, 0)
    assert _read(policy, 1000) is None, "one at a time"
    policy.written()
    assert _read(policy, 0) is not None, "what was read meanwhile counts"


def test_a_snapshot_is_due_after_so_long() -> None:
    policy = SnapshotPolicy(1000, HOUR_MS, 5)
    assert _read(policy, 1, HOUR_MS + 4) is None
    reason = _read(policy, 1, HOUR_MS + 5)
    assert reason == "we have waited at least 60 minute(s)"
    policy.writing(_image(), reason, HOUR_MS + 5)
    policy.written()
    assert _read(policy, 1, 2 * HOUR_MS) is None
    assert _read(SnapshotPolicy(1000, 0, 0), 1, 100 * HOUR_MS) is None, "0 is never"


def test_a_snapshot_that_was_loaded_starts_the_counting_anew() -> None:
    policy = SnapshotPolicy(1000, HOUR_MS, 0)
    assert _read(policy, 999) is None
    assert policy.published(_image(), SnapshotManifest(_image().provenance), HOUR_MS) is None
    assert _read(policy, 999, HOUR_MS + 1) is None
    assert _read(policy, 1, HOUR_MS + 1) is not None


def test_a_snapshot_ends_at_a_batch() -> None:
    policy = SnapshotPolicy(1000, 0, 0)
    assert _read(policy, 1000, aligned=False) is None
    assert _read(policy, 0) is not None


def test_no_snapshot_when_disabled() -> None:
    policy = SnapshotPolicy(1000, 0, 0)
    policy.disable("we are shutting down")
    assert _read(policy, 1000) is None
