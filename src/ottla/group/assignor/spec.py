"""What an assignor is told of a group, and what it answers."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ottla.common.uuid import Uuid

Assignment = Mapping[Uuid, Sequence[int]]
"""The partitions of a member by topic id, as a ConsumerGroupTargetAssignmentMember record lists them.

The order of topics and partitions is Apache's and is worth keeping (a tuple for each topic): where partitions have to
be taken from a member, it decides which ones.
"""

GroupAssignment = dict[str, Assignment]
"""The assignment of every member by its id. A member who keeps what it has gets the very object of its spec."""


def has_same_partitions(one: Assignment, other: Assignment) -> bool:
    """Whether two assignments differ in their order at most."""
    return one.keys() == other.keys() and all(
        partitions == other[topic_id] or set(partitions) == set(other[topic_id]) for topic_id, partitions in one.items()
    )


class SubscriptionType(Enum):
    """Whether all members of a group subscribe to the same topics."""

    HOMOGENEOUS = "Homogeneous"
    HETEROGENEOUS = "Heterogeneous"


class MemberSpec(NamedTuple):
    """A member as an assignor sees it."""

    subscribed_topic_names: Collection[str]
    """The names and what the member's regular expression resolves to, each once; topics that do not exist may be
    among them. Members who subscribe to the same should share the object.
    """
    assignment: Assignment
    """Its target assignment so far; for a static member who comes back, that of the member it replaces."""
    instance_id: str | None = None


class GroupSpec(NamedTuple):
    """A group as an assignor sees it."""

    members: Mapping[str, MemberSpec]
    """By member id, in the order in which they joined."""
    subscription_type: SubscriptionType
    num_members_max: int = 0
    """The most members that the group had at a time since it was loaded, if more than now. This and the next two say
    in which order Apache's tables hold the members whose ids collide in them.
    """
    new_member_id: str | None = None
    """Who joins with this assignment, if anybody does."""
    replaced_member_id: str | None = None
    """The static member whose place the new one takes; it is not among ``members`` any more."""


class PartitionAssignorError(Exception):
    """An assignor cannot assign; the coordinator answers UNKNOWN_SERVER_ERROR."""
