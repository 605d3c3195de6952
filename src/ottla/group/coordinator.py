"""The group coordinator as handlers see it: one method an API, answered by the shards of the groups concerned.

Every answer is a response of its API, one with an error too.
"""

import logging
from collections.abc import Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.errors import coordinator_error
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.group import refusals
from ottla.group.heartbeat_validation import validate_consumer_group_heartbeat
from ottla.group.shard import GroupCoordinatorShard
from ottla.group.shard_access import ShardAccess
from ottla.group.transactional_commits import TransactionalCommits, TransactionVerifier
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.network.request import RequestContext
from ottla.protocol.messages import consumer_group_describe, describe_groups
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.delete_groups import DeletableGroupResult
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.protocol.plain_offset_commit import PlainOffsetCommit
from ottla.runtime.completion import Completion
from ottla.runtime.completion_chain import gather, recover, then

logger = logging.getLogger(__name__)

_INVALID_GROUP_ID: Final = ErrorCode.INVALID_GROUP_ID


class GroupCoordinator:
    """See the module. COORDINATOR_NOT_AVAILABLE before ``startup`` and after ``shutdown``."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupCoordinatorShard],
        config: GroupCoordinatorConfig,
        verifier: TransactionVerifier,
    ) -> None:
        self._runtime = runtime
        self._shards = shards = ShardAccess(runtime)
        self._config = config
        self.startup = shards.partitioner.startup
        self.shutdown = shards.partitioner.shutdown
        self.partition_for = shards.partitioner.partition_for
        self.commit_transactional_offsets = TransactionalCommits(shards, verifier).commit

    # -- the classic protocol -----------------------------------------------------------------------------------------

    def join_group(self, context: RequestContext, request: JoinGroupRequest) -> Completion[JoinGroupResponse]:
        """Answered when the group's next generation begins."""
        config = self._config
        lowest_ms, highest_ms = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        refused = ErrorCode.NONE
        if not request.group_id:
            refused = _INVALID_GROUP_ID
        elif not lowest_ms <= request.session_timeout_ms <= highest_ms:
            refused = ErrorCode.INVALID_SESSION_TIMEOUT
        if refused:
            return Completion.done(JoinGroupResponse(member_id=request.member_id, error_code=refused))
        return self._shards.write_deferred(
            request.group_id,
            lambda shard, respond, now_ms: shard.classic_group_join(context, request, respond, now_ms),
            lambda error: JoinGroupResponse(error_code=error.code),
        )

    def sync_group(self, request: SyncGroupRequest) -> Completion[SyncGroupResponse]:
        """Answered when the leader has sent the assignments."""
        if not request.group_id:
            return Completion.done(SyncGroupResponse(error_code=_INVALID_GROUP_ID))
        return self._shards.write_deferred(
            request.group_id,
            lambda shard, respond, now_ms: shard.classic_group_sync(request, respond, now_ms),
            lambda error: SyncGroupResponse(error_code=error.code),
        )

    def heartbeat(self, request: HeartbeatRequest) -> Completion[HeartbeatResponse]:
        """Keep a member's session."""

        def answer(error: KafkaError) -> HeartbeatResponse:
            # Nobody knows yet whether the member is in the group: it is told to go on.
            is_loading = error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)

        if not request.group_id:
            return Completion.done(HeartbeatResponse(error_code=_INVALID_GROUP_ID))
        return self._shards.write(
            request.group_id, lambda shard, now_ms: shard.classic_group_heartbeat(request, now_ms), answer
        )

    def leave_group(self, request: LeaveGroupRequest) -> Completion[LeaveGroupResponse]:
        """Members go; ``request`` has them in ``members``, whatever its version."""

        def answer(error: KafkaError) -> LeaveGroupResponse:
            if error.code == ErrorCode.UNKNOWN_MEMBER_ID:  # there is no such group
                return refusals.leaving_members(request, error.code)
            return LeaveGroupResponse(error_code=error.code)

        if not request.group_id:
            return Completion.done(LeaveGroupResponse(error_code=_INVALID_GROUP_ID))
        return self._shards.write(
            request.group_id, lambda shard, now_ms: shard.classic_group_leave(request, now_ms), answer
        )

    # -- the consumer protocol ----------------------------------------------------------------------------------------

    def consumer_group_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> Completion[ConsumerGroupHeartbeatResponse]:
        """Join a consumer group, stay in it, tell of oneself, or leave."""

        def answer(error: KafkaError) -> ConsumerGroupHeartbeatResponse:
            return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=str(error) or None)

        try:
            validate_consumer_group_heartbeat(
                request, context.header.api_version, self._config.group_consumer_assignors
            )
        except KafkaError as error:
            return Completion.done(answer(error))
        return self._shards.write(
            request.group_id, lambda shard, now_ms: shard.consumer_group_heartbeat(context, request, now_ms), answer
        )

    # -- many groups --------------------------------------------------------------------------------------------------

    def list_groups(self, _context: RequestContext, request: ListGroupsRequest) -> Completion[ListGroupsResponse]:
        """The groups of all partitions that this broker leads."""

        def nothing_if_moved(error: KafkaError) -> list[ListedGroup]:
            if error.code != ErrorCode.NOT_COORDINATOR:
                raise error
            return []

        listed = self._runtime.read_all(
            lambda shard, _now_ms: shard.list_groups(request.states_filter, request.types_filter)
        )
        groups = gather([recover(each, nothing_if_moved) for each in listed])
        return recover(
            then(groups, lambda lists: ListGroupsResponse(groups=[group for each in lists for group in each])),
            lambda error: ListGroupsResponse(error_code=coordinator_error(error).code),
        )

    def describe_groups(
        self, context: RequestContext, group_ids: Sequence[str]
    ) -> Completion[list[describe_groups.DescribedGroup]]:
        """Classic groups with their members."""
        return self._shards.for_each_shard(
            group_ids,
            lambda partition, ids: self._runtime.read(
                partition, lambda shard, _now_ms: shard.describe_groups(context, ids)
            ),
            refusals.described_groups,
        )

    def consumer_group_describe(
        self, _context: RequestContext, group_ids: Sequence[str]
    ) -> Completion[list[consumer_group_describe.DescribedGroup]]:
        """Consumer groups with their members."""
        empty = [group_id for group_id in group_ids if not group_id]
        described = self._shards.for_each_shard(
            [group_id for group_id in group_ids if group_id],
            lambda partition, ids: self._runtime.read(
                partition, lambda shard, _now_ms: shard.consumer_group_describe(ids)
            ),
            refusals.described_consumer_groups,
        )
        invalid = refusals.described_consumer_groups(empty, _INVALID_GROUP_ID)
        return then(described, lambda groups: invalid + groups) if invalid else described

    def delete_groups(self, group_ids: Sequence[str]) -> Completion[list[DeletableGroupResult]]:
        """Groups without members, and their offsets, are gone."""
        return self._shards.for_each_shard(
            group_ids,
            lambda partition, ids: self._runtime.write(partition, lambda shard, _now_ms: shard.delete_groups(ids)),
            refusals.deleted_groups,
        )

    # -- offsets ------------------------------------------------------------------------------------------------------

    def commit_offsets(self, context: RequestContext, request: OffsetCommitRequest) -> Completion[OffsetCommitResponse]:
        """Commit offsets for a group, which may have the empty id."""
        return self._shards.write(
            request.group_id,
            lambda shard, now_ms: shard.commit_offset(context, request, now_ms),
            lambda error: refusals.offset_commit(request, error.code),
        )

    def commit_plain_offsets(self, commit: PlainOffsetCommit, api_version: int) -> Completion[Sequence[int]]:
        """As ``commit_offsets``, answered by the code of each partition."""
        return self._shards.write(
            commit.group_id,
            lambda shard, now_ms: shard.commit_plain_offsets(commit, api_version, now_ms),
            lambda error: [error.code] * commit.num_partitions,
        )

    def fetch_offsets(
        self, context: RequestContext, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> Completion[OffsetFetchResponseGroup]:
        """The committed offsets of some partitions, or of all (``topics`` None), of a group that may have the empty id.

        With ``require_stable`` partitions whose offset an open transaction may change have UNSTABLE_OFFSET_COMMIT.
        """

        def answer(error: KafkaError) -> OffsetFetchResponseGroup:
            # Consumers before 3.9 do not look for the coordinator again when they read COORDINATOR_NOT_AVAILABLE.
            is_unavailable = error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            code = ErrorCode.NOT_COORDINATOR if is_unavailable else error.code
            return refusals.offset_fetch_group(request, code, context.header.api_version)

        return self._shards.read(
            request.group_id,
            lambda shard, _now_ms: shard.fetch_offsets(request, require_stable=require_stable),
            answer,
        )

    def delete_offsets(self, request: OffsetDeleteRequest) -> Completion[OffsetDeleteResponse]:
        """Forget offsets of partitions that no member reads."""
        if not request.group_id:
            return Completion.done(OffsetDeleteResponse(error_code=_INVALID_GROUP_ID))
        return self._shards.write(
            request.group_id,
            lambda shard, _now_ms: shard.delete_offsets(request),
            lambda error: OffsetDeleteResponse(error_code=error.code),
        )

    def complete_transaction(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        committed: bool,
        transaction_version: int,
    ) -> Completion[None]:
        """A transaction that committed offsets has ended: write its marker; the only method whose answer may fail."""
        assert topic_partition.topic == GROUP_METADATA_TOPIC
        return self._runtime.complete_transaction(
            topic_partition,
            producer_id,
            producer_epoch,
            coordinator_epoch,
            committed=committed,
            transaction_version=transaction_version,
        )

    # -- leadership and metadata --------------------------------------------------------------------------------------

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """A partition of __consumer_offsets is led by this broker."""
        self._runtime.load(TopicPartition(GROUP_METADATA_TOPIC, partition), leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Another broker leads it from a leader epoch on; None: it is gone altogether."""
        self._runtime.unload(TopicPartition(GROUP_METADATA_TOPIC, partition), leader_epoch)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Groups follow the topics that they read; the offsets of deleted topics go."""
        self._runtime.on_metadata(delta, image)
        deleted = deleted_topics(delta)
        if deleted:
            for done in self._runtime.write_all(lambda shard, _now_ms: shard.on_topics_deleted(deleted)):
                done.add_done_callback(_log_failed_deletion)


def deleted_topics(delta: MetadataDelta) -> dict[Uuid, str]:
    """The topics that are gone, by id."""
    topics = delta.topics_delta
    if topics is None:
        return {}
    names = ((topic_id, topics.image.topic_name(topic_id)) for topic_id in topics.deleted_topic_ids)
    return {topic_id: name for topic_id, name in names if name is not None}


def _log_failed_deletion(done: Completion[None]) -> None:
    if done.error is not None:
        logger.error("Could not delete the offsets of deleted topics: %s", done.error)
