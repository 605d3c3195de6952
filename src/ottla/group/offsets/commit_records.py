"""The records of one commit, and the error of each partition that has none."""

from collections.abc import Iterable
from typing import Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.group import CommitPartitionValidator
from ottla.group.offsets.offset_and_metadata import NO_TIMESTAMP_MS
from ottla.group.record_helpers import new_offset_commit_record


class CommittedPartition(Protocol):
    """A partition of an OffsetCommit or TxnOffsetCommit request."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class OffsetCommitRecords:
    """Collects ``records``, a topic at a time."""

    __slots__ = ("_expire_ms", "_group_id", "_metadata_max", "_now_ms", "records")

    def __init__(self, group_id: str, metadata_max: int, now_ms: int, expire_ms: int = NO_TIMESTAMP_MS) -> None:
        self._group_id = group_id
        self._metadata_max = metadata_max
        self._now_ms = now_ms
        self._expire_ms = expire_ms
        self.records: list[CoordinatorRecord] = []

    def add(
        self,
        topic: str,
        topic_id: Uuid,
        partitions: Iterable[CommittedPartition],
        validate: CommitPartitionValidator | None,
        *,
        keep_topic_id: bool = True,
    ) -> list[tuple[int, ErrorCode]]:
        """Add the offsets of a topic; returns the code of each partition. What ``validate`` raises ends the commit."""
        codes = []
        kept_id = topic_id if keep_topic_id else ZERO_UUID
        for partition in partitions:
            index = partition.partition_index
            metadata = partition.committed_metadata or ""
            if self.is_too_large(metadata):
                codes.append((index, ErrorCode.OFFSET_METADATA_TOO_LARGE))
                continue
            if validate is not None:
                validate(topic, topic_id, index)
            self.add_offset(
                topic,
                kept_id,
                index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
            )
            codes.append((index, ErrorCode.NONE))
        return codes

    def is_too_large(self, metadata: str) -> bool:
        """Whether there is more metadata with an offset than is allowed, as Java counts it."""
        return _java_length(metadata) > self._metadata_max

    def add_offset(
        self, topic: str, topic_id: Uuid, partition: int, *, offset: int, leader_epoch: int, metadata: str
    ) -> None:
        """Add an offset about which nothing is wrong."""
        self.records.append(
            new_offset_commit_record(
                self._group_id,
                topic,
                partition,
                offset=offset,
                leader_epoch=leader_epoch,
                metadata=metadata,
                commit_timestamp_ms=self._now_ms,
                expire_timestamp_ms=self._expire_ms,
                topic_id=topic_id,
            )
        )


def _java_length(text: str) -> int:
    """As Java counts: a character beyond the first 65,536 is two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
