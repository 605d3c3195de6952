"""Questions about the cluster that several operations ask of the image."""

from collections.abc import Iterator

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.controller.placement import UsableBroker
from ottla.metadata.broker_registration import BrokerRegistration
from ottla.metadata.directory_id import MIGRATING, UNASSIGNED
from ottla.metadata.image import ClusterImage


def is_active(cluster: ClusterImage, broker_id: int) -> bool:
    """Whether a broker may lead and be in sync: registered, not fenced and not about to shut down."""
    broker = cluster.brokers.get(broker_id)
    return broker is not None and not broker.fenced and not broker.in_controlled_shutdown


def default_dir(cluster: ClusterImage, broker_id: int) -> Uuid:
    """The directory that a new replica on this broker is known to get, if there is no choice."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return UNASSIGNED
    if not broker.directories:
        return MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED


def usable_brokers(cluster: ClusterImage) -> Iterator[UsableBroker]:
    """The brokers that new replicas may be placed on, in the order of their ids."""
    for broker_id in sorted(cluster.brokers):
        broker = cluster.brokers[broker_id]
        if not broker.in_controlled_shutdown and broker.has_uncordoned_dirs():
            yield UsableBroker(broker.id, broker.rack, broker.fenced)


def check_broker_epoch(cluster: ClusterImage, broker_id: int, broker_epoch: int) -> BrokerRegistration:
    """The broker's registration; STALE_BROKER_EPOCH when it has none, or a newer one than it knows of."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.epoch != broker_epoch:
        raise ApiError(
            ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}"
        )
    return broker
