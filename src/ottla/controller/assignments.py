"""From replicas to partitions: the first state of a new partition, and the checks of what users assign by hand."""

from collections.abc import Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.cluster import default_dir, is_active
from ottla.metadata.image import ClusterImage
from ottla.metadata.partition_registration import PartitionRegistration


def placed_partitions(
    cluster: ClusterImage, placements: Sequence[Sequence[int]], replication_factor: int
) -> list[PartitionRegistration]:
    """New partitions on brokers that the placer chose; INVALID_REPLICATION_FACTOR where none of them is active."""
    partitions = []
    for replicas in placements:
        isr = _in_sync(cluster, replicas)
        if not isr:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {replication_factor} time(s): All brokers are currently fenced or "
                "in controlled shutdown.",
            )
        partitions.append(_new_partition(cluster, replicas, isr))
    return partitions


def assigned_partition(
    cluster: ClusterImage, partition_id: int, replicas: Sequence[int], replication_factor: int | None
) -> PartitionRegistration:
    """A new partition on brokers that a user chose; INVALID_REPLICA_ASSIGNMENT where that cannot be.

    ``replication_factor`` is what the topic's other partitions have, if there are any.
    """
    _validate_assignment(cluster, replicas, replication_factor)
    isr = _in_sync(cluster, replicas)
    if not isr:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {partition_id} are fenced or in "
            "controlled shutdown.",
        )
    return _new_partition(cluster, replicas, isr)


def _in_sync(cluster: ClusterImage, replicas: Sequence[int]) -> list[int]:
    return [broker_id for broker_id in replicas if is_active(cluster, broker_id)]


def _new_partition(cluster: ClusterImage, replicas: Sequence[int], isr: Sequence[int]) -> PartitionRegistration:
    return PartitionRegistration(
        replicas=tuple(replicas),
        directories=tuple(default_dir(cluster, broker_id) for broker_id in replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
    )


def _validate_assignment(cluster: ClusterImage, replicas: Sequence[int], replication_factor: int | None) -> None:
    reason = ""
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in cluster.brokers:
            reason = f"broker {broker_id}, but no such broker is registered."
        elif broker_id == previous:
            reason = f"the broker {broker_id} more than once."
        if reason:
            break
        previous = broker_id
    if not replicas:
        reason = "an empty replica list."
    elif not reason and replication_factor is not None and len(replicas) != replication_factor:
        reason = (
            f"a partition with {len(replicas)} replica(s), but this is not consistent with previous partitions, which "
            f"have {replication_factor} replica(s)."
        )
    if reason:
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {reason}")
