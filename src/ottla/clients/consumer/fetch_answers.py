"""What a node's answer does to positions, buffer and watermarks, partition by partition. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.clients.consumer.aborted_transactions import AbortedTransaction
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetch_session import PartitionFetch
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.partition_state import PartitionState
from ottla.clients.consumer.record_errors import CorruptFetchError, PositionOutOfRangeError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import RecordTooLargeError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import CorruptRecordError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.fetch import PartitionData

STALE_METADATA_CODES: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
PASSING_CODES: Final = frozenset({ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})
"""Nothing to do but to ask again in a while: the broker is behind, or stumbled."""


class AnswerSummary(NamedTuple):
    """What is left to do after an answer."""

    errors: list[KafkaError]
    """For the user."""
    is_metadata_stale: bool
    back_off: list[TopicPartition]
    """Not to be asked for again at once."""
    buffered_bytes: int
    has_data: bool


class FetchAnswers:
    """Applies answers; remembers the last error code of each partition for those who wonder why nothing arrives."""

    __slots__ = ("_buffer", "_check_crcs", "_isolation", "_replica_lease_ms", "_subscription", "last_codes")

    def __init__(
        self,
        subscription: SubscriptionState,
        buffer: FetchBuffer,
        *,
        isolation: IsolationLevel,
        check_crcs: bool,
        replica_lease_ms: int,
    ) -> None:
        """``replica_lease_ms``: how long a preferred read replica is kept before the leader is asked again."""
        self._subscription = subscription
        self._buffer = buffer
        self._isolation = isolation
        self._check_crcs = check_crcs
        self._replica_lease_ms = replica_lease_ms
        self.last_codes: dict[TopicPartition, int] = {}

    def apply(
        self,
        node_id: int,
        asked: Mapping[TopicPartition, PartitionFetch],
        answered: Mapping[TopicPartition, PartitionData],
        now_ms: int,
    ) -> AnswerSummary:
        """Take an answer in; what was asked before a seek, a reset or a revocation is left out."""
        errors: list[KafkaError] = []
        back_off: list[TopicPartition] = []
        is_stale, has_data, buffered_bytes = False, False, 0
        # Bytes of several partitions in one frame are parted: a paused one must not hold on to those of the others.
        is_shared = sum(1 for data in answered.values() if data.records) > 1
        for partition, data in answered.items():
            state = self._subscription.get(partition)
            if state is None or partition not in asked:
                continue
            offset, code = asked[partition].fetch_offset, data.error_code
            if code == ErrorCode.NONE:
                self.last_codes.pop(partition, None)
                self._note(state, data, now_ms)
                fetch = self._completed(partition, offset, data, node_id, is_shared=is_shared)
                if fetch is not None and not fetch.has_progress and fetch.size_in_bytes:
                    errors.append(no_progress(fetch))
                    back_off.append(partition)
                elif fetch is not None and self._buffer.add(fetch):
                    has_data = True
                    buffered_bytes += fetch.size_in_bytes
                continue
            self.last_codes[partition] = code
            if code == ErrorCode.OFFSET_OUT_OF_RANGE and state.preferred_read_replica >= 0:
                state.preferred_read_replica = -1  # the leader may have it
                error = None
            elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
                back_off.append(partition)
                error = self._out_of_range(partition, state, offset)
            elif code in STALE_METADATA_CODES or code in PASSING_CODES:
                is_stale |= code in STALE_METADATA_CODES
                state.preferred_read_replica = -1
                back_off.append(partition)
                error = None
            else:
                back_off.append(partition)
                error = error_for(code, f"Cannot fetch from {partition} at offset {offset}")
            if error is not None:
                errors.append(error)
        return AnswerSummary(errors, is_stale, back_off, buffered_bytes, has_data)

    def _note(self, state: PartitionState, data: PartitionData, now_ms: int) -> None:
        """What a broker does not say (-1) leaves what is known."""
        if data.high_watermark >= 0:
            state.high_watermark = data.high_watermark
        if data.last_stable_offset >= 0:
            state.last_stable_offset = data.last_stable_offset
        if data.log_start_offset >= 0:
            state.log_start_offset = data.log_start_offset
        if data.preferred_read_replica >= 0:
            state.preferred_read_replica = data.preferred_read_replica
            state.preferred_until_ms = now_ms + self._replica_lease_ms

    def _completed(
        self, partition: TopicPartition, offset: int, data: PartitionData, node_id: int, *, is_shared: bool
    ) -> CompletedFetch | None:
        records = data.records
        if not records:
            return None
        assert isinstance(records, bytes | bytearray | memoryview), "an answer that was read holds bytes"
        aborted = None
        if self._isolation is IsolationLevel.READ_COMMITTED:
            aborted = [AbortedTransaction(one.first_offset, one.producer_id) for one in data.aborted_transactions or ()]
        return CompletedFetch(
            partition,
            offset,
            bytes(records) if is_shared else memoryview(records),
            node_id=node_id,
            aborted=aborted,
            check_crcs=self._check_crcs,
        )

    def _out_of_range(self, partition: TopicPartition, state: PartitionState, offset: int) -> KafkaError | None:
        """Reset, unless what was asked for is not the position: then what waits before it comes first."""
        if state.position is None or not state.has_valid_position or state.position.offset != offset:
            return None
        if self._subscription.default_reset.is_none:
            return PositionOutOfRangeError({partition: offset})
        self._subscription.request_reset(partition)
        return None


def no_progress(fetch: CompletedFetch) -> KafkaError:
    """What is wrong with bytes in which there is no whole batch."""
    if fetch.is_garbled:
        cause = CorruptRecordError("the length of the batch is one that no batch has")
        return CorruptFetchError(fetch.partition, fetch.next_offset, cause)
    return RecordTooLargeError(
        f"Failed to make progress reading {fetch.partition} at offset {fetch.next_offset}: the first batch is larger "
        f"than the {fetch.size_in_bytes} bytes that the broker sent; raise max.partition.fetch.bytes"
    )
