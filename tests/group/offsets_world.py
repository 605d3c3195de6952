"""Offsets of groups with the log that they come from: every result is written, encoded, and replayed."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from ottla.common.uuid import Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.offsets.fetch import OffsetReader
from ottla.group.offsets.manager import OffsetMetadataManager
from ottla.group.offsets.offset_and_metadata import OffsetAndMetadata
from ottla.group.offsets.removal import OffsetRemoval
from ottla.group.records import RECORD_TYPES, GroupMetadataKey, OffsetCommitKey, OffsetCommitValue
from ottla.metrics.registry import Registry
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

T = TypeVar("T")

SERDE = RecordSerde(RECORD_TYPES)
RETENTION_MINUTES = 10
RETENTION_MS = RETENTION_MINUTES * 60_000
METADATA_MAX = 8
NO_PRODUCER = -1
TOPIC_IDS = {name: Uuid(name.encode().ljust(16, b"\0")) for name in ("t", "u", "v")}


class WrittenRecord(NamedTuple):
    """A record of the log."""

    producer_id: int
    key: bytes
    value: bytes | None


class Marker(NamedTuple):
    """The end of a transaction in the log."""

    producer_id: int
    committed: bool


class OffsetsWorld:
    """One shard's offsets; ``sessions`` are the members whose session a commit has extended."""

    def __init__(self, log: Iterable[WrittenRecord | Marker] = ()) -> None:
        self.config = GroupCoordinatorConfig(
            offset_metadata_max_bytes=METADATA_MAX, offsets_retention_minutes=RETENTION_MINUTES
        )
        self.groups = GroupStore()
        self.metrics = GroupMetrics(Registry())
        self.sessions: list[str] = []
        self.manager = OffsetMetadataManager(
            config=self.config, groups=self.groups, metrics=self.metrics, extend_session=self._extend_session
        )
        self.reader = OffsetReader(self.groups, self.manager)
        self.removal = OffsetRemoval(config=self.config, groups=self.groups, metrics=self.metrics, manager=self.manager)
        self.log: list[WrittenRecord | Marker] = []
        for entry in log:
            self._append(entry)

    def _extend_session(self, group: ClassicGroup, member: ClassicGroupMember) -> None:
        self.sessions.append(f"{group.group_id}/{member.member_id}")

    def _append(self, entry: WrittenRecord | Marker) -> None:
        offset = len(self.log)
        self.log.append(entry)
        if isinstance(entry, Marker):
            self.manager.replay_end_transaction_marker(entry.producer_id, committed=entry.committed)
            return
        record = SERDE.decode(entry.key, entry.value)
        match record.key, record.value:
            case OffsetCommitKey() as key, (OffsetCommitValue() | None) as value:
                self.manager.replay_offset_commit(offset, entry.producer_id, key, value)
            case GroupMetadataKey() as group_key, None:
                self.groups.remove(group_key.group)
            case unexpected:
                raise AssertionError(unexpected)

    def write(self, result: CoordinatorResult[T], producer_id: int = NO_PRODUCER) -> T:
        """Append and replay; the response."""
        for record in result.records:
            self._append(WrittenRecord(producer_id, *SERDE.encode(record)))
        return result.response

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Append a marker."""
        self._append(Marker(producer_id, committed))

    def delete_group(self, group_id: str) -> None:
        """As DeleteGroups does."""
        group = self.groups.group(group_id)
        records = [*self.removal.delete_all_offsets(group_id), *group.tombstone_records()]
        self.write(CoordinatorResult(records, None))

    def cleanup(self, now_ms: int) -> None:
        """As the timer does: end offsets that expired, and groups that have none."""
        records: list[CoordinatorRecord] = []
        for group in self.groups.groups.values():
            if self.removal.cleanup_expired_offsets(group, records, now_ms) and group.is_empty:
                records += group.tombstone_records()
        self.write(CoordinatorResult(records, None))

    def committed(self) -> dict[tuple[str, str, int], OffsetAndMetadata]:
        """Every offset."""
        return {
            (group_id, topic, partition): OffsetAndMetadata.unpack(packed)
            for group_id, topic, partition, packed in self.manager.offsets
        }

    def pending(self) -> dict[tuple[int, str, str, int], OffsetAndMetadata]:
        """Every offset of an open transaction."""
        return {
            (producer_id, group_id, topic, partition): OffsetAndMetadata.unpack(packed)
            for producer_id, store in self.manager.pending.by_producer.items()
            for group_id, topic, partition, packed in store
        }


def commit_request(
    group_id: str = "g",
    topic: str = "t",
    partition: int = 0,
    offset: int = 100,
    metadata: str | None = "",
    *,
    member_id: str = "",
    generation_id: int = -1,
    retention_ms: int = -1,
) -> OffsetCommitRequest:
    """A commit of one offset."""
    offsets = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_leader_epoch=5, committed_metadata=metadata
    )
    return OffsetCommitRequest(
        group_id=group_id,
        member_id=member_id,
        generation_id_or_member_epoch=generation_id,
        retention_time_ms=retention_ms,
        topics=[OffsetCommitRequestTopic(name=topic, topic_id=TOPIC_IDS[topic], partitions=[offsets])],
    )


def txn_commit_request(
    producer_id: int, group_id: str = "g", topic: str = "t", partition: int = 0, offset: int = 100
) -> TxnOffsetCommitRequest:
    """A transactional commit of one offset."""
    offsets = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    return TxnOffsetCommitRequest(
        group_id=group_id,
        transactional_id=f"x{producer_id}",
        producer_id=producer_id,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[offsets])],
    )


def fetch_request(group_id: str = "g", topic: str = "t", *partitions: int) -> OffsetFetchRequestGroup:
    """A question for some partitions of a topic."""
    topics = OffsetFetchRequestTopics(name=topic, topic_id=TOPIC_IDS[topic], partition_indexes=list(partitions))
    return OffsetFetchRequestGroup(group_id=group_id, topics=[topics])
