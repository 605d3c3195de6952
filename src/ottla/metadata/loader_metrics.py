"""What the loader of the metadata log has reached, under Apache's names. Read when somebody asks."""

from collections.abc import Callable

from ottla.metadata.loader import MetadataLoader
from ottla.metadata.metadata_version import MINIMUM_VERSION
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

_LOADER = "MetadataLoader"
_BROKER = "broker-metadata-metrics"


def register_loader(registry: Registry, loader: MetadataLoader, now_ms: Callable[[], int]) -> None:
    """Show a loader: ``kafka.server:type=MetadataLoader`` and ``broker-metadata-metrics``."""
    rows: tuple[tuple[str, str, str, Callable[[], float]], ...] = (
        (_LOADER, "CurrentMetadataVersion", "The feature level of metadata.version",
         lambda: int(loader.image.features.metadata_version_or_none or MINIMUM_VERSION)),
        (_LOADER, "CurrentControllerId", "The quorum's leader; -1 if unknown", lambda: loader.leader_id),
        (_LOADER, "HandleLoadSnapshotCount", "Snapshots that were loaded", lambda: loader.snapshots_loaded),
        (_BROKER, "last-applied-record-offset", "The last offset in the metadata that this node has",
         lambda: loader.image.provenance.last_contained_offset),
        (_BROKER, "last-applied-record-timestamp", "When the record of that offset was appended",
         lambda: loader.image.provenance.last_contained_log_time_ms),
        (_BROKER, "last-applied-record-lag-ms", "How long ago that was",
         lambda: now_ms() - loader.image.provenance.last_contained_log_time_ms),
        (_BROKER, "metadata-load-error-count", "Records that could not be loaded", lambda: loader.load_errors),
    )  # fmt: skip
    for type_name, name, text, read in rows:
        registry.gauge(metric_name("kafka.server", type_name, name), text, read)
    registry.live_gauges(
        metric_name("kafka.server", _LOADER, "FinalizedLevel"),
        "The finalized level of a feature",
        lambda: [((("featureName", name),), level) for name, level in loader.image.features.finalized_versions.items()],
    )
