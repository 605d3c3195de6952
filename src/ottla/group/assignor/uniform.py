"""The ``uniform`` assignor: as many partitions for everybody, and as few moves as that allows."""

from ottla.group.assignor.spec import GroupAssignment, GroupSpec, SubscriptionType
from ottla.group.assignor.uniform_heterogeneous import UniformHeterogeneousAssignmentBuilder
from ottla.group.assignor.uniform_homogeneous import UniformHomogeneousAssignmentBuilder
from ottla.metadata.image.topics import TopicsImage


def assign_uniform(spec: GroupSpec, topics: TopicsImage) -> GroupAssignment:
    """Give members counts of partitions that differ by one at most, as far as their subscriptions allow it.

    Balance comes before stickiness: a member keeps what it has unless others would have less than their share.
    """
    if not spec.members:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return UniformHomogeneousAssignmentBuilder(spec, topics).build()
    return UniformHeterogeneousAssignmentBuilder(spec, topics).build()
