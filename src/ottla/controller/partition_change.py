"""How a partition changes when its in-sync replicas, its leader or its directories do.

:func:`partition_change` decides about the leader and the eligible leader replicas (KIP-966) and returns the
smallest record that says so, or nothing where nothing changes.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ottla.common.uuid import Uuid
from ottla.metadata.metadata_version import MetadataVersion
from ottla.metadata.partition_registration import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    NO_RECOVERY_STATE_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from ottla.metadata.records import PartitionChangeRecord


class Election(Enum):
    """What an election may do.

    PREFERRED moves leadership to the first replica if that is in sync; ONLINE keeps a leader that is in sync and
    looks for another otherwise; UNCLEAN takes any live replica where none is in sync, and may lose records.
    """

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


class PartitionPolicy(NamedTuple):
    """The rules that a topic and its cluster set for all its partitions.

    ``is_acceptable_leader`` says which brokers live and have a partition's directory online; ``default_dir`` gives
    the directory of a replica that has none yet.
    """

    is_acceptable_leader: Callable[[PartitionRegistration, int], bool]
    default_dir: Callable[[int], Uuid]
    metadata_version: MetadataVersion
    min_isr: int
    elr_enabled: bool
    election: Election = Election.ONLINE


class _Elected(NamedTuple):
    leader: int
    unclean: bool


def partition_change(
    partition: PartitionRegistration,
    topic_id: Uuid,
    partition_id: int,
    policy: PartitionPolicy,
    *,
    isr: Sequence[int] | None = None,
    unclean_shutdown: Sequence[int] = (),
    directories: Mapping[int, Uuid] | None = None,
    leader_recovery_state: int | None = None,
) -> PartitionChangeRecord | None:
    """The record for a new ``isr``, for brokers that lost what they had, for moved replicas or a recovered leader."""
    record = PartitionChangeRecord(topic_id=topic_id, partition_id=partition_id)
    old_isr, old_elr = list(partition.isr), list(partition.elr)
    target_isr = old_isr if isr is None else list(isr)
    target_elr = _target_elr(partition, policy, target_isr, unclean_shutdown)

    elected = _elect(partition, policy, target_isr, target_elr)
    if elected.leader != partition.leader:
        if elected.leader in target_elr:
            target_isr = [elected.leader]
            target_elr = [replica for replica in target_elr if replica != elected.leader]
        record.leader = elected.leader
        if elected.unclean:
            # Whoever was in sync has nothing that the new leader need agree with.
            record.isr = [elected.leader]
            if partition.leader_recovery_state is not LeaderRecoveryState.RECOVERING:
                record.leader_recovery_state = LeaderRecoveryState.RECOVERING

    if record.isr is not None or not policy.elr_enabled:
        target_elr = []
    if target_elr != old_elr:
        record.eligible_leader_replicas = target_elr
    # Only eligible leader replicas make an empty ISR safe: without them its last member stays.
    if record.isr is None and (target_isr or policy.elr_enabled) and target_isr != old_isr:
        record.isr = target_isr
    if policy.metadata_version.is_leader_epoch_bump_required_on_isr_shrink:
        _bump_leader_epoch_for_isr_shrink(partition, record)
    if policy.elr_enabled:
        _remember_last_leader(partition, record)
    if policy.metadata_version.is_directory_assignment_supported:
        _move(partition, policy, record, directories or {})
    if leader_recovery_state is not None and leader_recovery_state != partition.leader_recovery_state:
        record.leader_recovery_state = leader_recovery_state
    return record if _changes_anything(record) else None


def _changes_anything(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.isr is not None
        or record.eligible_leader_replicas is not None
        or record.last_known_elr is not None
        or record.directories is not None
        or record.leader_recovery_state != NO_RECOVERY_STATE_CHANGE
    )


def _target_elr(
    partition: PartitionRegistration, policy: PartitionPolicy, isr: list[int], unclean_shutdown: Sequence[int]
) -> list[int]:
    """Who, beside the ISR, has every committed record: below min.insync.replicas nothing gets committed any more."""
    if not policy.elr_enabled:
        return list(partition.elr)
    if len(isr) >= policy.min_isr:
        return []
    candidates = sorted({*partition.elr, *partition.isr})
    return [replica for replica in candidates if replica not in isr and replica not in unclean_shutdown]


def _elect(partition: PartitionRegistration, policy: PartitionPolicy, isr: list[int], elr: list[int]) -> _Elected:
    def is_valid(replica: int) -> bool:
        in_sync = replica in isr or (not isr and replica in elr)
        return in_sync and policy.is_acceptable_leader(partition, replica)

    candidates = [partition.leader, *partition.replicas]
    if policy.election is Election.PREFERRED:
        candidates.insert(0, partition.replicas[0])
    for replica in candidates:
        if is_valid(replica):
            return _Elected(replica, unclean=False)

    if policy.elr_enabled and not elr and not isr and len(partition.last_known_elr) == 1:
        last_known_leader = partition.last_known_elr[0]
        if policy.is_acceptable_leader(partition, last_known_leader):
            return _Elected(last_known_leader, unclean=True)
    if policy.election is Election.UNCLEAN:
        for replica in partition.replicas:
            if policy.is_acceptable_leader(partition, replica):
                return _Elected(replica, unclean=True)
    return _Elected(NO_LEADER, unclean=False)


def _bump_leader_epoch_for_isr_shrink(partition: PartitionRegistration, record: PartitionChangeRecord) -> None:
    """Brokers before 3.6 notice a smaller ISR by a new leader epoch only; naming the leader makes one."""
    if record.leader == NO_LEADER_CHANGE and record.isr is not None and not set(partition.isr) <= set(record.isr):
        record.leader = partition.leader


def _remember_last_leader(partition: PartitionRegistration, record: PartitionChangeRecord) -> None:
    """A partition that loses its leader names it, so that it can come back; the next leader clears the name."""
    if record.leader == NO_LEADER and not partition.last_known_elr:
        record.last_known_elr = [partition.leader]
    elif record.leader >= 0 and partition.last_known_elr:
        record.last_known_elr = []


def _move(
    partition: PartitionRegistration,
    policy: PartitionPolicy,
    record: PartitionChangeRecord,
    moved: Mapping[int, Uuid],
) -> None:
    old = partition.directories
    if not moved and len(old) == len(partition.replicas):
        return
    known = dict(zip(partition.replicas, old, strict=False))
    new = [
        moved[replica] if replica in moved else known.get(replica) or policy.default_dir(replica)
        for replica in partition.replicas
    ]
    if new != list(old):
        record.directories = new
