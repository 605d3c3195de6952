"""The finalized levels of features."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, METADATA_VERSION
from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.metadata_version import MINIMUM_VERSION, MetadataVersion
from ottla.metadata.records.settings import FeatureLevelRecord


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    """``finalized_versions`` holds the features above 0, without metadata.version, which stands by itself."""

    finalized_versions: Mapping[str, int] = field(default_factory=dict)
    metadata_version_or_none: MetadataVersion | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is finalized."""
        return not self.finalized_versions and self.metadata_version_or_none is None

    @property
    def metadata_version(self) -> MetadataVersion:
        """The metadata.version, which every log has from its bootstrap records on."""
        assert self.metadata_version_or_none is not None, "the metadata log has no metadata.version yet"
        return self.metadata_version_or_none

    @property
    def is_elr_enabled(self) -> bool:
        """Whether partitions keep eligible leader replicas."""
        return self.finalized_versions.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1

    def records(self, options: ImageWriterOptions) -> Iterator[FeatureLevelRecord]:
        """metadata.version comes first: a reader needs it for the rest."""
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=int(options.metadata_version))
        for name, level in self.finalized_versions.items():
            yield FeatureLevelRecord(name=name, feature_level=level)


class FeaturesDelta:
    """Changes to the finalized levels."""

    __slots__ = ("changes", "image", "metadata_version_change")

    def __init__(self, image: FeaturesImage) -> None:
        self.image = image
        self.changes: dict[str, int | None] = {}
        self.metadata_version_change: MetadataVersion | None = None

    def replay(self, record: FeatureLevelRecord) -> None:
        """Level 0 takes a feature away; raises ValueError for a metadata.version that Kafka 4.3 does not know."""
        if record.name == METADATA_VERSION:
            try:
                self.metadata_version_change = MetadataVersion.from_feature_level(record.feature_level)
            except ValueError as error:
                raise ValueError(
                    f"Unsupported metadata version {record.feature_level}: the metadata version must be at least "
                    f"{MINIMUM_VERSION} before the software is upgraded"
                ) from error
        elif record.name != KRAFT_VERSION:  # a control record says it; old controllers wrote it here by mistake
            self.changes[record.name] = record.feature_level or None

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        mark_missing(self.image.finalized_versions, self.changes)

    def apply(self) -> FeaturesImage:
        """The image after the changes."""
        return FeaturesImage(
            applied(self.image.finalized_versions, self.changes),
            self.metadata_version_change or self.image.metadata_version_or_none,
        )
