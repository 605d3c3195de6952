"""The offsets of all groups of a shard: who may commit them, and what their records mean."""

from collections.abc import Callable, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.state import ClassicGroupState
from ottla.group.group import CommitPartitionValidator
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.offset_commit_record import NO_TIMESTAMP_MS, OffsetCommitRecord
from ottla.group.offsets.commit_records import OffsetCommitRecords
from ottla.group.offsets.offset_and_metadata import pack, record_offset_of
from ottla.group.offsets.pending import PendingTransactionalOffsets
from ottla.group.offsets.store import OffsetStore
from ottla.group.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ottla.metadata.image.metadata import EMPTY_IMAGE, MetadataImage
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.protocol.plain_offset_commit import PlainOffsetCommit

_NO_PRODUCER_ID: Final = -1
_DEFAULT_RETENTION_TIME_MS: Final = -1
_TIMESTAMP_MAX_MS: Final = (1 << 63) - 1
_GROUP_ID_NOT_FOUND_FROM_VERSION: Final = 9
"""Older OffsetCommit requests are told ILLEGAL_GENERATION of a group that is gone."""
_COMMITS_KEEP_SESSION_IN: Final = (ClassicGroupState.STABLE, ClassicGroupState.PREPARING_REBALANCE)

ExtendSession = Callable[[ClassicGroup, ClassicGroupMember], None]
"""Keeps a classic member's session from now on (ms)."""


