"""What has been fetched of a task's ranges, and what answers mean for the rest. Pure.

A range ends when its position reaches the end, which gaps (compaction, markers of transactions, aborted records) bring
nearer as records do. If a broker has all offsets up to the end and repeatedly sends nothing, nothing is there; but for
what is in remote storage, of which it also sends nothing when that takes too long.
"""

import logging
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.aborted_transactions import AbortedTransaction
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.fetch_answers import PASSING_CODES, STALE_METADATA_CODES, no_progress
from ottla.clients.consumer.node_outages import NodeOutages
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.errors import KafkaTimeoutError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError, UnsupportedForMessageFormatError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.network.exponential_backoff import ExponentialBackoff
from ottla.protocol.messages.fetch import FetchResponse, PartitionData
from ottla.records.batch import MAGIC
from ottla.spark.scan.fetch_settings import FetchSettings
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.range_cursor import RangeCursor
from ottla.spark.scan.scan_errors import CorruptBatchError, DataLossError
from ottla.spark.scan.scan_plan import LogBounds, ScanFetch, ScanLookup, ScanPlan, make_plan

logger = logging.getLogger(__name__)

GONE_AFTER_MS: Final = 10_000
"""A partition that no broker has known for so long was deleted."""
_UNKNOWN_CODES: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_MAGIC_POSITION: Final = 16


