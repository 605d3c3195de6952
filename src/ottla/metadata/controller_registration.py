"""A controller's incarnation as the metadata log describes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.common.uuid import Uuid
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
            listeners={
                point.name: Endpoint(point.name, point.host, point.port, point.security_protocol)
                for point in record.end_points
            },
            supported_features={
                feature.name: VersionRange(feature.min_supported_version, feature.max_supported_version)
                for feature in record.features
            },
        )

    def to_record(self) -> RegisterControllerRecord:
        """The record that recreates this registration."""
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=[
                ControllerEndpoint(
                    name=name, host=point.host, port=point.port, security_protocol=point.security_protocol
                )
                for name, point in self.listeners.items()
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in self.supported_features.items()
            ],
        )
