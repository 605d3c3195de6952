"""The levels of metadata.version that Kafka 4.3 knows, and what each of them brought."""

from enum import IntEnum
from typing import Final, Self

FEATURE_NAME: Final = "metadata.version"


class MetadataVersion(IntEnum):
    """A level of metadata.version; later levels compare greater."""

    IBP_3_3_IV3 = 7
    IBP_3_4_IV0 = 8
    IBP_3_5_IV0 = 9
    IBP_3_5_IV1 = 10
    IBP_3_5_IV2 = 11
    IBP_3_6_IV0 = 12
    IBP_3_6_IV1 = 13
    IBP_3_6_IV2 = 14
    IBP_3_7_IV0 = 15
    IBP_3_7_IV1 = 16
    IBP_3_7_IV2 = 17
    IBP_3_7_IV3 = 18
    IBP_3_7_IV4 = 19
    IBP_3_8_IV0 = 20
    IBP_3_9_IV0 = 21
    IBP_4_0_IV0 = 22
    IBP_4_0_IV1 = 23
    IBP_4_0_IV2 = 24
    IBP_4_0_IV3 = 25
    IBP_4_1_IV0 = 26
    IBP_4_1_IV1 = 27
    IBP_4_2_IV0 = 28
    IBP_4_2_IV1 = 29
    IBP_4_3_IV0 = 30

    def __str__(self) -> str:
        return self.version

    @property
    def release(self) -> str:
        """The release that the level belongs to: ``4.3``."""
        return self.version.partition("-")[0]

    @property
    def version(self) -> str:
        """The level's name: ``4.3-IV0``."""
        _, major, minor, internal = self.name.split("_")
        return f"{major}.{minor}-{internal}"

    @property
    def did_metadata_change(self) -> bool:
        """Whether the level changed the format of any record."""
        return self in _CHANGED_METADATA

    @property
    def is_scram_supported(self) -> bool:
        """SCRAM credentials are in the log."""
        return self >= MetadataVersion.IBP_3_5_IV2

    @property
    def is_leader_epoch_bump_required_on_isr_shrink(self) -> bool:
        """A smaller ISR alone makes a new leader epoch."""
        return self < MetadataVersion.IBP_3_6_IV0

    @property
    def is_metadata_transaction_supported(self) -> bool:
        """Begin and end of a transaction may be written."""
        return self >= MetadataVersion.IBP_3_6_IV1

    @property
    def is_delegation_token_supported(self) -> bool:
        """Delegation tokens are in the log."""
        return self >= MetadataVersion.IBP_3_6_IV2

    @property
    def is_controller_registration_supported(self) -> bool:
        """Controllers register as brokers do."""
        return self >= MetadataVersion.IBP_3_7_IV0

    @property
    def is_directory_assignment_supported(self) -> bool:
        """Partitions know the directories of their replicas."""
        return self >= MetadataVersion.IBP_3_7_IV2

    @property
    def is_elr_supported(self) -> bool:
        """Partitions know their eligible leader replicas."""
        return self >= MetadataVersion.IBP_4_0_IV1

    @property
    def is_migration_supported(self) -> bool:
        """A registration says whether the broker came from ZooKeeper."""
        return self >= MetadataVersion.IBP_3_4_IV0

    @property
    def is_cordoned_log_dirs_supported(self) -> bool:
        """Registrations know cordoned directories."""
        return self >= MetadataVersion.IBP_4_3_IV0

    @property
    def register_broker_record_version(self) -> int:
        """The version in which RegisterBrokerRecord is written."""
        return self._latest(
            (MetadataVersion.IBP_4_3_IV0, 4),
            (MetadataVersion.IBP_3_7_IV2, 3),
            (MetadataVersion.IBP_3_4_IV0, 2),
            lowest=1,
        )

    @property
    def partition_record_version(self) -> int:
        """The version in which PartitionRecord and PartitionChangeRecord are written."""
        return self._latest((MetadataVersion.IBP_4_0_IV1, 2), (MetadataVersion.IBP_3_7_IV2, 1), lowest=0)

    @property
    def fetch_request_version(self) -> int:
        """The version in which followers fetch."""
        return self._latest(
            (MetadataVersion.IBP_4_1_IV1, 18),
            (MetadataVersion.IBP_3_9_IV0, 17),
            (MetadataVersion.IBP_3_7_IV4, 16),
            (MetadataVersion.IBP_3_5_IV1, 15),
            (MetadataVersion.IBP_3_5_IV0, 14),
            lowest=13,
        )

    @property
    def list_offset_request_version(self) -> int:
        """The version in which followers list offsets."""
        return self._latest(
            (MetadataVersion.IBP_4_2_IV1, 11),
            (MetadataVersion.IBP_4_0_IV3, 10),
            (MetadataVersion.IBP_3_9_IV0, 9),
            (MetadataVersion.IBP_3_5_IV0, 8),
            lowest=7,
        )

    def _latest(self, *steps: tuple["MetadataVersion", int], lowest: int) -> int:
        """The value of the first step, latest first, that this level has reached."""
        return next((value for level, value in steps if self >= level), lowest)

    @classmethod
    def from_feature_level(cls, level: int) -> Self:
        """The level of that number; raises ValueError for one that Kafka 4.3 does not know."""
        try:
            return cls(level)
        except ValueError:
            raise ValueError(
                f"No MetadataVersion with feature level {level}. Valid feature levels are from "
                f"{MINIMUM_VERSION:d} to {LATEST_PRODUCTION:d}."
            ) from None

    @classmethod
    def from_version_string(cls, text: str) -> "MetadataVersion":
        """``4.3-IV0``, or a release (``4.3``, ``4.3.1``) for its latest level; raises ValueError."""
        key = ".".join(text.split(".")[:2])
        found = _BY_NAME.get(key)
        if found is None:
            known = ", ".join(level.version for level in cls)
            raise ValueError(f"Unknown metadata.version '{text}'. Supported metadata.version are: {known}")
        return found


MINIMUM_VERSION: Final = MetadataVersion.IBP_3_3_IV3
LATEST_PRODUCTION: Final = MetadataVersion.IBP_4_3_IV0

_CHANGED_METADATA: Final = frozenset(
    {
        MetadataVersion.IBP_3_3_IV3,
        MetadataVersion.IBP_3_4_IV0,
        MetadataVersion.IBP_3_5_IV2,
        MetadataVersion.IBP_3_6_IV1,
        MetadataVersion.IBP_3_6_IV2,
        MetadataVersion.IBP_3_7_IV0,
        MetadataVersion.IBP_3_7_IV2,
        MetadataVersion.IBP_4_0_IV1,
        MetadataVersion.IBP_4_3_IV0,
    }
)
_BY_NAME: Final = {level.release: level for level in MetadataVersion} | {
    level.version: level for level in MetadataVersion
}


def metadata_changed_between(one: MetadataVersion, other: MetadataVersion) -> bool:
    """Whether going from one level to the other, in either direction, changes the format of any record."""
    low, high = sorted((one, other))
    return any(level.did_metadata_change for level in MetadataVersion if low < level <= high)