class ScanMachine:
    """``plan``, then for each fetch exactly one of ``answered`` and ``failed``, for each lookup ``looked_up`` or
    ``lookup_failed``; ``released`` when an answer's records were used. All may raise a KafkaError, which ends the scan.
    """

    def __init__(self, ranges: Sequence[OffsetRange], settings: FetchSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._cursors = [RangeCursor(each) for each in ranges]
        self._outages = NodeOutages()
        self._back_off = ExponentialBackoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._busy_nodes: set[int] = set()
        self._reserved_bytes = 0
        self._waiting_bytes = 0
        self.is_metadata_stale = False
        """Somebody should ask for an update; who does so clears it."""

    @property
    def is_done(self) -> bool:
        """Whether everything was fetched."""
        return all(cursor.is_done for cursor in self._cursors) and not self._busy_nodes

    @property
    def bytes_ahead(self) -> int:
        """How many bytes were asked for, or came and were not released."""
        return self._reserved_bytes + self._waiting_bytes

    @property
    def topics(self) -> set[str]:
        """What is left to read is of these."""
        return {cursor.wanted.topic for cursor in self._cursors if not cursor.is_done}

    def plan(self, metadata: ClusterMetadata, now_ms: int) -> ScanPlan:
        """What to send now; it counts as sent."""
        plan = make_plan(
            self._cursors,
            metadata,
            self._settings,
            now_ms=now_ms,
            busy_nodes=self._busy_nodes | self._outages.backing_off(now_ms),
            room_bytes=self._settings.ahead_bytes_max - self.bytes_ahead,
            is_idle=not self.bytes_ahead,
        )
        for fetch in plan.fetches:
            self._reserved_bytes += fetch.max_bytes
        sent: list[ScanFetch | ScanLookup] = [*plan.fetches, *plan.lookups]
        for each in sent:
            self._busy_nodes.add(each.node_id)
            for cursor in each.cursors:
                cursor.asked(now_ms)
        for cursor in plan.leaderless:
            self._without_leader(cursor, metadata, now_ms)
        for cursor in self._cursors:
            self._check_time(cursor, now_ms)
        return plan

    def next_time_ms(self, now_ms: int) -> int | None:
        """When to plan again though nothing has happened; None if there is no such time."""
        times = [cursor.retry_at_ms for cursor in self._cursors if not cursor.is_done and cursor.retry_at_ms > now_ms]
        times += self._outages.retry_times(now_ms)
        times += [
            cursor.waiting_since_ms + self._settings.timeout_ms
            for cursor in self._cursors
            if cursor.waiting_since_ms is not None and not cursor.is_done
        ]
        return min(times, default=None)

    def released(self, size_in_bytes: int) -> None:
        """The records of an answer of this size were used."""
        self._waiting_bytes -= size_in_bytes
        assert self._waiting_bytes >= 0

    def answered(
        self, fetch: ScanFetch, response: FetchResponse, names: Mapping[Uuid, str], now_ms: int
    ) -> list[CompletedFetch]:
        """What came, in the order of the ranges; ``names`` are those of the topics' ids."""
        self._ended(fetch)
        self._reserved_bytes -= fetch.max_bytes
        self._outages.answered(fetch.node_id)
        if response.error_code != ErrorCode.NONE:
            self._put_off(fetch.cursors, str(error_for(response.error_code)), now_ms)
            return []
        data = {
            TopicPartition(topic.topic or names.get(topic.topic_id, ""), each.partition_index): each
            for topic in response.responses
            for each in topic.partitions
        }
        any_records = any(each.records for each in data.values())
        completed = []
        for cursor in fetch.cursors:
            answer = data.get(cursor.partition)
            if answer is None:  # a throttled broker sends an empty answer
                self._put_off([cursor], "the broker left it out of its answer", now_ms)
                continue
            if answer.error_code != ErrorCode.NONE:
                self._refused(cursor, answer.error_code, now_ms)
            elif answer.records:
                completed.append(self._completed(cursor, fetch.node_id, answer))
            else:
                self._empty(cursor, answer, now_ms, is_crowded_out=any_records)
        self._waiting_bytes += sum(each.size_in_bytes for each in completed)
        return completed

    def failed(self, fetch: ScanFetch, error: KafkaError, now_ms: int) -> None:
        """The node did not answer."""
        self._ended(fetch)
        self._reserved_bytes -= fetch.max_bytes
        self._node_failed(fetch, error, now_ms)

    def looked_up(self, lookup: ScanLookup, found: Mapping[TopicPartition, LogBounds], now_ms: int) -> None:
        """Where logs begin and end, as far as the node would tell."""
        self._ended(lookup)
        for cursor in lookup.cursors:
            bounds = found.get(cursor.partition)
            if bounds is None:
                self.is_metadata_stale = True
                self._put_off([cursor], "the broker does not tell where its log begins and ends", now_ms)
            else:
                cursor.needs_lookup = False
                self._in_log(cursor, bounds, now_ms)

    def lookup_failed(self, lookup: ScanLookup, error: KafkaError, now_ms: int) -> None:
        """The node did not answer."""
        self._ended(lookup)
        self._node_failed(lookup, error, now_ms)

    def _ended(self, sent: ScanFetch | ScanLookup) -> None:
        self._busy_nodes.discard(sent.node_id)
        for cursor in sent.cursors:
            cursor.in_flight = False

    def _node_failed(self, sent: ScanFetch | ScanLookup, error: KafkaError, now_ms: int) -> None:
        if not error.retriable:
            raise error
        delay_ms = self._back_off.backoff_ms(self._outages.attempts(sent.node_id), self._rng)
        self._outages.failed(sent.node_id, str(error), now_ms, now_ms + delay_ms)
        self.is_metadata_stale = True
        for cursor in sent.cursors:
            cursor.replica_id = -1
            cursor.why = str(error)

    def _put_off(self, cursors: Sequence[RangeCursor], why: str, now_ms: int) -> None:
        for cursor in cursors:
            cursor.put_off(now_ms + self._settings.retry_backoff_ms, why)

    def _completed(self, cursor: RangeCursor, node_id: int, answer: PartitionData) -> CompletedFetch:
        records = answer.records
        assert isinstance(records, bytes | bytearray | memoryview), "an answer that was read holds bytes"
        buffer = memoryview(records)
        topic, partition = cursor.partition
        if len(buffer) > _MAGIC_POSITION and buffer[_MAGIC_POSITION] < MAGIC:
            cause = UnsupportedForMessageFormatError(
                f"it is of message format {buffer[_MAGIC_POSITION]}, from before Kafka 0.11; only format 2 is read"
            )
            raise CorruptBatchError(topic, partition, cursor.position, cause)
        aborted = None
        if self._settings.isolation is IsolationLevel.READ_COMMITTED:
            aborted = [
                AbortedTransaction(one.first_offset, one.producer_id) for one in answer.aborted_transactions or ()
            ]
        fetch = CompletedFetch(
            cursor.partition,
            cursor.position,
            buffer,
            node_id=node_id,
            aborted=aborted,
            check_crcs=self._settings.check_crcs,
            until_offset=cursor.wanted.end_offset,
        )
        if fetch.end_offset <= cursor.position:
            raise CorruptBatchError(topic, partition, cursor.position, no_progress(fetch))
        cursor.moved(fetch.end_offset, fetch.size_in_bytes)
        return fetch

    def _empty(self, cursor: RangeCursor, answer: PartitionData, now_ms: int, *, is_crowded_out: bool) -> None:
        if answer.preferred_read_replica >= 0:
            cursor.replica_id = answer.preferred_read_replica
            cursor.replica_until_ms = now_ms + self._settings.replica_lease_ms
            return
        if is_crowded_out:
            cursor.heard()
            return
        is_committed = self._settings.isolation is IsolationLevel.READ_COMMITTED
        readable_end = answer.last_stable_offset if is_committed else answer.high_watermark
        if readable_end >= cursor.wanted.end_offset:
            cursor.empty_answers += 1
            cursor.needs_lookup = cursor.is_taken_for_empty
        elif answer.high_watermark < cursor.wanted.end_offset:
            cursor.short_end_offset = answer.high_watermark
        kind = "committed records end" if is_committed else "it ends"
        self._put_off([cursor], f"{kind} at offset {readable_end}", now_ms)

    def _refused(self, cursor: RangeCursor, code: int, now_ms: int) -> None:
        error = error_for(code)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if cursor.replica_id >= 0:
                cursor.replica_id = -1  # the leader may have it
            else:
                cursor.needs_lookup = True
                cursor.why = str(error)
            return
        if not (error.retriable or code in STALE_METADATA_CODES or code in PASSING_CODES):
            raise error_for(code, f"Cannot read {cursor.partition}: {error}")
        cursor.replica_id = -1
        if code in STALE_METADATA_CODES:
            self.is_metadata_stale = True
        self._put_off([cursor], str(error), now_ms)
        if code in _UNKNOWN_CODES:
            self._unknown(cursor, now_ms)

    def _without_leader(self, cursor: RangeCursor, metadata: ClusterMetadata, now_ms: int) -> None:
        self.is_metadata_stale = True
        if cursor.waiting_since_ms is None:
            cursor.waiting_since_ms = now_ms
        topic = metadata.topics.get(cursor.wanted.topic)
        code = ErrorCode.NONE if topic is None else topic.error_code
        if code not in (ErrorCode.NONE, *_UNKNOWN_CODES) and not error_for(code).retriable:
            raise error_for(code, f"Cannot read {cursor.partition}: {error_for(code)}")
        self._put_off([cursor], "it has no leader", now_ms)
        if code in _UNKNOWN_CODES or (
            topic is not None and topic.partitions and cursor.wanted.partition not in topic.partitions
        ):
            self._unknown(cursor, now_ms)

    def _unknown(self, cursor: RangeCursor, now_ms: int) -> None:
        if cursor.unknown_since_ms is None:
            cursor.unknown_since_ms = now_ms
        elif now_ms - cursor.unknown_since_ms >= GONE_AFTER_MS:
            self._lost(cursor, cursor.wanted.end_offset, DataLossError.of_topic(cursor.wanted, cursor.position))

    def _in_log(self, cursor: RangeCursor, bounds: LogBounds, now_ms: int) -> None:
        position, wanted = cursor.position, cursor.wanted
        start, local_start, end = bounds
        if position < start:
            self._lost(cursor, min(start, wanted.end_offset), DataLossError.of_start(wanted, position, start))
        elif position > end:
            self._lost(cursor, wanted.end_offset, DataLossError.of_end(wanted, position, end))
        elif cursor.is_taken_for_empty and position >= local_start:
            logger.info("%s has no records from offset %s to %s", cursor.partition, position, wanted.end_offset)
            cursor.moved(wanted.end_offset, 0)
        elif cursor.is_taken_for_empty:
            cursor.empty_answers = 0
            self._put_off([cursor], f"all before offset {local_start} is in remote storage, which is slow", now_ms)
        else:
            self._put_off([cursor], "its log begins and ends elsewhere than a moment ago", now_ms)

    def _lost(self, cursor: RangeCursor, position: int, error: DataLossError) -> None:
        if self._settings.fail_on_data_loss:
            raise error
        logger.warning("%s is read from offset %s on: %s", cursor.partition, position, error)
        cursor.moved(position, 0)

    def _check_time(self, cursor: RangeCursor, now_ms: int) -> None:
        since_ms, timeout_ms = cursor.waiting_since_ms, self._settings.timeout_ms
        if cursor.is_done or since_ms is None or now_ms - since_ms < timeout_ms:
            return
        if cursor.short_end_offset is not None:
            error = DataLossError.of_end(cursor.wanted, cursor.position, cursor.short_end_offset)
            self._lost(cursor, cursor.wanted.end_offset, error)
            return
        raise KafkaTimeoutError(
            f"Nothing of {cursor.partition} came from offset {cursor.position} on (of {cursor.wanted.start_offset} to "
            f"{cursor.wanted.end_offset}) within {timeout_ms} ms: {cursor.why}"
        )
