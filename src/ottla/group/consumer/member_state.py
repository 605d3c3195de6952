"""Where a member stands on the way to its target assignment."""

from enum import IntEnum


class MemberState(IntEnum):
    """The state of one member; the numbers are those of the records.

    STABLE → UNREVOKED_PARTITIONS when it has to give partitions up, → UNRELEASED_PARTITIONS when it waits for some
    that others have not given up, → STABLE at the next epoch otherwise. From either it comes back to any of the three.
    """

    STABLE = 0
    """It has everything that its epoch gives it."""
    UNREVOKED_PARTITIONS = 1
    """It has been asked to give partitions up, and stays in its epoch until it has."""
    UNRELEASED_PARTITIONS = 2
    """It is in the target's epoch, but others still own some of its partitions."""
    UNKNOWN = 127
    """A state of some later version: the member has to begin anew."""

    @classmethod
    def from_value(cls, value: int) -> "MemberState":
        """The state that a record names."""
        return _BY_VALUE.get(value, cls.UNKNOWN)


_BY_VALUE = {state.value: state for state in MemberState}
