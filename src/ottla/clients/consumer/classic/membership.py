"""A consumer's place in a classic group."""

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.assignors.registry import make_assignors
from ottla.clients.consumer.classic.generation import ClassicSettings
from ottla.clients.consumer.classic.member import ClassicMember
from ottla.clients.consumer.group_membership import GroupMembership
from ottla.clients.consumer.membership import PartitionOwner
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.config.client_configs import ConsumerConfig


class ClassicMembership(GroupMembership):
    """The driver of a ClassicMember, who leads its group when asked to."""

    def __init__(
        self, client: ClusterClient, config: ConsumerConfig, owner: PartitionOwner, assignors: tuple[object, ...] = ()
    ) -> None:
        """``assignors`` are a user's objects, in place of ``partition.assignment.strategy``; InvalidConfigError."""
        assert config.group_id is not None, "a membership needs a group"
        watch = PollWatch(config.max_poll_interval_ms)
        settings = ClassicSettings(
            group_id=config.group_id,
            assignors=make_assignors(assignors or config.partition_assignment_strategy),
            group_instance_id=config.group_instance_id,
            session_timeout_ms=config.session_timeout_ms,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            max_poll_interval_ms=config.max_poll_interval_ms,
            retry_backoff_ms=client.config.retry_backoff_ms,
            rack_id=config.client_rack or None,
            exclude_internal_topics=config.exclude_internal_topics,
        )
        self._member = ClassicMember(settings, watch)
        self._is_leading = False
        super().__init__(client, config, owner, self._member, watch)

    def _changed(self) -> None:
        if self._member.must_lead and not self._is_leading and not self._is_closed:
            self._is_leading = True
            self._spawn(self._lead())
        super()._changed()

    async def _lead(self) -> None:
        """See the topics of all members, then assign; a topic that nobody knows is one without partitions."""
        try:
            self._follow_topics()
            deadline_ms = self._clock.monotonic_ms() + self._client.config.request_timeout_ms
            while self._member.must_lead and not self._sees_all_topics():
                remaining_ms = deadline_ms - self._clock.monotonic_ms()
                if remaining_ms <= 0:
                    break
                self._client.request_update()
                await self._client.wait_for_update(remaining_ms)
            if self._member.must_lead:
                self._member.lead(self._client.metadata)
        finally:
            self._is_leading = False
        self._changed()

    def _sees_all_topics(self) -> bool:
        wanted = self._member.wanted_topics
        return wanted is None or all(topic in self._client.metadata.topics for topic in wanted)
