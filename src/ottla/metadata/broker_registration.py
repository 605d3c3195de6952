"""A broker's incarnation as the metadata log describes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ottla.common.uuid import Uuid
from ottla.metadata.advertised import end_points_of, features_of, levels_by_feature, listeners_by_name
from ottla.metadata.directory_id import is_online
from ottla.metadata.endpoint import Endpoint
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records.cluster import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from ottla.protocol.message import VersionRange

_FENCING_CHANGE = {1: True, 0: None, -1: False}
_IN_CONTROLLED_SHUTDOWN_CHANGE = {0: None, 1: True}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A registered broker.

    A broker registers fenced; it is unfenced when it has caught up, and fenced again when its heartbeats stop. Only a
    new incarnation leaves controlled shutdown. ``cordoned_directories`` is None until its heartbeats tell them.
    """

    id: int
    epoch: int
    incarnation_id: Uuid
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, VersionRange]
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned_directories: tuple[Uuid, ...] | None = None

    @classmethod
    def from_record(cls, record: RegisterBrokerRecord) -> "BrokerRegistration":
        """What a RegisterBrokerRecord says."""
        cordoned = record.cordoned_log_dirs
        return cls(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners=listeners_by_name(record.end_points),
            supported_features=levels_by_feature(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            directories=sorted_directories(record.log_dirs),
            cordoned_directories=None if cordoned is None else tuple(cordoned),
        )

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        """The registration after ``record``; raises ValueError for values that Kafka does not define."""
        if record.fenced not in _FENCING_CHANGE:
            raise ValueError(f"Unable to replay {record}: unknown value for fenced field: {record.fenced}")
        if record.in_controlled_shutdown not in _IN_CONTROLLED_SHUTDOWN_CHANGE:
            raise ValueError(
                f"Unable to replay {record}: unknown value for inControlledShutdown field: "
                f"{record.in_controlled_shutdown}"
            )
        fenced = _FENCING_CHANGE[record.fenced]
        in_controlled_shutdown = _IN_CONTROLLED_SHUTDOWN_CHANGE[record.in_controlled_shutdown]
        cordoned = record.cordoned_log_dirs
        return replace(
            self,
            fenced=self.fenced if fenced is None else fenced,
            in_controlled_shutdown=self.in_controlled_shutdown or in_controlled_shutdown is True,
            directories=sorted_directories(record.log_dirs) if record.log_dirs else self.directories,
            cordoned_directories=self.cordoned_directories if cordoned is None else tuple(cordoned),
        )

    def to_record(self, options: ImageWriterOptions) -> RegisterBrokerRecord:
        """The record that recreates this registration at the metadata.version of ``options``."""
        version = options.metadata_version
        directories, cordoned = self.directories, self.cordoned_directories
        if self.is_migrating_zk_broker and not version.is_migration_supported:
            options.handle_loss("the isMigratingZkBroker state of one or more brokers")
        if directories and not version.is_directory_assignment_supported:
            options.handle_loss("the online log directories of one or more brokers")
            directories = ()
        if cordoned is not None and not version.is_cordoned_log_dirs_supported:
            options.handle_loss("the cordoned log directories of one or more brokers")
            cordoned = None
        return RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.is_migrating_zk_broker and version.is_migration_supported,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=end_points_of(BrokerEndpoint, self.listeners),
            features=features_of(BrokerFeature, self.supported_features),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=directories,
            cordoned_log_dirs=cordoned,
        )

    def has_online_dir(self, directory: Uuid) -> bool:
        """Whether a replica in ``directory`` can be read."""
        return is_online(directory, self.directories)

    def has_uncordoned_dirs(self) -> bool:
        """Whether new replicas may be placed on this broker."""
        if not self.directories or self.cordoned_directories is None:
            return True
        return any(directory not in self.cordoned_directories for directory in self.directories)


def sorted_directories(directories: Iterable[Uuid]) -> tuple[Uuid, ...]:
    """In Java's order, which takes each half of an id for a signed number."""
    return tuple(
        sorted(
            directories,
            key=lambda directory: (
                int.from_bytes(directory.bytes[:8], "big", signed=True),
                int.from_bytes(directory.bytes[8:], "big", signed=True),
            ),
        )
    )
