"""Brokers: their registration, their heartbeats, and what their coming and going changes."""

import logging
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.cluster import check_broker_epoch
from ottla.controller.directories import cordoned_records, offline_records
from ottla.controller.features import DISABLED, finalized_features
from ottla.controller.heartbeats import BrokerControlState
from ottla.controller.partitions import (
    leader_and_isr_updates,
    with_broker_in_elr,
    with_broker_in_isr,
    without_leader,
)
from ottla.controller.result import ControllerResult, check_record_count
from ottla.controller.settings import ControllerSettings
from ottla.metadata.directory_id import is_reserved
from ottla.metadata.features import KRAFT_VERSION, METADATA_VERSION
from ottla.metadata.image import BrokerRegistration, MetadataImage
from ottla.metadata.records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

logger = logging.getLogger(__name__)

FENCE: Final = 1
UNFENCE: Final = -1
_NO_EPOCH: Final = -2
"""No broker ever had this epoch, not even one that does not know its own (-1)."""


def register_broker(
    image: MetadataImage,
    settings: ControllerSettings,
    request: BrokerRegistrationRequest,
    *,
    new_broker_epoch: int,
    kraft_version: int,
    has_valid_session: bool,
    detects_clean_shutdown: bool,
) -> ControllerResult[BrokerRegistrationResponse]:
    """A broker's new incarnation, or an amendment to the one that is registered, which keeps its epoch.

    ``has_valid_session`` says that the broker that is registered under this id lives.
    """
    if request.cluster_id != settings.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {settings.cluster_id}, but got cluster ID {request.cluster_id}",
        )
    existing = image.cluster.brokers.get(request.broker_id)
    same_incarnation = existing is not None and existing.incarnation_id == request.incarnation_id
    if existing is not None and has_valid_session and not same_incarnation:
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            "Another broker is registered with that broker id. If the broker was recently restarted this should "
            "self-resolve once the heartbeat manager expires the broker's session.",
        )
    if request.is_migrating_zk_broker:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
    has_directories = image.features.metadata_version.is_directory_assignment_supported
    if has_directories:
        _check_log_dirs(image, request)
    _check_features(image, request, kraft_version)
    record = _registration(request, with_log_dirs=has_directories)
    records: list[MetadataRecord] = []
    if existing is not None and same_incarnation:
        logger.info(
            "Amending registration of broker %d, incarnation ID %s. Broker epoch remains %d.",
            *(request.broker_id, request.incarnation_id, existing.epoch),
        )
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
        record.broker_epoch = existing.epoch
    else:
        previous_epoch = _NO_EPOCH if existing is None else existing.epoch
        is_clean = detects_clean_shutdown and previous_epoch == request.previous_broker_epoch
        records += broker_shutdown_records(image, settings, request.broker_id, is_clean=is_clean)
        record.broker_epoch = new_broker_epoch
        logger.info(
            "Registering a new incarnation of broker %d. Previous incarnation ID was %s; new incarnation ID is %s. "
            "Generated %d record(s) to clean up previous incarnations. Broker epoch will become %d.",
            *(request.broker_id, existing and existing.incarnation_id, request.incarnation_id),
            *(len(records), new_broker_epoch),
        )
    # Last, so that the broker tries again if the records before it are all that survives of this controller.
    records.append(record)
    return ControllerResult(records, BrokerRegistrationResponse(broker_epoch=record.broker_epoch), is_atomic=False)


def _registration(request: BrokerRegistrationRequest, *, with_log_dirs: bool) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        rack=request.rack,
        end_points=[
            BrokerEndpoint(
                name=listener.name,
                host=listener.host,
                port=listener.port,
                security_protocol=listener.security_protocol,
            )
            for listener in request.listeners
        ],
        features=[
            BrokerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
        log_dirs=request.log_dirs if with_log_dirs else (),
    )


def _check_log_dirs(image: MetadataImage, request: BrokerRegistrationRequest) -> None:
    directories = request.log_dirs
    reason = ""
    if not directories:
        reason = "No directories specified in request"
    elif any(is_reserved(directory) for directory in directories):
        reason = "Reserved directory ID in request"
    elif len(set(directories)) != len(directories):
        reason = "Duplicate directory ID in request"
    else:
        for broker in image.cluster.brokers.values():
            taken = set(directories).intersection(broker.directories)
            if taken and broker.id != request.broker_id:
                reason = f"Broker {broker.id} is already registered with directory {min(taken)}"
    if reason:
        raise ApiError(ErrorCode.INVALID_REGISTRATION, reason)


