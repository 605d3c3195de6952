"""By which hash code Kafka chooses the partition of a coordinator."""

from ottla.common.java_hash import string_hash_code


def partition_for(key: str, num_partitions: int) -> int:
    """The partition of ``__consumer_offsets`` or ``__transaction_state`` that an id belongs to."""
    code = string_hash_code(key)
    return (0 if code == -0x80000000 else abs(code)) % num_partitions
