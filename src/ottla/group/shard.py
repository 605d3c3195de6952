"""The groups of one partition of ``__consumer_offsets``: what the runtime and the service see of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.context import ClassicRequestContext
from ottla.group.classic.manager import ClassicGroupManager
from ottla.group.classic.member import JoinRespond, SyncRespond
from ottla.group.client_host import java_address
from ottla.group.consumer.context import GroupConfigs
from ottla.group.consumer.context import RequestContext as ConsumerRequestContext
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.manager import ConsumerGroupManager
from ottla.group.expiration import GroupExpiration
from ottla.group.group import Group
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.offset_commit_record import OffsetCommitRecord
from ottla.group.offsets.fetch import OffsetReader
from ottla.group.offsets.manager import OffsetMetadataManager
from ottla.group.offsets.removal import OffsetRemoval
from ottla.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
)
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.network.request import RequestContext
from ottla.protocol.message import Message
from ottla.protocol.messages import consumer_group_describe, describe_groups
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.delete_groups import DeletableGroupResult
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.list_groups import ListedGroup
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from ottla.protocol.plain_offset_commit import PlainOffsetCommit

if TYPE_CHECKING:
    from random import Random

Replay = Callable[[int, int, Any, Any], None]
"""Takes a record: its offset, the id of its producer, its key, and its value."""

DescribableTopics = Callable[[RequestContext, Sequence[str]], Collection[str]]
"""Of some topics, those that a client may know of."""


class GroupCoordinatorShard:
    """Groups of all kinds and their offsets.

    A request goes to the manager of the group's kind. The classic protocol may also be spoken with a consumer group
    that has members: then its manager answers.
    """

    __slots__ = (
        "_classic",
        "_consumer",
        "_describable_topics",
        "_expiration",
        "_groups",
        "_offsets",
        "_reader",
        "_removal",
        "_replays",
    )

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        timers: Timers,
        rng: "Random",
        metrics: GroupMetrics,
        group_configs: GroupConfigs,
        describable_topics: DescribableTopics | None = None,
    ) -> None:
        groups = self._groups = GroupStore()
        self._describable_topics = describable_topics
        self._classic = ClassicGroupManager(config=config, timers=timers, groups=groups, rng=rng, metrics=metrics)
        self._consumer = ConsumerGroupManager(
            config=config,
            timers=timers,
            groups=groups,
            rng=rng,
            metrics=metrics,
            group_configs=group_configs,
            classic_groups=self._classic,
        )
        self._offsets = OffsetMetadataManager(
            config=config, groups=groups, metrics=metrics, extend_session=self._classic.extend_session
        )
        self._reader = OffsetReader(groups, self._offsets)
        self._removal = OffsetRemoval(config=config, groups=groups, metrics=metrics, manager=self._offsets)
        self._expiration = GroupExpiration(
            config=config, timers=timers, groups=groups, offsets=self._offsets.offsets, removal=self._removal
        )
        self._replays = self._replay_table()

    # -- the classic protocol -----------------------------------------------------------------------------------------

    def classic_group_join(
        self, context: RequestContext, request: JoinGroupRequest, respond: JoinRespond, now_ms: int
    ) -> CoordinatorResult[None]:
        """JoinGroup. An empty consumer group becomes a classic one."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return self._consumer.join(self._consumer_context(context), request, respond, now_ms)
        return self._classic.join(_classic_context(context), request, respond, now_ms)

    def classic_group_sync(
        self, request: SyncGroupRequest, respond: SyncRespond, now_ms: int
    ) -> CoordinatorResult[None]:
        """SyncGroup."""
        return self._manager_of(request.group_id).sync(request, respond, now_ms)

    def classic_group_heartbeat(self, request: HeartbeatRequest, now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Heartbeat."""
        return self._manager_of(request.group_id).heartbeat(request, now_ms)

    def classic_group_leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """LeaveGroup; whoever leaves is in ``members``, in every version."""
        return self._manager_of(request.group_id).leave(request, now_ms)

    def _manager_of(self, group_id: str) -> ClassicGroupManager | ConsumerGroupManager:
        """Who speaks the classic protocol for a group."""
        return self._consumer if isinstance(self._groups.get(group_id), ConsumerGroup) else self._classic

    def describe_groups(
        self, context: RequestContext, group_ids: Sequence[str]
    ) -> list[describe_groups.DescribedGroup]:
        """DescribeGroups: classic groups with their members."""
        return [self._classic.describe(group_id, context.header.api_version) for group_id in group_ids]

    # -- consumer groups ----------------------------------------------------------------------------------------------

    def consumer_group_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """ConsumerGroupHeartbeat."""
        return self._consumer.consumer_group_heartbeat(self._consumer_context(context), request, now_ms)

    def consumer_group_describe(self, group_ids: Sequence[str]) -> list[consumer_group_describe.DescribedGroup]:
        """ConsumerGroupDescribe."""
        return self._consumer.consumer_group_describe(group_ids)

    # -- groups of every kind -----------------------------------------------------------------------------------------

    @property
    def all_groups(self) -> Collection[Group]:
        """The groups, of every kind."""
        return self._groups.groups.values()

    def list_groups(self, states_filter: Sequence[str], types_filter: Sequence[str]) -> list[ListedGroup]:
        """The groups in one of some states and of one of some types, in any case of letters; no filter lets all in."""
        states = [state.strip().lower() for state in states_filter]
        types = [group_type.lower() for group_type in types_filter]
        return [
            group.as_listed_group()
            for group in self._groups.groups.values()
            if (not states or group.is_in_states(states)) and (not types or group.type in types)
        ]

    def delete_groups(self, group_ids: Sequence[str]) -> CoordinatorResult[list[DeletableGroupResult]]:
        """DeleteGroups: each group that has no members, with its offsets."""
        records: list[CoordinatorRecord] = []
        results = []
        for group_id in group_ids:
            result = DeletableGroupResult(group_id=group_id)
            try:
                group = self._groups.group(group_id)
                group.validate_delete_group()
            except KafkaError as error:
                result.error_code = error.code
            else:
                records += self._removal.delete_all_offsets(group_id)
                records += group.tombstone_records()
            results.append(result)
        return CoordinatorResult(records, results)

    # -- offsets ------------------------------------------------------------------------------------------------------

    @property
    def num_offsets(self) -> int:
        """How many offsets are committed."""
        return self._offsets.offsets.num_offsets

    def commit_offset(
        self, context: RequestContext, request: OffsetCommitRequest, now_ms: int
    ) -> CoordinatorResult[OffsetCommitResponse]:
        """OffsetCommit."""
        return self._offsets.commit_offset(request, context.header.api_version, now_ms)

    def commit_plain_offsets(
        self, commit: PlainOffsetCommit, api_version: int, now_ms: int
    ) -> CoordinatorResult[Sequence[int]]:
        """OffsetCommit, answered by codes."""
        return self._offsets.commit_plain_offsets(commit, api_version, now_ms)

    def commit_transactional_offset(
        self, context: RequestContext, request: TxnOffsetCommitRequest, now_ms: int
    ) -> CoordinatorResult[TxnOffsetCommitResponse]:
        """TxnOffsetCommit."""
        return self._offsets.commit_transactional_offset(request, context.header.api_version, now_ms)

    def fetch_offsets(self, request: OffsetFetchRequestGroup, *, require_stable: bool) -> OffsetFetchResponseGroup:
        """OffsetFetch, for one group."""
        return self._reader.fetch_offsets(request, require_stable=require_stable)

    def delete_offsets(self, request: OffsetDeleteRequest) -> CoordinatorResult[OffsetDeleteResponse]:
        """OffsetDelete."""
        return self._removal.delete_offsets(request)

    def on_topics_deleted(self, topics: Mapping[Uuid, str]) -> CoordinatorResult[None]:
        """Topics are gone: end their offsets."""
        return CoordinatorResult(self._removal.on_topics_deleted(topics), None, is_atomic=False)

    # -- the runtime --------------------------------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a record; one of a transaction has its producer's id and epoch, any other -1 for both."""
        del producer_epoch
        if isinstance(record, OffsetCommitRecord):
            self._offsets.replay_committed_offset(offset, producer_id, record)
            return
        key = record.key
        self._replays[type(key)](offset, producer_id, key, record.value)

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """A transaction has ended: its offsets count now, or never."""
        del producer_epoch
        self._offsets.replay_end_transaction_marker(producer_id, committed=committed)

    def on_loaded(self, image: MetadataImage, now_ms: int) -> None:
        """Everything in the log has been replayed: sessions and the clock of expiry begin."""
        self._offsets.on_metadata(image)
        self._consumer.on_loaded(image)
        self._classic.on_loaded(now_ms)
        self._expiration.start()

    def on_unloaded(self) -> None:
        """Somebody else takes over: all who wait are told to look for the coordinator again."""
        self._expiration.stop()
        self._consumer.on_unloaded()
        self._classic.on_unloaded()

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage, now_ms: int) -> None:
        """The cluster's metadata has changed."""
        self._offsets.on_metadata(image)
        self._consumer.on_metadata(delta, image, now_ms)

    def _replay_table(self) -> dict[type[Message], Replay]:
        """The method that applies a record, by the class of its key."""
        consumer = self._consumer
        return {
            LegacyOffsetCommitKey: self._offsets.replay_legacy_offset_commit,
            OffsetCommitKey: self._offsets.replay_offset_commit,
            GroupMetadataKey: _of_group(self._classic.replay_group_metadata),
            ConsumerGroupMetadataKey: _of_group(consumer.replay_consumer_group_metadata),
            ConsumerGroupPartitionMetadataKey: _of_group(consumer.replay_consumer_group_partition_metadata),
            ConsumerGroupMemberMetadataKey: _of_group(consumer.replay_consumer_group_member_metadata),
            ConsumerGroupTargetAssignmentMetadataKey: _of_group(
                consumer.replay_consumer_group_target_assignment_metadata
            ),
            ConsumerGroupTargetAssignmentMemberKey: _of_group(consumer.replay_consumer_group_target_assignment_member),
            ConsumerGroupCurrentMemberAssignmentKey: _of_group(
                consumer.replay_consumer_group_current_member_assignment
            ),
            ConsumerGroupRegularExpressionKey: _of_group(consumer.replay_consumer_group_regular_expression),
        }

    def _consumer_context(self, context: RequestContext) -> ConsumerRequestContext:
        describable = self._describable_topics
        return ConsumerRequestContext(
            context.header.client_id or "",
            java_address(context.client_address),
            None if describable is None else lambda topics: describable(context, topics),
            context.header.api_version,
        )


def _of_group(replay: Callable[[Any, Any], None]) -> Replay:
    """Where a record stands and whose it is means nothing to groups."""
    return lambda _offset, _producer_id, key, value: replay(key, value)


def _classic_context(context: RequestContext) -> ClassicRequestContext:
    header = context.header
    return ClassicRequestContext(header.api_version, header.client_id or "", java_address(context.client_address))