def _check_features(image: MetadataImage, request: BrokerRegistrationRequest, kraft_version: int) -> None:
    """The broker must support every level that the cluster has finalized; features it leaves out it lacks."""
    finalized = finalized_features(image) | {KRAFT_VERSION: kraft_version}
    supported = {
        feature.name: VersionRange(feature.min_supported_version, feature.max_supported_version)
        for feature in request.features
    }
    if METADATA_VERSION not in supported:
        raise ApiError(ErrorCode.INVALID_REGISTRATION, f"Request features do not contain '{METADATA_VERSION}'")
    for name in dict.fromkeys((*supported, *finalized)):
        level = finalized.get(name, 0)
        versions = supported.get(name, DISABLED)
        if level not in versions:
            raise ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level:d} of {name}. The "
                f"broker wants a version between {versions.lowest} and {versions.highest}, inclusive.",
            )


def process_broker_heartbeat(
    image: MetadataImage,
    settings: ControllerSettings,
    request: BrokerHeartbeatRequest,
    *,
    registration_offset: int,
    current: BrokerControlState,
    following: BrokerControlState,
) -> ControllerResult[BrokerHeartbeatResponse]:
    """What changes when a broker goes from its ``current`` state to the ``following`` one, or loses directories."""
    broker = check_broker_epoch(image.cluster, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    if current is not following:
        if following.fenced:
            records += broker_fenced_records(image, settings, broker)
        elif following is BrokerControlState.UNFENCED:
            records += _broker_unfenced_records(image, settings, broker)
        else:
            records += _controlled_shutdown_records(image, settings, broker)
    version = image.features.metadata_version
    if version.is_directory_assignment_supported:
        records += offline_records(image, settings, broker, request.offline_log_dirs)
    if version.is_cordoned_log_dirs_supported:
        records += cordoned_records(broker, request.cordoned_log_dirs)
    response = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= registration_offset,
        is_fenced=following.fenced,
        should_shut_down=following is BrokerControlState.SHUTDOWN_NOW,
    )
    return ControllerResult(records, response, is_atomic=False)


def broker_fenced_records(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerRegistration
) -> list[MetadataRecord]:
    """Others take over what the broker leads; it leaves every ISR."""
    partitions = with_broker_in_isr(image, broker.id)
    return [
        *leader_and_isr_updates("handleBrokerFenced", image, settings, partitions, remove=broker.id),
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE),
    ]


def _broker_unfenced_records(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerRegistration
) -> list[MetadataRecord]:
    """The broker leads what nobody else can."""
    return [
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=UNFENCE),
        *leader_and_isr_updates("handleBrokerUnfenced", image, settings, without_leader(image), add=broker.id),
    ]


def _controlled_shutdown_records(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerRegistration
) -> list[MetadataRecord]:
    """The broker begins to shut down, once, and others take over what it leads."""
    records: list[MetadataRecord] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1)
        )
    context = f"enterControlledShutdown[{broker.id}]"
    partitions = with_broker_in_isr(image, broker.id)
    return records + leader_and_isr_updates(context, image, settings, partitions, remove=broker.id)


def broker_shutdown_records(
    image: MetadataImage, settings: ControllerSettings, broker_id: int, *, is_clean: bool
) -> list[MetadataRecord]:
    """What is left of a broker's last incarnation; one that did not shut down cleanly may have lost records."""
    in_isr = with_broker_in_isr(image, broker_id)
    if is_clean or not image.features.is_elr_enabled:
        return leader_and_isr_updates("handleBrokerShutdown", image, settings, in_isr, remove=broker_id)
    context = "handleBrokerUncleanShutdown"
    return [
        *leader_and_isr_updates(context, image, settings, in_isr, unclean_shutdown=broker_id),
        *leader_and_isr_updates(
            context, image, settings, with_broker_in_elr(image, broker_id), unclean_shutdown=broker_id
        ),
    ]


def unregister_broker(image: MetadataImage, settings: ControllerSettings, broker_id: int) -> ControllerResult[None]:
    """A broker leaves for good."""
    broker = image.cluster.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
    context = "handleBrokerUnregistered"
    records: list[MetadataRecord] = [
        *leader_and_isr_updates(context, image, settings, with_broker_in_isr(image, broker_id), remove=broker_id),
        *leader_and_isr_updates(context, image, settings, with_broker_in_elr(image, broker_id), remove=broker_id),
        UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch),
    ]
    check_record_count(records)
    return ControllerResult(records, None, is_atomic=False)
