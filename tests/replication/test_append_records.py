"""Produce: acknowledgements, errors by partition, flushes, transactions, metrics."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import RecordError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.replication.append_result import AppendResult
from tests.log.log_machine import NOW_MS, batch, offsets_in
from tests.replication.replica_machine import NODE, T0, Answer, Broker

GONE = TopicPartition("gone", 0)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_leader_alone_answers_at_once_whatever_the_acks(acks: int) -> None:
    broker = Broker()
    broker.create()
    assert broker.append(count=3, acks=acks).error_code == 0
    result = broker.append(count=2, acks=acks)
    assert (result.base_offset, result.last_offset, result.log_start_offset) == (3, 4, 0)
    assert result.log_append_time_ms == -1, "records keep their own time"
    assert broker.log().high_watermark == 5


@pytest.mark.parametrize("acks", [-2, 2, 100])
def test_other_acks_are_refused_and_nothing_is_written(acks: int) -> None:
    broker = Broker()
    broker.create()
    assert broker.append(acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert broker.log().log_end_offset == 0


def test_each_partition_has_its_own_outcome_in_the_order_of_the_request() -> None:
    broker = Broker()
    topic_id = broker.create(partitions=2)
    broker.create("__consumer_offsets")
    broker.create("elsewhere", replicas=(2,), leader=2)
    broker.create("followed", replicas=(NODE, 2), leader=2)
    other = Uuid.random(broker.machine.rng)
    flipped = batch()
    flipped[-1] ^= 1
    answer = Answer()
    broker.replicas.append_records(
        [
            (T0, topic_id, batch()),
            (GONE, None, batch()),
            (TopicPartition("__consumer_offsets", 0), None, batch()),
            (TopicPartition("elsewhere", 0), None, batch()),
            (TopicPartition("followed", 0), None, batch()),
            (TopicPartition("topic", 1), other, batch()),
            (TopicPartition("topic", 7), None, batch()),
            (TopicPartition("topic", 1), None, flipped),
            (TopicPartition("topic", 1), None, batch(2)),
        ],
        1,
        1000,
        answer,
    )
    assert answer.results is not None
    assert [result.error_code for result in answer.results] == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.CORRUPT_MESSAGE,
        0,
    ]


def test_a_coordinator_may_write_to_an_internal_topic() -> None:
    broker = Broker()
    broker.create("__consumer_offsets")
    answer = Answer()
    entries = [(TopicPartition("__consumer_offsets", 0), None, batch())]
    broker.replicas.append_records(entries, -1, 1000, answer, internal_topics_allowed=True)
    assert answer.one.error_code == 0


def test_the_records_at_fault_are_named_with_the_start_of_the_log() -> None:
    broker = Broker()
    broker.create(configs={"message.timestamp.before.max.ms": "1000"})
    broker.append(count=2)
    broker.partition().delete_records_on_leader(1)
    result = broker.append(records=batch(2, timestamp=NOW_MS - 5000))
    assert result.error_code == ErrorCode.INVALID_TIMESTAMP
    assert result.error_message
    assert [error.batch_index for error in result.record_errors] == [0, 1]
    assert all(isinstance(error, RecordError) and error.message for error in result.record_errors)
    assert (result.base_offset, result.log_start_offset) == (-1, 1)


def test_a_batch_that_is_too_large_is_counted_as_rejected_and_not_as_failed() -> None:
    broker = Broker()
    broker.create(configs={"max.message.bytes": "500"})
    records = batch(value_bytes=1000)
    assert broker.append(records=records).error_code == ErrorCode.MESSAGE_TOO_LARGE
    for metrics in (broker.partition().metrics, broker.replicas.stats.all_topics):
        assert metrics.bytes_rejected.value == len(records)
        assert metrics.failed_produce_requests.value == 0
        assert metrics.total_produce_requests.value == 1


def test_log_append_time_is_told() -> None:
    broker = Broker()
    broker.create(configs={"message.timestamp.type": "LogAppendTime"})
    assert broker.append().log_append_time_ms == NOW_MS


def test_an_idempotent_producers_repetition_gets_its_first_answer() -> None:
    broker = Broker()
    broker.create()
    broker.append()
    first = broker.append(records=batch(2, producer_id=5, sequence=0))
    again = broker.append(records=batch(2, producer_id=5, sequence=0))
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset) == (1, 2)
    skipped = broker.append(records=batch(2, producer_id=5, sequence=7))
    assert skipped.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert broker.replicas.stats.all_topics.failed_produce_requests.value == 1


# -- replication ------------------------------------------------------------------------------------------------------


def test_acks_all_waits_until_every_replica_in_sync_has_the_records() -> None:
    broker = Broker()
    broker.register(2, 3)
    broker.create(replicas=(NODE, 2, 3))
    answer = broker.produce(count=2)
    assert answer.results is None
    assert broker.append(acks=1).error_code == 0, "acks=1 does not wait"
    broker.follower_fetch(2, 3)
    assert answer.results is None, "replica 3 lacks them"
    broker.follower_fetch(3, 1)
    assert answer.results is None
    assert broker.log().high_watermark == 1
    broker.follower_fetch(3, 2)
    assert answer.one.error_code == 0
    assert broker.log().high_watermark == 2


def test_acks_all_times_out_and_the_records_stay() -> None:
    broker = Broker()
    broker.create(replicas=(NODE, 2))
    answer = broker.produce(timeout_ms=50)
    broker.advance_ms(49)
    assert answer.results is None
    broker.advance_ms(2)
    result = answer.one
    assert isinstance(result, AppendResult)
    assert (result.error_code, result.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert broker.log().log_end_offset == 1


def test_acks_all_is_refused_before_the_append_under_min_insync_replicas() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2, 3), isr=(NODE,), configs={"min.insync.replicas": "2"})
    assert broker.append().error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert broker.append(acks=1).error_code == 0
    assert broker.log().high_watermark == 0, "nothing is committed under the minimum"
    broker.change(topic_id, isr=(NODE, 2))
    answer = broker.produce()
    broker.change(topic_id, isr=(NODE,))
    assert answer.results is None, "the high watermark does not move"
    assert broker.append().error_code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_min_insync_replicas_above_the_replication_factor_counts_as_that() -> None:
    broker = Broker()
    broker.create(configs={"min.insync.replicas": "3"})
    assert broker.append().error_code == 0


def test_the_isr_that_shrinks_after_the_append_is_told() -> None:
    broker = Broker()
    broker.register(2, 3)
    topic_id = broker.create(replicas=(NODE, 2, 3), configs={"min.insync.replicas": "2"})
    answer = broker.produce(count=1)
    broker.follower_fetch(2, 1)
    broker.follower_fetch(3, 0)
    assert answer.results is None
    broker.log().update_high_watermark(1)
    broker.change(topic_id, isr=(NODE,))
    assert answer.one.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_leader_that_steps_down_answers_those_who_wait() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))
    answer = broker.produce()
    broker.change(topic_id, leader=2)
    assert answer.one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    deleted = Broker()
    topic_id = deleted.create(replicas=(NODE, 2))
    answer = deleted.produce()
    deleted.delete(topic_id)
    assert answer.one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_follower_that_has_caught_up_holds_the_high_watermark_back_until_it_joins() -> None:
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2), isr=(NODE,))
    assert broker.append(acks=-1).error_code == 0, "not in the ISR, and has never been seen"
    broker.follower_fetch(2, 1)
    answer = broker.produce()
    assert answer.results is None, "caught up: the leader waits for it"
    broker.advance_ms(40_000)
    assert broker.append(acks=-1, timeout_ms=100_000).error_code == 0, "it has lagged for replica.lag.time.max.ms"


def test_a_follower_that_lags_since_its_first_fetch_holds_nothing_back_on_a_young_machine() -> None:
    """Its last time of being caught up is never, which must be long ago even where the monotonic clock is at 0."""
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2), isr=(NODE,))
    assert broker.append(acks=-1).error_code == 0
    broker.follower_fetch(2, 0)
    assert broker.machine.clock.monotonic_ms() == 0
    assert broker.append(acks=-1).error_code == 0


@pytest.mark.parametrize("minutes", [300, -30])  # records of an hour from now would be refused
def test_a_wall_clock_that_is_set_lets_no_follower_lag_nor_catch_up(minutes: int) -> None:
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2), isr=(NODE,))
    broker.append(acks=-1)
    broker.follower_fetch(2, 1)
    clock = broker.machine.clock
    clock.set_now_ms(clock.now_ms() + minutes * 60_000)
    assert broker.produce().results is None, "caught up a moment ago: the leader waits for it"
    broker.advance_ms(40_000)
    assert broker.append(acks=-1, timeout_ms=100_000).error_code == 0, "it has lagged for replica.lag.time.max.ms"


# -- flushing ---------------------------------------------------------------------------------------------------------


def test_a_topic_that_flushes_each_record_commits_none_before_it_is_on_the_disk() -> None:
    broker = Broker()
    broker.create(configs={"flush.messages": "1"})
    assert broker.append().error_code == 0
    log = broker.log()
    assert (log.recovery_point, log.high_watermark) == (1, 1)
    log.append_as_leader(batch(), 0)
    assert not broker.partition().maybe_increment_leader_high_watermark(0)
    assert log.high_watermark == 1, "not flushed, not committed"


def test_a_flush_that_fails_is_the_produces_answer() -> None:
    broker = Broker()
    broker.create(configs={"flush.messages": "1"})
    broker.append()

    def failing_sync() -> None:
        raise OSError("no")

    broker.log().segments.active.log_file.sync = failing_sync  # type: ignore[method-assign]
    result = broker.append()
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert T0 in broker.replicas.partitions.offline
    assert broker.append().error_code == ErrorCode.KAFKA_STORAGE_ERROR


# -- metrics ----------------------------------------------------------------------------------------------------------


def test_what_comes_in_is_counted_for_the_topic_and_for_all() -> None:
    broker = Broker()
    broker.create()
    broker.create("second")
    records = batch(3)
    broker.append(records=records)
    broker.append(TopicPartition("second", 0))
    first, everything = broker.partition().metrics, broker.replicas.stats.all_topics
    assert (first.messages_in.value, first.bytes_in.value) == (3, len(records))
    assert everything.messages_in.value == 4
    assert everything.total_produce_requests.value == 2


def test_offsets_read_back_as_they_were_answered() -> None:
    broker = Broker()
    broker.create()
    assert [broker.append(count=2).base_offset for _ in range(3)] == [0, 2, 4]
    data = broker.read().records
    assert data is not None
    assert offsets_in(data.read()) == [0, 1, 2, 3, 4, 5]
