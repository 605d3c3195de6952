"""The registered brokers and controllers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ottla.metadata.broker_registration import BrokerRegistration
from ottla.metadata.controller_registration import ControllerRegistration
from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records.cluster import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """Registrations by node id."""

    brokers: Mapping[int, BrokerRegistration] = field(default_factory=dict)
    controllers: Mapping[int, ControllerRegistration] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no broker is registered; controllers do not count, as in Apache."""
        return not self.brokers

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """The registration of a broker, if it has one."""
        return self.brokers.get(broker_id)

    def broker_epoch(self, broker_id: int) -> int:
        """The epoch of a broker's registration; -1 without one."""
        broker = self.brokers.get(broker_id)
        return -1 if broker is None else broker.epoch

    def records(self, options: ImageWriterOptions) -> Iterator[RegisterBrokerRecord | RegisterControllerRecord]:
        """Brokers, then controllers."""
        for broker in self.brokers.values():
            yield broker.to_record(options)
        if self.controllers and not options.metadata_version.is_controller_registration_supported:
            options.handle_loss("controller registration data")
            return
        for controller in self.controllers.values():
            yield controller.to_record()


class ClusterDelta:
    """Changes to the registrations; None stands for a node that left."""

    __slots__ = ("changed_brokers", "changed_controllers", "image")

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.changed_brokers: dict[int, BrokerRegistration | None] = {}
        self.changed_controllers: dict[int, ControllerRegistration | None] = {}

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """A broker's registration after the changes so far."""
        if broker_id in self.changed_brokers:
            return self.changed_brokers[broker_id]
        return self.image.brokers.get(broker_id)

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        """A new incarnation takes the place of the old."""
        self.changed_brokers[record.broker_id] = BrokerRegistration.from_record(record)

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        """The broker is gone."""
        self.changed_brokers[record.broker_id] = None

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        """A new incarnation takes the place of the old."""
        self.changed_controllers[record.controller_id] = ControllerRegistration.from_record(record)

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        """The broker may not lead."""
        broker = self._broker_or_raise(record.id, record.epoch, "fence")
        self.changed_brokers[record.id] = replace(broker, fenced=True)

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        """The broker may lead."""
        broker = self._broker_or_raise(record.id, record.epoch, "unfence")
        self.changed_brokers[record.id] = replace(broker, fenced=False)

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        """A change that changes nothing leaves no trace."""
        before = self._broker_or_raise(record.broker_id, record.broker_epoch, "change")
        after = before.changed(record)
        if after != before:
            self.changed_brokers[record.broker_id] = after

    def _broker_or_raise(self, broker_id: int, epoch: int, action: str) -> BrokerRegistration:
        broker = self.broker(broker_id)
        if broker is None:
            raise ValueError(f"Tried to {action} broker {broker_id}, but that broker was not registered.")
        if broker.epoch != epoch:
            raise ValueError(
                f"Tried to {action} broker {broker_id}, but the given epoch, {epoch}, did not match the current "
                f"broker epoch, {broker.epoch}"
            )
        return broker

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        mark_missing(self.image.brokers, self.changed_brokers)
        mark_missing(self.image.controllers, self.changed_controllers)

    def apply(self) -> ClusterImage:
        """The image after the changes."""
        return ClusterImage(
            applied(self.image.brokers, self.changed_brokers) if self.changed_brokers else self.image.brokers,
            applied(self.image.controllers, self.changed_controllers)
            if self.changed_controllers
            else self.image.controllers,
        )
