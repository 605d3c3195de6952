"""Writes the markers that end transactions to the partitions that this broker leads.

Both ways come here: the WriteTxnMarkers of another broker's coordinator, and the markers of a coordinator in this one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.records.append_origin import AppendOrigin
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.replication.append_result import AppendResult
from ottla.replication.appender import ACKS_ALL, Entry
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.completion import Completion
from ottla.runtime.port import Clock

_NOT_READY: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Errors of a group coordinator that a transaction coordinator does not know, and takes for a leader that moves."""


class TxnMarker(NamedTuple):
    """The end of one producer's transaction."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int

    def batch(self, now_ms: int) -> bytearray:
        """The marker as a partition keeps it."""
        kind = ControlRecordType.COMMIT if self.committed else ControlRecordType.ABORT
        return end_transaction_batch(
            EndTransactionMarker(kind, self.coordinator_epoch),
            timestamp=now_ms,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
        )


class PendingOffsets(Protocol):
    """The group coordinator, as far as transactions commit offsets with it."""

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
        """Append the marker to a partition of ``__consumer_offsets``; the offsets that waited for it follow."""


Written = Callable[[Mapping[TopicPartition, int]], None]
"""Takes the error code of each partition (0: the marker is committed), once for all of them."""


class TxnMarkerWriter:
    """See the module."""

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        *,
        pending_offsets: Callable[[], PendingOffsets],
        request_timeout_ms: Callable[[], int],
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._pending_offsets = pending_offsets
        self._request_timeout_ms = request_timeout_ms

    def write(self, marker: TxnMarker, partitions: Iterable[TopicPartition], written: Written) -> None:
        """Append the marker to each partition, and call ``written`` when all are committed or refused."""
        _Write(marker, dict.fromkeys(partitions), written).start(
            self._replicas, self._clock.now_ms(), self._pending_offsets, self._request_timeout_ms()
        )


class _Write:
    """One marker on its way to its partitions."""

    __slots__ = ("_errors", "_marker", "_partitions", "_unanswered", "_written")

    def __init__(self, marker: TxnMarker, partitions: Mapping[TopicPartition, None], written: Written) -> None:
        self._marker = marker
        self._partitions = partitions
        self._written = written
        self._errors: dict[TopicPartition, int] = {}
        self._unanswered = len(partitions)

    def start(
        self,
        replicas: ReplicaManager,
        now_ms: int,
        pending_offsets: Callable[[], PendingOffsets],
        request_timeout_ms: int,
    ) -> None:
        if not self._partitions:
            self._written(self._errors)
            return
        data: list[Entry] = []
        offsets: list[TopicPartition] = []
        for topic_partition in self._partitions:
            if topic_partition not in replicas.partitions.online:
                self._answer(topic_partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif topic_partition.topic == GROUP_METADATA_TOPIC:
                offsets.append(topic_partition)
            else:
                data.append((topic_partition, None, self._marker.batch(now_ms)))
        for topic_partition in offsets:
            self._complete_offsets(topic_partition, pending_offsets())
        if data:
            replicas.append_records(
                data,
                ACKS_ALL,
                request_timeout_ms,
                lambda results: self._appended(data, results),
                origin=AppendOrigin.COORDINATOR,
                internal_topics_allowed=True,
                transaction_version=self._marker.transaction_version,
            )

    def _complete_offsets(self, topic_partition: TopicPartition, pending_offsets: PendingOffsets) -> None:
        marker = self._marker
        completion = pending_offsets.complete_transaction(
            topic_partition,
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            committed=marker.committed,
            transaction_version=marker.transaction_version,
        )

        def completed(done: Completion[None]) -> None:
            try:
                done.result()
            except KafkaError as error:
                code = error.code
                self._answer(topic_partition, ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NOT_READY else code)
            else:
                self._answer(topic_partition, ErrorCode.NONE)

        completion.add_done_callback(completed)

    def _appended(self, entries: list[Entry], results: list[AppendResult]) -> None:
        for entry, result in zip(entries, results, strict=True):
            self._answer(entry[0], result.error_code)

    def _answer(self, topic_partition: TopicPartition, error_code: int) -> None:
        self._errors[topic_partition] = error_code
        self._unanswered -= 1
        if self._unanswered == 0:
            self._written(self._errors)
