"""A controller's incarnation as the metadata log describes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.common.uuid import Uuid
from ottla.metadata.advertised import end_points_of, features_of, levels_by_feature, listeners_by_name
from ottla.metadata.endpoint import Endpoint
from ottla.metadata.records.cluster import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from ottla.protocol.message import VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """A registered controller."""

    id: int
    incarnation_id: Uuid
    zk_migration_ready: bool = False
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, VersionRange]

    @classmethod
    def from_record(cls, record: RegisterControllerRecord) -> "ControllerRegistration":
        """What a RegisterControllerRecord says."""
        return cls(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            listeners=listeners_by_name(record.end_points),
            supported_features=levels_by_feature(record.features),
        )

    def to_record(self) -> RegisterControllerRecord:
        """The record that recreates this registration."""
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=end_points_of(ControllerEndpoint, self.listeners),
            features=features_of(ControllerFeature, self.supported_features),
        )
