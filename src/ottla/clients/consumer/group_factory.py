"""Which membership a consumer's configuration asks for."""

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.classic.membership import ClassicMembership
from ottla.clients.consumer.consumer_protocol.membership import ConsumerMembership
from ottla.clients.consumer.membership import Membership, PartitionOwner
from ottla.config.client_configs import ConsumerConfig


def make_membership(
    client: ClusterClient, config: ConsumerConfig, owner: PartitionOwner, assignors: tuple[object, ...] = ()
) -> Membership:
    """By ``group.protocol``; ``assignors`` are a user's own, for the classic one."""
    if config.group_protocol == "consumer":
        return ConsumerMembership(client, config, owner)
    return ClassicMembership(client, config, owner, assignors)