class OffsetMetadataManager:
    """Committed offsets, and those of transactions that have not ended.

    Reading is in :mod:`ottla.group.offsets.fetch`, deletion and expiry in :mod:`ottla.group.offsets.removal`.
    """

    __slots__ = ("_config", "_extend_session", "_groups", "_image", "_metrics", "offsets", "pending")

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        groups: GroupStore,
        metrics: GroupMetrics,
        extend_session: ExtendSession,
    ) -> None:
        self._config = config
        self._groups = groups
        self._metrics = metrics
        self._extend_session = extend_session
        self._image = EMPTY_IMAGE
        self.offsets = OffsetStore()
        self.pending = PendingTransactionalOffsets()

    def on_metadata(self, image: MetadataImage) -> None:
        """Know the topics from now on."""
        self._image = image

    def commit_offset(
        self, request: OffsetCommitRequest, api_version: int, now_ms: int
    ) -> CoordinatorResult[OffsetCommitResponse]:
        """OffsetCommit. The topics have both name and id, whichever of them the client sent."""
        validate = self._validate_offset_commit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            api_version,
        )
        retention_ms = request.retention_time_ms
        expire_ms = NO_TIMESTAMP_MS
        if retention_ms != _DEFAULT_RETENTION_TIME_MS:
            expire_ms = min(now_ms + retention_ms, _TIMESTAMP_MAX_MS)
        commit = OffsetCommitRecords(request.group_id, self._config.offset_metadata_max_bytes, now_ms, expire_ms)
        topics = [
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition, code in zip(
                        topic.partitions,
                        commit.add(topic.name, topic.topic_id, topic.partitions, validate),
                        strict=True,
                    )
                ],
            )
            for topic in request.topics
        ]
        self._metrics.offset_commits.value += len(commit.records)
        return CoordinatorResult(commit.records, OffsetCommitResponse(topics=topics))

    def commit_plain_offsets(
        self, commit: PlainOffsetCommit, api_version: int, now_ms: int
    ) -> CoordinatorResult[Sequence[int]]:
        """OffsetCommit, answered by the code of each partition. The topics have both name and id."""
        validate = self._validate_offset_commit(
            commit.group_id,
            commit.member_id,
            commit.group_instance_id,
            commit.generation_id_or_member_epoch,
            api_version,
        )
        offsets = OffsetCommitRecords(commit.group_id, self._config.offset_metadata_max_bytes, now_ms)
        codes: list[ErrorCode] = []
        for topic in commit.topics:
            codes += offsets.add(topic.name, topic.topic_id, topic.partitions, validate)
        records = offsets.records
        self._metrics.offset_commits.value += len(records)
        return CoordinatorResult(records, codes)

    def commit_transactional_offset(
        self, request: TxnOffsetCommitRequest, api_version: int, now_ms: int
    ) -> CoordinatorResult[TxnOffsetCommitResponse]:
        """TxnOffsetCommit: the records belong to a transaction, and count when that is committed."""
        try:
            return self._commit_transactional_offset(request, api_version, now_ms)
        except KafkaError as error:
            if error.code == ErrorCode.STALE_MEMBER_EPOCH:  # unknown to transactional producers
                raise ApiError(ErrorCode.ILLEGAL_GENERATION, str(error)) from error
            raise

    def _commit_transactional_offset(
        self, request: TxnOffsetCommitRequest, api_version: int, now_ms: int
    ) -> CoordinatorResult[TxnOffsetCommitResponse]:
        validate = self._validate_transactional_offset_commit(request, api_version)
        commit = OffsetCommitRecords(request.group_id, self._config.offset_metadata_max_bytes, now_ms)
        topics = []
        for topic in request.topics:
            name = topic.name
            topic_id = ZERO_UUID if validate is None else self._topic_id(name)
            codes = commit.add(name, topic_id, topic.partitions, validate, keep_topic_id=False)
            partitions = [
                TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                for partition, code in zip(topic.partitions, codes, strict=True)
            ]
            topics.append(TxnOffsetCommitResponseTopic(name=name, partitions=partitions))
        self._metrics.offset_commits.value += len(commit.records)
        return CoordinatorResult(commit.records, TxnOffsetCommitResponse(topics=topics))

    def _validate_offset_commit(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        api_version: int,
    ) -> CommitPartitionValidator | None:
        group = self._groups.get(group_id)
        if group is None:
            if generation_id < 0:
                return None  # a consumer that does not join: its group comes to be with its first offset
            if api_version >= _GROUP_ID_NOT_FOUND_FROM_VERSION:
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        validate = group.validate_offset_commit(
            member_id, group_instance_id, generation_id, is_transactional=False, api_version=api_version
        )
        if isinstance(group, ClassicGroup) and group.state in _COMMITS_KEEP_SESSION_IN:
            self._extend_session(group, group.members.by_id[member_id])
        return validate

    def _validate_transactional_offset_commit(
        self, request: TxnOffsetCommitRequest, api_version: int
    ) -> CommitPartitionValidator | None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id < 0:
                return None
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        return group.validate_offset_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            api_version=api_version,
        )

    def _topic_id(self, name: str) -> Uuid:
        """The id of a topic whose partitions a member says to own."""
        topic_id = self._image.topics.topic_id(name)
        if topic_id is None:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        return topic_id

    def replay_offset_commit(
        self, record_offset: int, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue | None
    ) -> None:
        """An offset is committed, or would be by a transaction; None: it is gone, in open transactions too."""
        group_id, topic, partition = key.group, key.topic, key.partition
        if value is None:
            self.offsets.remove(group_id, topic, partition)
            self.pending.remove(group_id, topic, partition)
            return
        packed = pack(
            value.offset,
            record_offset,
            value.commit_timestamp,
            value.expire_timestamp,
            value.leader_epoch,
            value.topic_id,
            value.metadata,
        )
        self._keep(producer_id, group_id, topic, partition, packed)

    def replay_committed_offset(self, record_offset: int, producer_id: int, record: OffsetCommitRecord) -> None:
        """As ``replay_offset_commit``, for a record that was only just written and is no message."""
        packed = pack(
            record.offset,
            record_offset,
            record.commit_timestamp_ms,
            record.expire_timestamp_ms,
            record.leader_epoch,
            record.topic_id,
            record.metadata,
        )
        self._keep(producer_id, record.group_id, record.topic, record.partition, packed)

    def _keep(self, producer_id: int, group_id: str, topic: str, partition: int, packed: bytes) -> None:
        if group_id not in self._groups.groups:
            self._groups.get_or_create_simple_group(group_id)
        if producer_id == _NO_PRODUCER_ID:
            self.offsets.put(group_id, topic, partition, packed)
        else:
            self.pending.add(producer_id, group_id, topic, partition, packed)

    def replay_legacy_offset_commit(
        self, record_offset: int, producer_id: int, key: LegacyOffsetCommitKey, value: LegacyOffsetCommitValue | None
    ) -> None:
        """As a record of today."""
        self.replay_offset_commit(
            record_offset,
            producer_id,
            OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition),
            None
            if value is None
            else OffsetCommitValue(
                offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
            ),
        )

    def replay_end_transaction_marker(self, producer_id: int, *, committed: bool) -> None:
        """A transaction has ended: its offsets count now, unless a later record has overtaken them, or never will."""
        ended = self.pending.end(producer_id)
        if ended is None or not committed:
            return
        offsets = self.offsets
        for group_id, topic, partition, packed in ended:
            existing = offsets.get(group_id, topic, partition)
            if existing is None or record_offset_of(packed) > record_offset_of(existing):
                offsets.put(group_id, topic, partition, packed)
