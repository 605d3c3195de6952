"""Which kind of membership a consumer's configuration asks for."""

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.membership import Membership, PartitionOwner
from ottla.config.client_configs import ConsumerConfig


def make_membership(cluster: ClusterClient, config: ConsumerConfig, owner: PartitionOwner) -> Membership:
    """A member by ``group.protocol``; the module of the other kind is not loaded."""
    if config.group_protocol == "consumer":
        from ottla.clients.consumer.consumer_protocol.consumer_membership import ConsumerMembership

        return ConsumerMembership(cluster, config, owner)
    from ottla.clients.consumer.classic.classic_membership import ClassicMembership

    return ClassicMembership(cluster, config, owner)
