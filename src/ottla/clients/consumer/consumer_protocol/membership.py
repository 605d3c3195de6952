"""A consumer's place in a consumer group (KIP-848)."""

from typing import Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.consumer_protocol.consumer_state import ConsumerState
from ottla.clients.consumer.consumer_protocol.heartbeat_fields import ConsumerSettings
from ottla.clients.consumer.consumer_protocol.member import ConsumerMember
from ottla.clients.consumer.group_membership import GroupMembership
from ottla.clients.consumer.membership import PartitionOwner
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.common.uuid import Uuid
from ottla.config.client_configs import ConsumerConfig

_RECONCILED: Final = (ConsumerState.ACKNOWLEDGING, ConsumerState.STABLE)
_REFUSED: Final = (ConsumerState.FENCED, ConsumerState.FATAL)


class ConsumerMembership(GroupMembership):
    """The driver of a ConsumerMember. Its id is made here and stays the same for life."""

    uses_epochs = True

    def __init__(self, client: ClusterClient, config: ConsumerConfig, owner: PartitionOwner) -> None:
        assert config.group_id is not None, "a membership needs a group"
        watch = PollWatch(config.max_poll_interval_ms)
        settings = ConsumerSettings(
            group_id=config.group_id,
            member_id=str(Uuid.random(client.runtime.rng)),
            group_instance_id=config.group_instance_id,
            rack_id=config.client_rack or None,
            server_assignor=config.group_remote_assignor,
            max_poll_interval_ms=config.max_poll_interval_ms,
            retry_backoff_ms=client.config.retry_backoff_ms,
            exclude_internal_topics=config.exclude_internal_topics,
        )
        self._member = ConsumerMember(settings, watch)
        super().__init__(client, config, owner, self._member, watch)

    def _changed(self) -> None:
        self._measure_rebalance(self._member.consumer_state)
        super()._changed()

    def _measure_rebalance(self, state: ConsumerState) -> None:
        metrics = self.metrics
        if state is ConsumerState.RECONCILING:
            metrics.rebalance_began(self._clock.monotonic_ms())
        elif metrics.is_rebalancing and state in _RECONCILED:
            metrics.rebalance_ended(self._clock.monotonic_ms())
        elif metrics.is_rebalancing:
            metrics.failed_rebalances += state in _REFUSED
            metrics.rebalance_given_up()
