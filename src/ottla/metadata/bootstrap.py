"""The records that a new cluster begins with: feature levels, and what else was given when it was formatted.

Raft reads and writes the file that holds them, ``bootstrap.checkpoint``; these are its contents.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ottla.metadata.features import KRAFT_VERSION, METADATA_VERSION
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion
from ottla.metadata.records import FeatureLevelRecord, MetadataRecord
from ottla.metadata.serde import encode_record, record_version

DEFAULT_SOURCE = "the default bootstrap"


@dataclass(frozen=True, slots=True)
class BootstrapMetadata:
    """``source`` says where the records come from, for people."""

    records: Sequence[MetadataRecord]
    metadata_version: MetadataVersion
    source: str

    @classmethod
    def from_versions(
        cls, metadata_version: MetadataVersion, features: Mapping[str, int], source: str
    ) -> "BootstrapMetadata":
        """metadata.version first, then the features above 0 by name; kraft.version is a control record instead."""
        records = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=int(metadata_version))]
        records += [
            FeatureLevelRecord(name=name, feature_level=level)
            for name, level in sorted(features.items())
            if level > 0 and name not in (METADATA_VERSION, KRAFT_VERSION)
        ]
        return cls(records, metadata_version, source)

    @classmethod
    def from_records(cls, records: Iterable[MetadataRecord], source: str) -> "BootstrapMetadata":
        """What a file held; raises ValueError without a metadata.version, or with an unknown one."""
        held = tuple(records)
        levels = [
            record.feature_level
            for record in held
            if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
        ]
        if not levels:
            raise ValueError(
                f"No FeatureLevelRecord for {METADATA_VERSION} was found in the bootstrap metadata from {source}"
            )
        return cls(held, MetadataVersion.from_feature_level(levels[-1]), source)

    @classmethod
    def default(cls) -> "BootstrapMetadata":
        """For a directory without the file: the latest metadata.version and no other feature, as in Apache."""
        return cls.from_versions(LATEST_PRODUCTION, {}, DEFAULT_SOURCE)

    def feature_level(self, name: str) -> int:
        """The level that the records give a feature; 0 without one."""
        levels = [
            record.feature_level
            for record in self.records
            if isinstance(record, FeatureLevelRecord) and record.name == name
        ]
        return levels[-1] if levels else 0

    def with_feature(self, name: str, level: int) -> "BootstrapMetadata":
        """The same with another level of one feature."""
        changed = FeatureLevelRecord(name=name, feature_level=level)
        records = list(self.records)
        for index, record in enumerate(records):
            if isinstance(record, FeatureLevelRecord) and record.name == name:
                records[index] = changed
                break
        else:
            records.append(changed)
        return BootstrapMetadata.from_records(records, self.source)

    def describe(self) -> str:
        """The feature levels, for people."""
        levels = [record for record in self.records if isinstance(record, FeatureLevelRecord)]
        return ", ".join(f"{record.name}={record.feature_level}" for record in levels)

    def values(self) -> list[bytes]:
        """The records as the file holds them."""
        return [encode_record(record, record_version(record, self.metadata_version)) for record in self.records]
