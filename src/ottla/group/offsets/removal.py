"""Ends offsets: somebody deletes them, they expire, their topic is gone."""

from collections.abc import Mapping

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult
from ottla.group.group import Group
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.offset_commit_record import NO_TIMESTAMP_MS
from ottla.group.offsets.manager import OffsetMetadataManager
from ottla.group.offsets.offset_and_metadata import OffsetAndMetadata, timestamps_ms
from ottla.group.record_helpers import new_offset_commit_tombstone_record
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


class OffsetRemoval:
    """Decides on tombstones; an offset that only an open transaction has is ended by one, too."""

    __slots__ = ("_config", "_groups", "_metrics", "_offsets", "_pending")

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        groups: GroupStore,
        metrics: GroupMetrics,
        manager: OffsetMetadataManager,
    ) -> None:
        self._config = config
        self._groups = groups
        self._metrics = metrics
        self._offsets = manager.offsets
        self._pending = manager.pending

    def delete_offsets(self, request: OffsetDeleteRequest) -> CoordinatorResult[OffsetDeleteResponse]:
        """OffsetDelete: only of topics that nobody in the group reads."""
        group_id = request.group_id
        group = self._groups.group(group_id)
        group.validate_offset_delete()
        records = []
        topics = []
        for topic in request.topics:
            error_code = ErrorCode.NONE
            if group.is_subscribed_to_topic(topic.name):
                error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                indexes = [partition.partition_index for partition in topic.partitions]
                records += [
                    new_offset_commit_tombstone_record(group_id, topic.name, index)
                    for index in dict.fromkeys(indexes)
                    if self._offsets.get(group_id, topic.name, index) is not None
                    or self._pending.has(group_id, topic.name, index)
                ]
            partitions = [
                OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error_code)
                for partition in topic.partitions
            ]
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        self._metrics.offset_deletions.value += len(records)
        return CoordinatorResult(records, OffsetDeleteResponse(topics=topics))

    def delete_all_offsets(self, group_id: str) -> list[CoordinatorRecord]:
        """What ends every offset of a group that is being deleted."""
        committed = self._offsets.by_group.get(group_id, {})
        keys = [(topic, index) for topic, partitions in committed.items() for index in partitions]
        keys += [
            (topic, index)
            for topic, partitions in self._pending.of_group(group_id).items()
            for index in partitions
            if index not in committed.get(topic, ())
        ]
        return [new_offset_commit_tombstone_record(group_id, topic, index) for topic, index in keys]

    def cleanup_expired_offsets(self, group: Group, records: list[CoordinatorRecord], now_ms: int) -> bool:
        """Add tombstones for what has expired; whether the group has no offsets after that, open transactions included.

        An offset does not expire while somebody reads its topic, nor while a transaction is about to replace it.
        """
        group_id = group.group_id
        pending = self._pending.of_group(group_id)
        all_expired = not pending
        before = len(records)
        for topic, partitions in self._offsets.by_group.get(group_id, {}).items():
            if group.is_subscribed_to_topic(topic):
                all_expired = False
                continue
            unstable = pending.get(topic, ())
            for index, packed in partitions.items():
                if index not in unstable and self._is_expired(group, packed, now_ms):
                    records.append(new_offset_commit_tombstone_record(group_id, topic, index))
                else:
                    all_expired = False
        self._metrics.offset_expirations.value += len(records) - before
        return all_expired

    def _is_expired(self, group: Group, packed: bytes, now_ms: int) -> bool:
        commit_ms, expire_ms = timestamps_ms(packed)
        since_ms = group.offset_unused_since_ms(commit_ms)
        if since_ms is None:
            return False
        if expire_ms != NO_TIMESTAMP_MS:
            return now_ms >= expire_ms
        return now_ms - since_ms >= self._config.offsets_retention_ms

    def on_topics_deleted(self, topics: Mapping[Uuid, str]) -> list[CoordinatorRecord]:
        """What ends the offsets of topics that are gone: those with the topic's id, and those that name none."""
        ids_by_name: dict[str, list[Uuid]] = {}
        for topic_id, name in topics.items():
            ids_by_name.setdefault(name, [ZERO_UUID]).append(topic_id)
        keys: dict[tuple[str, str, int], None] = {}
        for store in (self._offsets, *self._pending.by_producer.values()):
            for group_id, offsets in store.by_group.items():
                for name, ids in ids_by_name.items():
                    for index, packed in offsets.get(name, {}).items():
                        if OffsetAndMetadata.unpack(packed).topic_id in ids:
                            keys[group_id, name, index] = None
        return [new_offset_commit_tombstone_record(*key) for key in keys]
