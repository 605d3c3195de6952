"""The records of one commit, and the error of each partition that has none."""

from collections.abc import Iterable
from typing import Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.group import CommitPartitionValidator
from ottla.group.offset_commit_record import NO_TIMESTAMP_MS, OffsetCommitRecord

_NONE: Final = ErrorCode.NONE
_TOO_LARGE: Final = ErrorCode.OFFSET_METADATA_TOO_LARGE


class CommittedPartition(Protocol):
    """A partition of an OffsetCommit or TxnOffsetCommit request."""

    @property
    def partition_index(self) -> int:
        """Which one."""

    @property
    def committed_offset(self) -> int:
        """Up to where it was read."""

    @property
    def committed_leader_epoch(self) -> int:
        """The epoch of the last record read, or -1."""

    @property
    def committed_metadata(self) -> str | None:
        """Whatever the client likes."""


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
    ) -> list[ErrorCode]:
        """Add the offsets of a topic; returns the code of each partition. What ``validate`` raises ends the commit."""
        codes: list[ErrorCode] = []
        kept_id = topic_id if keep_topic_id else ZERO_UUID
        for partition in partitions:
            index = partition.partition_index
            metadata = partition.committed_metadata
            if metadata and _java_length(metadata) > self._metadata_max:
                codes.append(_TOO_LARGE)
                continue
            if validate is not None:
                validate(topic, topic_id, index)
            self.records.append(
                OffsetCommitRecord(
                    self._group_id,
                    topic,
                    index,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata or "",
                    self._now_ms,
                    self._expire_ms,
                    kept_id,
                )
            )
            codes.append(_NONE)
        return codes


def _java_length(text: str) -> int:
    """As Java counts: a character beyond the first 65,536 is two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
