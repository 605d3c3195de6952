"""Feature levels: what the cluster has finalized, and whether a change of it is allowed."""

import logging
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.controller.effective_configs import BROKER, CLUSTER_DEFAULT, static_min_insync_replicas
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    check_dependencies,
    supported_features,
)
from ottla.metadata.image import MetadataImage
from ottla.metadata.metadata_version import (
    LATEST_PRODUCTION,
    MINIMUM_VERSION,
    MetadataVersion,
    metadata_changed_between,
)
from ottla.metadata.records import ConfigRecord, FeatureLevelRecord, MetadataRecord, NoOpRecord
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

logger = logging.getLogger(__name__)

DISABLED: Final = VersionRange(0, 0)


class UpgradeType(IntEnum):
    """What the user says about a change: a downgrade must be asked for."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def finalized_features(image: MetadataImage) -> dict[str, int]:
    """Every finalized level, metadata.version included."""
    return {**image.features.finalized_versions, METADATA_VERSION: int(image.features.metadata_version)}


def update_features(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: UpdateFeaturesRequest,
    kraft_version: int,
) -> ControllerResult[UpdateFeaturesResponse]:
    """UpdateFeatures: all changes or, with the first error, none."""
    updates = {update.feature: update for update in request.feature_updates}
    proposed = finalized_features(image) | {name: update.max_version_level for name, update in updates.items()}
    records: list[MetadataRecord] = []
    try:
        for update in updates.values():
            records += _update_feature(image, settings, update, proposed, kraft_version)
    except KafkaError as failure:
        logger.warning("%s", failure)
        message = f"The update failed for all features since the following feature had an error: {failure}"
        return ControllerResult((), UpdateFeaturesResponse(error_code=failure.code, error_message=message))
    elr = updates.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
    if elr is not None and elr.max_version_level > 0:
        records[:0] = _elr_safety_records(image, settings)
    # Version 2 has one error for all; before, each feature had its own.
    results = [UpdatableFeatureResult(feature=name) for name in updates] if context.api_version <= 1 else []
    response = UpdateFeaturesResponse(error_code=ErrorCode.NONE, error_message=None, results=results)
    return ControllerResult(() if request.validate_only else records, response)


def _update_feature(
    image: MetadataImage,
    settings: ControllerSettings,
    update: FeatureUpdateKey,
    proposed: Mapping[str, int],
    kraft_version: int,
) -> list[MetadataRecord]:
    name, level = update.feature, update.max_version_level
    if update.upgrade_type not in set(UpgradeType):
        raise _invalid(name, level, "The controller does not support the given upgrade type.")
    current = kraft_version if name == KRAFT_VERSION else finalized_features(image).get(name, 0)
    if level < 0:
        raise _invalid(name, level, "A feature version cannot be less than 0.")
    for reason in _reasons_not_supported(image, settings, name, level):
        raise _invalid(name, level, reason)
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if level < current and is_upgrade:
        reason = (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
        raise _invalid(name, level, reason)
    if level > current and not is_upgrade:
        raise _invalid(name, level, "Can't downgrade to a newer version.")
    if name == METADATA_VERSION:
        return [_metadata_version_record(current, level, update.upgrade_type)]
    if name == KRAFT_VERSION:
        if level < current:
            raise _invalid(name, level, "Can't downgrade the version of this feature.")
        if level > current:
            raise _invalid(name, level, "Upgrading the version of this feature is not supported yet.")
        # So that there is an offset whose commit answers the request.
        return [NoOpRecord()] if is_upgrade else []
    try:
        check_dependencies(name, level, proposed)
    except ValueError as refusal:
        raise _invalid(name, level, str(refusal)) from None
    return [FeatureLevelRecord(name=name, feature_level=level)]


def _metadata_version_record(current: int, level: int, upgrade_type: int) -> MetadataRecord:
    try:
        target = MetadataVersion.from_feature_level(level)
    except ValueError:
        reason = f"Valid versions are from {MINIMUM_VERSION:d} to {LATEST_PRODUCTION:d}."
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid metadata.version {level}. {reason}") from None
    if level < current and metadata_changed_between(target, MetadataVersion(current)):
        reason = (
            "Unsafe metadata downgrade is not supported in this version."
            if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
            else "Refusing to perform the requested downgrade because it might delete metadata information."
        )
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Unsupported metadata.version downgrade from {current} to {level}. {reason}",
        )
    logger.warning(
        "%s metadata.version from %d to %d.", "Downgrading" if level < current else "Upgrading", current, level
    )
    return FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)


def _reasons_not_supported(image: MetadataImage, settings: ControllerSettings, name: str, level: int) -> Iterator[str]:
    """Why some node of the cluster cannot run at this level."""
    local = supported_features(image.features.finalized_versions)
    ranges = [(f"Local controller {settings.node_id}", local.get(name, DISABLED))]
    for broker_id, broker in image.cluster.brokers.items():
        ranges.append((f"Broker {broker_id}", broker.supported_features.get(name, DISABLED)))
    for controller_id, controller in image.cluster.controllers.items():
        if controller_id != settings.node_id:
            ranges.append((f"Controller {controller_id}", controller.supported_features.get(name, DISABLED)))
    for who, supported in ranges:
        if level not in supported:
            if supported.highest == 0:
                yield f"{who} does not support this feature."
            else:
                yield f"{who} only supports versions {supported.lowest}-{supported.highest}"
    for node_id in settings.quorum_node_ids:
        if node_id != settings.node_id and node_id not in image.cluster.controllers:
            yield f"controller {node_id} has not registered, and may not support this feature"


def _elr_safety_records(image: MetadataImage, settings: ControllerSettings) -> list[MetadataRecord]:
    """Eligible leader replicas need one min.insync.replicas for all brokers: set it, and drop the brokers' own."""
    name = "min.insync.replicas"
    records: list[MetadataRecord] = []
    if name not in image.configs.properties(BROKER, CLUSTER_DEFAULT):
        value = str(static_min_insync_replicas(settings))
        records.append(ConfigRecord(resource_type=BROKER, resource_name=CLUSTER_DEFAULT, name=name, value=value))
        logger.info("Generating cluster-level %s of %s.", name, value)
    for resource, properties in image.configs.resources.items():
        if resource.type == BROKER and resource.name != CLUSTER_DEFAULT and name in properties:
            records.append(ConfigRecord(resource_type=BROKER, resource_name=resource.name, name=name, value=None))
            logger.info("Removing broker-level %s for broker %s.", name, resource.name)
    return records


def _invalid(name: str, level: int, reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {reason}")
