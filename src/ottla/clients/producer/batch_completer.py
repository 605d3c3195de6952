"""What an answer means for its batch: done, failed, to be sent again, or to be split."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ottla.clients.errors import (
    ClusterAuthorizationError,
    InvalidRecordError,
    TopicAuthorizationError,
    error_for,
)
from ottla.clients.producer.idempotence import IdempotentProducer
from ottla.clients.producer.metrics import ProducerMetrics
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.record_accumulator import RecordAccumulator
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError

logger = logging.getLogger(__name__)


class PartitionAnswer(NamedTuple):
    """What a broker says about one batch, or what we say for it when it does not answer."""

    error_code: int = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    record_errors: Sequence[tuple[int, str | None]] = ()


class BatchCompleter:
    """Every batch that was drained comes here once for each attempt, also if it was given up in between."""

    def __init__(
        self,
        accumulator: RecordAccumulator,
        idempotence: IdempotentProducer | None,
        retries: int,
        metrics: ProducerMetrics,
    ) -> None:
        self._accumulator = accumulator
        self._idempotence = idempotence
        self._retries = retries
        self._metrics = metrics

    def complete(self, batch: ProducerBatch, answer: PartitionAnswer, now_ms: int) -> None:
        """An attempt has ended like this."""
        self._accumulator.landed(batch)
        error_code = answer.error_code
        if error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            # A duplicate is in the log, so long ago that the broker does not know where.
            self._succeed(batch, answer)
        elif batch.is_done:
            return  # given up before; what the broker has is unknown, as was assumed then
        elif error_code == ErrorCode.MESSAGE_TOO_LARGE and batch.records_count > 1:
            self._metrics.batch_splits += 1
            self._accumulator.split(batch)
        elif self._can_retry(batch, answer, now_ms):
            logger.info("Sending a batch to %s again: %s", batch.topic_partition, _describe(answer))
            self._metrics.record_retries += batch.records_count
            self._accumulator.retry(batch, now_ms)
        else:
            error = _error(batch, answer)
            # Out of retries, whether the broker has it is unknown, so its sequences must not be used again.
            adjust = batch.attempts < self._retries
            self.fail(batch, error, adjust_sequences=adjust, record_errors=_record_errors(answer))

    def fail(
        self,
        batch: ProducerBatch,
        error: KafkaError,
        *,
        adjust_sequences: bool = False,
        record_errors: Mapping[int, KafkaError] | None = None,
    ) -> None:
        """Give a batch up for an error of its own."""
        if self._idempotence is not None:
            self._idempotence.failed(batch, error, adjust_sequences=adjust_sequences)
        self._give_up(batch, error, record_errors)

    def expire(self, now_ms: int) -> None:
        """Give up what took longer than ``delivery.timeout.ms``."""
        for batch in self._accumulator.expired(now_ms):
            was_sent = batch.has_sequence
            self.fail(batch, self._accumulator.expiry_error(batch, now_ms))
            if was_sent and self._idempotence is not None:
                self._idempotence.mark_unresolved(batch)

    def abort_all(self, error: KafkaError) -> None:
        """Give everything up, for what has nothing to do with the batches."""
        for batch in list(self._accumulator.incomplete):
            if self._idempotence is not None:
                self._idempotence.forget(batch)
                if batch.has_sequence:
                    self._idempotence.mark_unresolved(batch)
            self._give_up(batch, error)

    def abort_undrained(self, error: KafkaError) -> None:
        """Give up what was never sent, as when a transaction is aborted."""
        for batch in list(self._accumulator.incomplete):
            if not batch.has_sequence and not batch.is_in_flight:
                self._give_up(batch, error)

    def _give_up(
        self, batch: ProducerBatch, error: KafkaError, record_errors: Mapping[int, KafkaError] | None = None
    ) -> None:
        count = batch.records_count if batch.builder is None else batch.builder.records_count
        logger.warning("%d record(s) for %s were not delivered: %s", count, batch.topic_partition, error)
        self._metrics.record_errors += count
        self._accumulator.finish(batch)
        batch.outcome.fail(error, record_errors)

    def _succeed(self, batch: ProducerBatch, answer: PartitionAnswer) -> None:
        if self._idempotence is not None:
            self._idempotence.completed(batch, answer.base_offset)
        if batch.is_done:
            return  # it was given up before; better late, but nobody will know
        self._metrics.records_sent += batch.records_count
        self._accumulator.finish(batch)
        batch.outcome.succeed(answer.base_offset, answer.log_append_time_ms)

    def _can_retry(self, batch: ProducerBatch, answer: PartitionAnswer, now_ms: int) -> bool:
        if batch.attempts >= self._retries or self._accumulator.has_timed_out(batch, now_ms):
            return False
        if self._idempotence is not None:
            return self._idempotence.can_retry(batch, answer.error_code, answer.log_start_offset)
        return error_for(answer.error_code).retriable


def _describe(answer: PartitionAnswer) -> str:
    name = type(error_for(answer.error_code)).__name__
    return f"{name}: {answer.error_message}" if answer.error_message else name


def _error(batch: ProducerBatch, answer: PartitionAnswer) -> KafkaError:
    if answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationError(f"Not authorized to access topics: [{batch.topic_partition.topic}]")
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return ClusterAuthorizationError("The producer is not authorized to do idempotent sends")
    return error_for(answer.error_code, answer.error_message or "")


def _record_errors(answer: PartitionAnswer) -> Mapping[int, KafkaError] | None:
    """The errors of single records; a lone one takes the class of the batch's error, others cannot be told apart."""
    errors = answer.record_errors
    if not errors:
        return None
    if len(errors) == 1:
        index, message = errors[0]
        return {index: error_for(answer.error_code, message or answer.error_message or "")}
    return {index: InvalidRecordError(message or answer.error_message or "") for index, message in errors}
