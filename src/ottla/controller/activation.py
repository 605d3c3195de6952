"""The first records of a controller that becomes active: those of a new cluster, or the end of what was unfinished."""

import logging
from collections.abc import Sequence

from ottla.controller.effective_configs import BROKER, CLUSTER_DEFAULT
from ottla.controller.result import ControllerResult
from ottla.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from ottla.metadata.image import MetadataImage
from ottla.metadata.metadata_version import MetadataVersion
from ottla.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
)

logger = logging.getLogger(__name__)

_FAILOVER = "Controller failover"
_BOOTSTRAP = "Bootstrap records"


def activation_records(
    image: MetadataImage,
    bootstrap: Sequence[MetadataRecord],
    *,
    transaction_start_offset: int | None,
    min_insync_replicas: int,
) -> ControllerResult[None]:
    """Bootstrap records for a log without any, inside a transaction; an abort for a transaction left open.

    ``transaction_start_offset`` is where an open transaction begins. With eligible leader replicas the cluster needs
    one min.insync.replicas for all its brokers.
    """
    if image.features.metadata_version_or_none is not None:
        return _for_log_with_records(image.features.metadata_version, transaction_start_offset)
    levels = {record.name: record.feature_level for record in bootstrap if isinstance(record, FeatureLevelRecord)}
    version = MetadataVersion.from_feature_level(levels[METADATA_VERSION])
    in_transaction = version.is_metadata_transaction_supported
    records: list[MetadataRecord] = []
    if transaction_start_offset is not None:
        assert in_transaction, f"a transaction is open, but metadata.version {version} knows none"
        records.append(AbortTransactionRecord(reason=_FAILOVER))
    if in_transaction:
        records.append(BeginTransactionRecord(name=_BOOTSTRAP))
    records += bootstrap
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0:
        records.append(
            ConfigRecord(
                resource_type=BROKER,
                resource_name=CLUSTER_DEFAULT,
                name="min.insync.replicas",
                value=str(min_insync_replicas),
            )
        )
    if in_transaction:
        records.append(EndTransactionRecord())
    logger.info(  # Apache warns, of every start; a program without logging of its own would show it
        "Performing controller activation. The metadata log appears to be empty. Appending %d bootstrap record(s) at "
        "metadata.version %s.",
        *(len(bootstrap), version),
    )
    return ControllerResult(records, None, is_atomic=not in_transaction)


def _for_log_with_records(version: MetadataVersion, transaction_start_offset: int | None) -> ControllerResult[None]:
    if transaction_start_offset is None:
        logger.info("Performing controller activation.")
        return ControllerResult((), None)
    assert version.is_metadata_transaction_supported, f"a transaction is open, but {version} knows none"
    logger.warning(
        "Performing controller activation. Aborting in-progress metadata transaction at offset %d.",
        transaction_start_offset,
    )
    return ControllerResult([AbortTransactionRecord(reason=_FAILOVER)], None)
