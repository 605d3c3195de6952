"""Appending for a produce: several partitions, answered when the acknowledgements that were asked for are there.

A produce is answered

- with acks 0 or 1 when its records are in the log,
- with acks all when they are committed, which a leader alone finds at once and another one in the purgatory,

and in either case not before they are on the disk where the topic says so (``flush.messages``).

Where more records have to be read than a turn of the reactor allows, the produce goes on in the next turn; what is too
much for any turn a worker process reads. The produce then goes on from that entry as if it had only just come:
leadership, rules and sequences are looked at then.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.error_words import in_words
from ottla.common.errors import (
    ApiError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaError,
    KafkaStorageError,
)
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.producer_append import TV_UNKNOWN
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import Buffer
from ottla.records.inspection import (
    InlineInspector,
    Inspection,
    InspectionPutOff,
    inspect,
    inspect_bytes,
    inspect_inline,
)
from ottla.replication.append_result import AppendResult
from ottla.replication.broker_topic_metrics import BrokerTopicMetrics
from ottla.replication.delayed_produce import DelayedProduce
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.partition import Partition
from ottla.replication.purgatories import Purgatories
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

Entry = tuple[TopicPartition, Uuid | None, Buffer]
"""The records for one partition; the topic's id where the request gives one. A plain pair of topic and index will do
for the partition.
"""
Respond = Callable[[list[AppendResult]], None]
"""Called once, with a result for each entry, in order."""

Unacknowledged = tuple[Partition, AppendResult]
"""A batch that is in the log, and not yet where it has to be."""

ACKS_ALL: Final = -1
_VALID_ACKS: Final = (0, 1, ACKS_ALL)
_NO_GUARDS: Final[Mapping[TopicPartition, VerificationGuard]] = {}
_CLIENT: Final = AppendOrigin.CLIENT

_EXPECTED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)
"""What does not count as a failed produce, and is answered without the start of the log."""


class _Produce(NamedTuple):
    """A produce, and what has become of its first entries."""

    entries: Sequence[Entry]
    required_acks: int
    timeout_ms: int
    respond: Respond
    origin: AppendOrigin
    internal_topics_allowed: bool
    verification_guards: Mapping[TopicPartition, VerificationGuard]
    transaction_version: int
    results: list[AppendResult]
    uncommitted: list[tuple[Partition, AppendResult]]


class _Pending(NamedTuple):
    """A produce that cannot be answered at once."""

    results: list[AppendResult]
    uncommitted: list[tuple[Partition, AppendResult]]
    required_acks: int
    timeout_ms: int
    respond: Respond


class Appender:
    """Appends to the partitions that this broker leads."""

    def __init__(
        self,
        runtime: Runtime,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        all_topics: BrokerTopicMetrics,
        on_expired: Callable[[Partition], None],
    ) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._partitions = partitions
        self._online = partitions.online
        self._purgatories = purgatories
        self._check_fetches = purgatories.fetch.check_and_complete
        self._fetch_watchers = purgatories.fetch.watchers
        self._all_topics = all_topics
        self._on_expired = on_expired
        self._is_stopped = False

    def stop(self) -> None:
        """The logs are about to be closed: what waits for its records to be read, or for a coordinator, stays out."""
        self._is_stopped = True

    def append_records(
        self,
        entries: Sequence[Entry],
        required_acks: int,
        timeout_ms: int,
        respond: Respond,
        *,
        origin: AppendOrigin = _CLIENT,
        internal_topics_allowed: bool = False,
        verification_guards: Mapping[TopicPartition, VerificationGuard] = _NO_GUARDS,
        transaction_version: int = TV_UNKNOWN,
    ) -> bool:
        """Append each entry on its own; see the module for when ``respond`` is called, often before this returns.

        Returns whether each has its place in the log or is refused: then nobody looks at the entries any more.
        """
        if required_acks not in _VALID_ACKS:
            respond([AppendResult(ErrorCode.INVALID_REQUIRED_ACKS) for _ in entries])
            return True
        return self._go_on(
            _Produce(
                entries,
                required_acks,
                timeout_ms,
                respond,
                origin,
                internal_topics_allowed,
                verification_guards,
                transaction_version,
                results=[],
                uncommitted=[],
            )
        )

    def _go_on(self, produce: _Produce, inspection: Inspection | None = None) -> bool:
        """Append the entries that have no result yet, up to one to be read elsewhere; returns whether all have one.

        ``inspection`` is of the first of them.
        """
        if self._is_stopped:
            return False
        entries, results, origin = produce.entries, produce.results, produce.origin
        guards = produce.verification_guards
        inspect_in_place = InlineInspector().inspect if origin is _CLIENT else inspect
        inspect_records = inspect_in_place if inspection is None else inspection.recall
        appended: list[tuple[Partition, bool]] = []
        put_off = None
        all_topics = self._all_topics
        for topic_partition, topic_id, records in entries[len(results) :]:
            size = len(records)
            partition = None
            inspect_these, inspect_records = inspect_records, inspect_in_place
            try:
                if topic_partition[0] in INTERNAL_TOPICS and not produce.internal_topics_allowed:
                    raise ApiError(
                        ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {topic_partition[0]}"
                    )
                partition = self._online.get(topic_partition)
                if partition is None or topic_id is not None:
                    partition = None
                    partition = self._partitions.require(topic_partition, topic_id)
                info, hw_changed = partition.append_records_to_leader(
                    records,
                    origin,
                    produce.required_acks,
                    self._clock.monotonic_ms() if partition.remote_replicas else 0,
                    verification_guard=guards.get(topic_partition, SENTINEL) if guards else SENTINEL,
                    transaction_version=produce.transaction_version,
                    inspect_records=inspect_these,
                )
            except InspectionPutOff as error:
                put_off = error
                break
            except KafkaError as error:
                all_topics.total_produce_requests.value += 1
                if partition is not None:
                    partition.metrics.total_produce_requests.value += 1
                results.append(self._refused(topic_partition, size, error))
                continue
            result = self._note_appended(partition, info, size)
            results.append(result)
            appended.append((partition, hw_changed))
            log = partition.log
            assert log is not None
            if log.high_watermark <= result.last_offset:
                produce.uncommitted.append((partition, result))
        if put_off is None:
            self._respond(produce)
        for partition, hw_changed in appended:
            # Followers wait for the end of the log, consumers for the high watermark; a leader alone has no others.
            self._check_fetches(partition.topic_partition)
            if hw_changed and partition.remote_replicas:
                self._wake_others(partition)
        if put_off is not None:
            self._runtime.spawn(self._go_on_after_inspection(produce, put_off))
        return put_off is None

    async def _go_on_after_inspection(self, produce: _Produce, put_off: InspectionPutOff) -> None:
        """Have the records of the first entry without a result read, or wait for the next turn, and go on."""
        inspection = None
        if put_off.fit_no_turn:
            try:
                inspection = await self._inspect_elsewhere(put_off)
            except KafkaError as error:
                topic_partition, _, records = produce.entries[len(produce.results)]
                produce.results.append(self._refused(topic_partition, len(records), error))
        else:
            await self._runtime.sleep_ms(0)
        self._go_on(produce, inspection)

    async def _inspect_elsewhere(self, put_off: InspectionPutOff) -> Inspection:
        try:
            return await self._runtime.compute(
                inspect_bytes, bytes(put_off.batch.bytes), put_off.policy, put_off.now_ms
            )
        except OSError as error:
            # No process could be had, or it was killed. The one error that every producer takes for "later, please".
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"The records could not be read: {in_words(error)}"
            ) from error

    def _respond(self, produce: _Produce) -> None:
        """Every entry has its result: answer, now or when they are where they have to be."""
        if not produce.uncommitted:
            produce.respond(produce.results)
        else:
            self._respond_later(
                _Pending(
                    produce.results, produce.uncommitted, produce.required_acks, produce.timeout_ms, produce.respond
                )
            )

    def _note_appended(self, partition: Partition, info: AppendInfo, size_bytes: int) -> AppendResult:
        """Count an append, and say where it is."""
        log = partition.log
        assert log is not None
        count = info.records_count
        for metrics in (partition.metrics, self._all_topics):
            metrics.total_produce_requests.value += 1
            metrics.bytes_in.value += size_bytes
            metrics.messages_in.value += count
        return AppendResult(0, info.first_offset, info.append_time, log.log_start_offset, info.last_offset)

    def append_one(  # noqa: PLR0917  by position, for the hot path
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid | None,
        records: Buffer,
        required_acks: int,
        origin: AppendOrigin = _CLIENT,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = TV_UNKNOWN,
    ) -> AppendResult | Unacknowledged | None:
        """``append_records`` for one batch, which is what most produces and coordinators have: without lists around it.

        Returns the result where it is known at once; else what ``respond_when_acknowledged`` wants; and None, with
        nothing done, for what only ``append_records`` can answer.
        """
        partition = self._online.get(topic_partition)
        if (
            partition is None
            or required_acks not in _VALID_ACKS
            or (origin is _CLIENT and topic_partition[0] in INTERNAL_TOPICS)
            or (topic_id is not None and topic_id != partition.topic_id)
        ):
            return None
        size = len(records)
        remote_replicas = partition.remote_replicas
        try:
            info, hw_changed = partition.append_records_to_leader(
                records,
                origin,
                required_acks,
                self._clock.monotonic_ms() if remote_replicas else 0,
                verification_guard=verification_guard,
                transaction_version=transaction_version,
                inspect_records=inspect_inline if origin is _CLIENT else inspect,
            )
        except InspectionPutOff:
            return None
        except KafkaError as error:
            self._all_topics.total_produce_requests.value += 1
            partition.metrics.total_produce_requests.value += 1
            return self._refused(topic_partition, size, error)
        result = self._note_appended(partition, info, size)
        if topic_partition in self._fetch_watchers:
            self._check_fetches(topic_partition)
        if hw_changed and remote_replicas:
            self._wake_others(partition)
        log = partition.log
        assert log is not None
        return result if log.high_watermark > result.last_offset else (partition, result)

    def respond_when_acknowledged(
        self, unacknowledged: Unacknowledged, required_acks: int, timeout_ms: int, respond: Respond
    ) -> None:
        """Answer an ``append_one`` that is not committed, or not flushed, yet."""
        result = unacknowledged[1]
        self._respond_later(_Pending([result], [unacknowledged], required_acks, timeout_ms, respond))

    def _wake_others(self, partition: Partition) -> None:
        """The high watermark has moved because followers have: produces and deletions may have waited for that."""
        self._purgatories.produce.check_and_complete(partition.topic_partition)
        self._purgatories.delete_records.check_and_complete(partition.topic_partition)

    # -- answering later ----------------------------------------------------------------------------------------------

    def _respond_later(self, pending: _Pending) -> None:
        unflushed = [entry for entry in pending.uncommitted if entry[0].log is not None and entry[0].log.flush_due]
        if unflushed:
            self._runtime.spawn(self._respond_after_flush(pending, unflushed))
        else:
            self._await_acks(pending)

    async def _respond_after_flush(
        self, pending: _Pending, unflushed: Sequence[tuple[Partition, AppendResult]]
    ) -> None:
        flushes = []
        for partition, result in unflushed:
            log = partition.log
            try:
                if log is None:
                    raise self._partitions.missing(partition.topic_partition)
                flushes.append((partition, result, log.flush()))
            except KafkaError as error:
                result.error_code = error.code
        for partition, result, flush in flushes:
            try:
                await flush
            except KafkaStorageError as error:
                result.error_code = error.code
                continue
            if partition.is_leader and partition.maybe_increment_leader_high_watermark(self._clock.monotonic_ms()):
                self._purgatories.check_all(partition.topic_partition)
        self._await_acks(pending)

    def _await_acks(self, pending: _Pending) -> None:
        awaited = [entry for entry in pending.uncommitted if entry[1].error_code == 0]
        if pending.required_acks != ACKS_ALL or not awaited:
            pending.respond(pending.results)
            return
        operation = DelayedProduce(
            pending.timeout_ms,
            pending.results,
            awaited,
            respond=pending.respond,
            why_gone=self._partitions.missing,
            on_expired=self._on_expired,
        )
        self._purgatories.produce.try_complete_else_watch(
            operation, [partition.topic_partition for partition, _ in awaited]
        )

    # -- refusing -----------------------------------------------------------------------------------------------------

    def _refused(self, topic_partition: TopicPartition, size_bytes: int, error: KafkaError) -> AppendResult:
        partition = self._online.get(topic_partition)
        counted = [self._all_topics] if partition is None else [self._all_topics, partition.metrics]
        for metrics in counted:
            if error.code == ErrorCode.MESSAGE_TOO_LARGE:
                metrics.bytes_rejected.value += size_bytes
            elif error.code == ErrorCode.CORRUPT_MESSAGE:
                metrics.invalid_message_crc_records.value += 1
        if error.code in _EXPECTED:
            return AppendResult(error.code)
        for metrics in counted:
            metrics.failed_produce_requests.value += 1
        level = logging.INFO if isinstance(error, InvalidProducerEpochError) else logging.ERROR
        logger.log(level, "Error processing append operation on partition %s-%d: %s", *topic_partition, error)
        log = partition.log if partition is not None and partition.is_leader else None
        log_start_offset = -1 if log is None else log.log_start_offset
        if isinstance(error, InvalidRecordError | InvalidTimestampError) and error.record_errors:
            return AppendResult(
                error.code,
                log_start_offset=log_start_offset,
                record_errors=error.record_errors,
                error_message=str(error),
            )
        return AppendResult(error.code, log_start_offset=log_start_offset)
