"""Sequences, epochs and what becomes of them when brokers refuse, forget or do not answer."""

import pytest

from ottla.clients.errors import (
    ClusterAuthorizationError,
    KafkaTimeoutError,
    OutOfOrderSequenceError,
    RecordTooLargeError,
    UnknownProducerIdError,
)
from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.idempotence import EPOCH_MAX, IdempotentProducer, ProducerIdAndEpoch
from ottla.clients.producer.partition_queue import PartitionQueue
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch

ORDERS = TopicPartition("orders", 0)
OTHERS = TopicPartition("orders", 1)


def producer(epoch: int = 0) -> IdempotentProducer:
    state = IdempotentProducer()
    assert state.wants_producer_id
    state.initialized(ProducerIdAndEpoch(7, epoch))
    return state


def batch(records: int = 2, partition: TopicPartition = ORDERS) -> ProducerBatch:
    builder = BatchBuilder(10_000, 10_000)
    for _ in range(records):
        builder.append(0, None, b"v", None)
    made = ProducerBatch(partition, builder, 0, 0)
    made.close(None)
    return made


def sent(state: IdempotentProducer, records: int = 2, partition: TopicPartition = ORDERS) -> ProducerBatch:
    made = batch(records, partition)
    assert state.may_drain(made)
    state.assign(made)
    return made


def acknowledged(state: IdempotentProducer, records: int = 2, partition: TopicPartition = ORDERS) -> ProducerBatch:
    made = sent(state, records, partition)
    state.completed(made, 0)
    return made


def header(made: ProducerBatch) -> tuple[int, int, int]:
    sealed = RecordBatch(made.records())
    sealed.ensure_valid()
    return sealed.producer_id, sealed.producer_epoch, sealed.base_sequence


def test_sequences_count_records_for_each_partition() -> None:
    state = producer()
    assert header(acknowledged(state, 3)) == (7, 0, 0)
    assert header(sent(state, 2)) == (7, 0, 3)
    assert header(sent(state, 1)) == (7, 0, 5)
    assert header(sent(state, 1, OTHERS)) == (7, 0, 0)


def test_sequences_begin_again_after_the_last_one() -> None:
    state = producer()
    acknowledged(state)
    state.sequences(ORDERS).next_sequence = (1 << 31) - 2
    state.sequences(ORDERS).last_acked_sequence = (1 << 31) - 3
    last = sent(state, 3)
    assert last.last_sequence == 0
    assert sent(state).base_sequence == 1
    state.completed(last, 10)
    assert state.sequences(ORDERS).is_next(1)


def test_nothing_is_sent_without_an_id_and_the_first_batch_goes_alone() -> None:
    assert not IdempotentProducer().may_drain(batch())
    state = producer()
    first = sent(state)
    assert not state.may_drain(batch())
    assert state.may_drain(batch(partition=OTHERS))
    state.completed(first, 0)
    sent(state)
    assert state.may_drain(batch())


def test_retries_go_one_at_a_time_in_order() -> None:
    state = producer()
    acknowledged(state)
    first, second = sent(state), sent(state)
    assert state.may_drain(first)
    assert not state.may_drain(second)
    state.completed(first, 2)
    assert state.may_drain(second)


def test_a_retried_batch_takes_its_place_in_the_queue() -> None:
    state = producer()
    acknowledged(state)
    first, second, third = sent(state), sent(state), sent(state)
    queue = PartitionQueue(ORDERS)
    unsent = batch()
    queue.batches.append(unsent)
    for each in (second, third, first):
        queue.push_front(each)
    assert list(queue.batches) == [first, second, third, unsent]


def test_a_gap_in_the_log_begins_the_next_epoch_for_what_is_in_flight() -> None:
    state = producer()
    acknowledged(state, 4)
    acknowledged(state, 4, OTHERS)
    first, second, other = sent(state, 2), sent(state, 3), sent(state, 1, OTHERS)
    assert state.can_retry(first, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)  # though it follows the last one
    assert state.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)  # which came before its turn
    state.bump_epoch_if_needed()
    assert header(first) == (7, 1, 0)
    assert header(second) == (7, 1, 2)
    assert header(other) == (7, 0, 4), "only the partition that asked for it begins anew"
    # What is new there waits for what is in flight under the old epoch.
    assert not state.may_drain(batch(partition=OTHERS))
    state.completed(other, 9)
    assert header(sent(state, 1, OTHERS)) == (7, 1, 0)


def test_a_batch_before_its_turn_is_sent_again_as_it_is() -> None:
    state = producer()
    acknowledged(state)
    sent(state)
    second = sent(state)
    assert state.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    state.bump_epoch_if_needed()
    assert state.producer == (7, 0)


