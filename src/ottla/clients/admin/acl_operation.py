"""What can be done with a resource, as ACLs and authorized operations name it."""

from enum import IntEnum

_NOT_ASKED = -(2**31)


class AclOperation(IntEnum):
    """Kafka's operations under the protocol's ids; ANY matches all of them in a filter."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @classmethod
    def _missing_(cls, _: object) -> "AclOperation":
        return cls.UNKNOWN


def authorized_operations(bits: int) -> frozenset[AclOperation] | None:
    """Read the bit field of an answer; None if the operations were not asked for."""
    if bits == _NOT_ASKED:
        return None
    return frozenset(AclOperation(bit) for bit in range(32) if bits & 1 << bit)
