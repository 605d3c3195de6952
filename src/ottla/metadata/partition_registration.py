"""A partition as the metadata log describes it."""

from enum import IntEnum
from typing import Final, NamedTuple

from ottla.common.uuid import Uuid
from ottla.metadata.directory_id import MIGRATING
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records.topics import PartitionChangeRecord, PartitionRecord

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2
NO_RECOVERY_STATE_CHANGE: Final = -1


class LeaderRecoveryState(IntEnum):
    """Whether the leader was elected uncleanly and has yet to recover."""

    RECOVERED = 0
    RECOVERING = 1


class PartitionRegistration(NamedTuple):
    """The replicas of a partition and who leads them; ``directories`` runs parallel to ``replicas``.

    Each change raises ``partition_epoch``; a change that names a leader, even the same one, raises ``leader_epoch``.
    """

    replicas: tuple[int, ...]
    directories: tuple[Uuid, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int = NO_LEADER
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    @classmethod
    def from_record(cls, record: PartitionRecord) -> "PartitionRegistration":
        """What a PartitionRecord says; raises ValueError when directories and replicas do not match."""
        replicas = tuple(record.replicas)
        return cls(
            replicas,
            _directories(tuple(record.directories), len(replicas)),
            tuple(record.isr),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            LeaderRecoveryState(record.leader_recovery_state),
        )

    def merge(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        """The partition after ``record``; what the record leaves out stays."""
        replicas = self.replicas if record.replicas is None else tuple(record.replicas)
        directories = self.directories if record.directories is None else tuple(record.directories)
        elected = record.leader != NO_LEADER_CHANGE
        recovery_state = record.leader_recovery_state
        return PartitionRegistration(
            replicas,
            _directories(directories, len(replicas)),
            self.isr if record.isr is None else tuple(record.isr),
            self.removing_replicas if record.removing_replicas is None else tuple(record.removing_replicas),
            self.adding_replicas if record.adding_replicas is None else tuple(record.adding_replicas),
            self.elr if record.eligible_leader_replicas is None else tuple(record.eligible_leader_replicas),
            self.last_known_elr if record.last_known_elr is None else tuple(record.last_known_elr),
            record.leader if elected else self.leader,
            self.leader_epoch + 1 if elected else self.leader_epoch,
            self.partition_epoch + 1,
            self.leader_recovery_state
            if recovery_state == NO_RECOVERY_STATE_CHANGE
            else LeaderRecoveryState(recovery_state),
        )

    def to_record(self, topic_id: Uuid, partition_id: int, options: ImageWriterOptions) -> PartitionRecord:
        """The record that recreates this partition at the metadata.version of ``options``."""
        directories = self.directories
        if not options.metadata_version.is_directory_assignment_supported:
            if any(directory != MIGRATING for directory in directories):
                options.handle_loss("the directory assignment state of one or more replicas")
            directories = ()
        elr, last_known_elr = (self.elr, self.last_known_elr) if options.elr_enabled else ((), ())
        return PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=directories,
            # Tagged fields: null costs nothing, an empty array three bytes.
            eligible_leader_replicas=elr or None,
            last_known_elr=last_known_elr or None,
        )

    def has_leader(self) -> bool:
        """Whether anyone leads the partition."""
        return self.leader != NO_LEADER

    def preferred_replica(self) -> int:
        """The first of the replicas, who leads when all is well."""
        return self.replicas[0] if self.replicas else NO_LEADER

    def has_preferred_leader(self) -> bool:
        """Whether the preferred replica leads."""
        return self.leader == self.preferred_replica()

    def directory(self, replica: int) -> Uuid:
        """Where ``replica`` keeps the partition; raises ValueError for a broker that is no replica."""
        try:
            return self.directories[self.replicas.index(replica)]
        except ValueError:
            raise ValueError(f"Replica {replica} is not assigned to this partition.") from None

    def diff(self, previous: "PartitionRegistration") -> str:
        """What changed since ``previous``, for the log."""
        return ", ".join(
            f"{name}: {_shown(before)} -> {_shown(after)}"
            for name, before, after in zip(self._fields, previous, self, strict=True)
            if before != after
        )


def _directories(directories: tuple[Uuid, ...], replica_count: int) -> tuple[Uuid, ...]:
    """Directories that are not known, or all MIGRATING, stand for MIGRATING at every replica."""
    if all(directory == MIGRATING for directory in directories):
        return (MIGRATING,) * replica_count
    if len(directories) != replica_count:
        raise ValueError("The lengths for replicas and directories do not match.")
    return directories


def _shown(value: object) -> str:
    """Ids in their text form, states by their names."""
    if isinstance(value, tuple):
        return f"[{', '.join(str(item) for item in value)}]"
    return value.name if isinstance(value, LeaderRecoveryState) else str(value)