@pytest.mark.parametrize(("log_start_offset", "epoch"), [(-1, 0), (0, 1), (100, 1)])
def test_a_broker_that_does_not_know_us_any_more_gets_the_next_epoch(log_start_offset: int, epoch: int) -> None:
    state = producer()
    acknowledged(state)
    first = sent(state)
    assert state.can_retry(first, ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset)
    state.bump_epoch_if_needed()
    assert state.producer == (7, epoch)


def test_the_last_epoch_is_followed_by_another_id() -> None:
    state = producer(EPOCH_MAX)
    acknowledged(state)
    failed = sent(state)
    assert state.can_retry(failed, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    state.bump_epoch_if_needed()
    assert state.wants_producer_id
    assert not state.may_drain(failed)
    state.initialized(ProducerIdAndEpoch(8, 0))
    assert header(failed) == (8, 0, 0), "sent without an id it might be written twice"
    assert state.may_drain(failed)


def test_a_batch_that_is_refused_for_good_leaves_no_gap() -> None:
    state = producer()
    acknowledged(state)
    refused, following = sent(state), sent(state)
    state.failed(refused, RecordTooLargeError("too large"), adjust_sequences=True)
    state.bump_epoch_if_needed()
    assert header(following) == (7, 1, 0)
    assert state.fatal_error is None


def test_what_was_given_up_holds_the_partition_until_it_is_clear_what_the_broker_has() -> None:
    state = producer()
    acknowledged(state)
    given_up, following = sent(state), sent(state)
    state.failed(given_up, KafkaTimeoutError("expired"), adjust_sequences=False)
    state.mark_unresolved(given_up)
    assert not state.may_drain(batch())
    state.resolve_sequences()
    assert not state.may_drain(batch()), "something is still in flight"
    state.completed(following, 4)
    state.resolve_sequences()
    state.bump_epoch_if_needed()
    assert state.producer == (7, 0), "the one after it arrived, so it did, too"
    assert state.may_drain(batch())


def test_what_was_given_up_and_followed_by_nothing_begins_the_next_epoch() -> None:
    state = producer()
    acknowledged(state)
    given_up = sent(state)
    state.failed(given_up, KafkaTimeoutError("expired"), adjust_sequences=False)
    state.mark_unresolved(given_up)
    state.resolve_sequences()
    state.bump_epoch_if_needed()
    assert header(sent(state)) == (7, 1, 0)


def test_what_was_given_up_and_arrives_late_says_nothing_of_the_next_epoch() -> None:
    state = producer()
    acknowledged(state, records=5)
    given_up = sent(state)
    state.failed(given_up, KafkaTimeoutError("expired"), adjust_sequences=False)
    state.mark_unresolved(given_up)
    state.resolve_sequences()
    state.bump_epoch_if_needed()
    first = sent(state)
    state.completed(given_up, 5)
    assert not state.may_drain(batch()), "the first of the epoch is not acknowledged"
    state.completed(first, 7)
    assert state.sequences(ORDERS).is_next(2)


def test_the_batch_after_one_that_was_given_up_finds_the_gap() -> None:
    state = producer()
    acknowledged(state)
    given_up, following, last = sent(state), sent(state), sent(state)
    state.failed(given_up, KafkaTimeoutError("expired"), adjust_sequences=False)
    state.mark_unresolved(given_up)
    assert state.can_retry(last, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    state.bump_epoch_if_needed()
    assert state.producer == (7, 0), "that says nothing yet"
    assert state.can_retry(following, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    state.bump_epoch_if_needed()
    assert [header(following), header(last)] == [(7, 1, 0), (7, 1, 2)]


def test_errors_that_no_batch_survives_end_it() -> None:
    state = producer()
    failed = sent(state)
    state.failed(failed, ClusterAuthorizationError("no"), adjust_sequences=True)
    assert isinstance(state.fatal_error, ClusterAuthorizationError)
    state.bump_epoch_if_needed()
    assert state.producer == (7, 0)


@pytest.mark.parametrize(
    ("error", "producer_after"), [(OutOfOrderSequenceError("gap"), (7, 1)), (UnknownProducerIdError("who?"), (7, 0))]
)
def test_out_of_retries_the_partition_begins_anew(error: Exception, producer_after: tuple[int, int]) -> None:
    state = producer()
    acknowledged(state)
    failed = sent(state)
    state.failed(failed, error, adjust_sequences=False)  # type: ignore[arg-type]
    state.bump_epoch_if_needed()
    assert header(sent(state)) == (*producer_after, 0)
