"""The consumer groups of one shard: every request that concerns them, their records and their timers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.member import JoinRespond, SyncRespond
from ottla.group.consumer.background_tasks import BackgroundTasks, TimerTasks
from ottla.group.consumer.classic_join import ClassicJoins
from ottla.group.consumer.classic_members import ClassicMembers
from ottla.group.consumer.context import ConsumerGroupContext, GroupConfigs, RequestContext
from ottla.group.consumer.describe import describe_group
from ottla.group.consumer.fencing import Fencing
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.heartbeat import Heartbeats
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.migration import ClassicGroups, Migration
from ottla.group.consumer.rebalance import Rebalancer
from ottla.group.consumer.regex_subscriptions import RegexSubscriptions
from ottla.group.consumer.replay import Replay
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.protocol.messages.consumer_group_describe import DescribedGroup
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from random import Random

if TYPE_CHECKING:
    from random import Random


class ConsumerGroupManager:
    """Operations decide and change nothing durable; the ``replay_…`` methods do, one for each kind of record."""

    __slots__ = (
        "_classic_joins",
        "_classic_members",
        "_context",
        "_fencing",
        "_heartbeats",
        "replay_consumer_group_current_member_assignment",
        "replay_consumer_group_member_metadata",
        "replay_consumer_group_metadata",
        "replay_consumer_group_partition_metadata",
        "replay_consumer_group_regular_expression",
        "replay_consumer_group_target_assignment_member",
        "replay_consumer_group_target_assignment_metadata",
    )

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        timers: Timers,
        groups: GroupStore,
        rng: "Random",
        metrics: GroupMetrics,
        group_configs: GroupConfigs,
        classic_groups: ClassicGroups,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        context = self._context = ConsumerGroupContext(
            config=config,
            timers=timers,
            groups=groups,
            rng=rng,
            metrics=metrics,
            group_configs=group_configs,
            tasks=TimerTasks(timers) if tasks is None else tasks,
        )
        migration = Migration(context, classic_groups)
        fencing = self._fencing = Fencing(context, migration)
        rebalancer = Rebalancer(context, fencing.timers)
        regexes = RegexSubscriptions(context, rebalancer)
        self._heartbeats = Heartbeats(
            context, fencing=fencing, migration=migration, rebalancer=rebalancer, regexes=regexes
        )
        self._classic_joins = ClassicJoins(
            context, fencing=fencing, migration=migration, rebalancer=rebalancer, regexes=regexes
        )
        self._classic_members = ClassicMembers(context, fencing)
        replay = Replay(context)
        self.replay_consumer_group_current_member_assignment = replay.current_member_assignment
        self.replay_consumer_group_member_metadata = replay.member_metadata
        self.replay_consumer_group_metadata = replay.metadata
        self.replay_consumer_group_partition_metadata = replay.partition_metadata
        self.replay_consumer_group_regular_expression = replay.regular_expression
        self.replay_consumer_group_target_assignment_member = replay.target_assignment_member
        self.replay_consumer_group_target_assignment_metadata = replay.target_assignment_metadata

    # -- the consumer protocol ----------------------------------------------------------------------------------------

    def consumer_group_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """ConsumerGroupHeartbeat, which is well-formed."""
        return self._heartbeats.heartbeat(context, request, now_ms)

    def consumer_group_describe(self, group_ids: Sequence[str]) -> list[DescribedGroup]:
        """ConsumerGroupDescribe: groups in the order in which they are asked for."""
        return [self._describe(group_id) for group_id in group_ids]

    def _describe(self, group_id: str) -> DescribedGroup:
        context = self._context
        try:
            group = context.consumer_group(group_id)
        except ApiError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
        return describe_group(group, context.config.group_consumer_assignors, context.image.topics)

    # -- the classic protocol, for consumer groups --------------------------------------------------------------------

    def join(
        self, context: RequestContext, request: JoinGroupRequest, respond: JoinRespond, now_ms: int
    ) -> CoordinatorResult[None]:
        """JoinGroup to a consumer group that has members."""
        group = self._context.consumer_group(request.group_id)
        return self._classic_joins.join(group, context, request, respond, now_ms)

    def sync(self, request: SyncGroupRequest, respond: SyncRespond, _now_ms: int) -> CoordinatorResult[None]:
        """SyncGroup to a consumer group."""
        group = self._context.consumer_group(request.group_id)
        if group.is_empty:
            respond(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
            return NOTHING
        return self._classic_members.sync(group, request, respond)

    def heartbeat(self, request: HeartbeatRequest, _now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Heartbeat to a consumer group."""
        return self._classic_members.heartbeat(self._context.consumer_group(request.group_id), request)

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """LeaveGroup to a consumer group; whoever leaves is in ``members``, in every version."""
        return self._classic_members.leave(self._context.consumer_group(request.group_id), request, now_ms)

    # -- the shard ----------------------------------------------------------------------------------------------------

    def on_loaded(self, image: MetadataImage) -> None:
        """Everything has been replayed: sessions begin anew, and so do rebalances."""
        context, timers = self._context, self._fencing.timers
        context.image = image
        context.image_version_with_new_topics = image.offset
        for group_id, group in context.groups.groups.items():
            if not isinstance(group, ConsumerGroup):
                continue
            timeout_ms = context.session_timeout_ms(group_id)
            for member_id, member in group.members.items():
                own_ms = timeout_ms if member.classic is None else member.classic.session_timeout_ms
                timers.schedule_session(group_id, member_id, own_ms)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    timers.schedule_rebalance(group_id, member)

    def on_unloaded(self) -> None:
        """Nobody waits for anything here."""

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage, _now_ms: int) -> None:
        """Topics that were made, changed or deleted concern the groups that subscribe to them."""
        context, before = self._context, self._context.image
        context.image = image
        topics = delta.topics_delta
        if topics is None:
            return
        if topics.created_topics:
            context.image_version_with_new_topics = image.offset
        names = [topic.name for topic in topics.changed_topics.values()]
        names += [name for each in topics.deleted_topic_ids if (name := before.topics.topic_name(each)) is not None]
        for name in names:
            context.index.topic_has_changed(name)
            for group_id in context.index.groups_subscribed_to(name):
                group = context.groups.get(group_id)
                if isinstance(group, ConsumerGroup):
                    group.request_metadata_refresh()
