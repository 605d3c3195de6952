"""The order in which Java's hash tables hold members, topics and partitions.

Apache's assignors walk over HashMaps, so who is served first follows from the hash codes of ids and the sizes of the
tables. To give the same assignments we walk in the same order. Buckets with more than eight entries,
which Java turns into trees, keep their entries' order here.
"""

from collections.abc import Collection, Iterable, Mapping

from ottla.common.java_hash import string_hash_code
from ottla.common.uuid import Uuid
from ottla.group.assignor.spec import GroupSpec

DEFAULT_CAPACITY = 16
COPY_SLACK = 3
"""That of Java 17 and 18. From Java 19 on it is 2: the copy of exactly 12, 24, 48, … elements has half the table."""

_INT_MASK = 0xFFFFFFFF
_LONG_MASK = 0xFFFFFFFFFFFFFFFF
_FIBONACCI_MULTIPLIER = -7046029254386353131


def table_size_for(capacity: int) -> int:
    """The buckets of a HashMap that is made for a capacity: the next power of two."""
    return 1 << (capacity - 1).bit_length() if capacity > 1 else 1


def copy_capacity(size: int) -> int:
    """The buckets of a HashSet that is made from a collection."""
    return table_size_for(max((size * 4 + COPY_SLACK) // 3, DEFAULT_CAPACITY))


def grown_capacity(capacity: int, size: int) -> int:
    """The buckets after entries were put one by one: they double when more than three quarters are used."""
    while size > capacity * 3 // 4:
        capacity *= 2
    return capacity


def uuid_spread_hash(topic_id: Uuid) -> int:
    """The hash of a Uuid whose lower bits choose the bucket in a HashMap."""
    raw = int.from_bytes(topic_id.bytes, "big")
    code = raw ^ raw >> 64
    code = (code ^ code >> 32) & _INT_MASK
    return code ^ code >> 16


def in_uuid_order(topic_ids: Iterable[Uuid], capacity: int) -> list[Uuid]:
    """Topic ids as a HashMap of ``capacity`` holds them, if they were put in the given order."""
    mask = capacity - 1
    return sorted(topic_ids, key=lambda topic_id: uuid_spread_hash(topic_id) & mask)


def in_partition_order(partitions: Collection[int], capacity: int) -> list[int]:
    """Partitions as a HashSet of ``capacity`` holds them, if they were put in the given order."""
    mask = capacity - 1
    return sorted(partitions, key=lambda partition: (partition ^ partition >> 16) & mask)


def in_name_order(names: Collection[str]) -> list[str]:
    """Topic names as members subscribe to them: a HashSet made from the sorted list in the record."""
    mask = copy_capacity(len(names)) - 1
    return sorted(sorted(names), key=lambda name: _string_spread_hash(name) & mask)


def assigned_topic_order(assignment: Mapping[Uuid, object]) -> Iterable[Uuid]:
    """The topics of an assignment that was read from its record."""
    if len(assignment) < 2:
        return assignment
    return in_uuid_order(assignment, grown_capacity(DEFAULT_CAPACITY, len(assignment)))


def assigned_partition_order(partitions: Collection[int]) -> list[int]:
    """The partitions of one topic of an assignment that was read from its record."""
    return in_partition_order(partitions, copy_capacity(len(partitions)))


def member_order(spec: GroupSpec) -> list[str]:
    """The members as the assignor's HashMap holds them.

    It is filled from the group's own table (Kafka's TimelineHashMap), whose order thus decides among those who fall
    into one bucket; a new member is put in last.
    """
    members = spec.members
    new, replaced = spec.new_member_id, spec.replaced_member_id
    codes = {member_id: string_hash_code(member_id) for member_id in members}
    num_existing = len(members) - (new is not None) + (replaced is not None)
    slots = _timeline_capacity(max(num_existing, spec.num_members_max))
    shift = 64 - (slots.bit_length() - 1)

    # The newest of a slot comes first.
    existing = [member_id for member_id in reversed(list(members)) if member_id != new]
    existing.sort(key=lambda member_id: (codes[member_id] * _FIBONACCI_MULTIPLIER & _LONG_MASK) >> shift)
    if new is not None:
        existing.append(new)

    num_at_once = max(num_existing, len(members))
    if new is not None and replaced is not None and _is_put_before_removal(new, replaced):
        num_at_once += 1
    mask = grown_capacity(DEFAULT_CAPACITY, num_at_once) - 1
    existing.sort(key=lambda member_id: ((code := codes[member_id] & _INT_MASK) ^ code >> 16) & mask)
    return existing


def _is_put_before_removal(new: str, replaced: str) -> bool:
    """Whether a HashMap with both, put in this order, holds the new member first."""
    mask = DEFAULT_CAPACITY - 1
    return _string_spread_hash(new) & mask <= _string_spread_hash(replaced) & mask


def _timeline_capacity(size: int) -> int:
    """The slots of a TimelineHashMap that had ``size`` entries and replaced one of them.

    It makes room before it looks whether an entry is a new one, and members are replaced at every change.
    """
    capacity = 2
    while (size + 1) * 3 > capacity * 4:
        capacity *= 2
    return capacity


def _string_spread_hash(text: str) -> int:
    code = string_hash_code(text) & _INT_MASK
    return code ^ code >> 16
