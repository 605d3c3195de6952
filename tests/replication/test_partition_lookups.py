"""What a partition is asked besides records: offsets by time, ends of epochs, producers, deletions."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, OffsetOutOfRangeError
from ottla.common.topic_partition import TopicPartition
from ottla.log.readable_log import FetchIsolation
from ottla.records.append_origin import AppendOrigin
from tests.log.log_machine import NOW_MS, batch
from tests.replication.replica_machine import NODE, T0, Answer, Broker

UNCOMMITTED, COMMITTED, REPLICA = FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED, FetchIsolation.LOG_END
LATEST, EARLIEST, MAX, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6


def lookup(
    broker: Broker, timestamp: int, isolation: FetchIsolation = UNCOMMITTED
) -> tuple[int, int, int | None] | None:
    return broker.partition().fetch_offset_for_timestamp(timestamp, isolation)


def test_every_special_timestamp() -> None:
    broker = Broker()
    broker.create(leader_epoch=2)
    for offset, timestamp in enumerate((10, 30, 20)):
        broker.append(records=batch(timestamp=NOW_MS + timestamp))
        assert broker.log().log_end_offset == offset + 1
    broker.partition().delete_records_on_leader(1)
    assert lookup(broker, LATEST) == (-1, 3, 2)
    assert lookup(broker, EARLIEST) == (-1, 1, 2)
    assert lookup(broker, EARLIEST_LOCAL) == (-1, 1, 2)
    assert lookup(broker, MAX) == (NOW_MS + 30, 1, 2)
    assert lookup(broker, LATEST_TIERED) == (-1, -1, -1)
    assert lookup(broker, EARLIEST_PENDING_UPLOAD) == (-1, -1, -1)
    assert lookup(broker, NOW_MS + 15) == (NOW_MS + 30, 1, 2)
    assert lookup(broker, NOW_MS + 31) is None


def test_the_latest_offset_depends_on_who_asks() -> None:
    broker = Broker()
    broker.create(replicas=(NODE, 2), isr=(NODE,))
    broker.append(records=batch(2, producer_id=3, sequence=0, transactional=True))
    broker.partition().isr = frozenset({NODE, 2})
    broker.produce(acks=1)
    latest = {isolation: lookup(broker, LATEST, isolation) for isolation in (COMMITTED, UNCOMMITTED, REPLICA)}
    assert latest == {COMMITTED: (-1, 0, 0), UNCOMMITTED: (-1, 2, 0), REPLICA: (-1, 3, 0)}
    assert lookup(broker, NOW_MS, COMMITTED) is None, "what is undecided is not to be seen"
    assert lookup(broker, NOW_MS, UNCOMMITTED) == (NOW_MS, 0, 0)


def test_a_new_leader_whose_high_watermark_lags_does_not_guess() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))
    broker.produce(count=3, acks=1)
    broker.change(topic_id, leader=NODE)
    with pytest.raises(ApiError) as refused:
        lookup(broker, LATEST)
    assert refused.value.code == ErrorCode.OFFSET_NOT_AVAILABLE
    with pytest.raises(ApiError):
        lookup(broker, NOW_MS)
    assert lookup(broker, EARLIEST) == (-1, 0, 0)
    assert lookup(broker, LATEST, REPLICA) == (-1, 3, 1)


def test_lookups_are_fenced() -> None:
    broker = Broker()
    broker.create(leader_epoch=4)
    for epoch, code in ((3, ErrorCode.FENCED_LEADER_EPOCH), (5, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(ApiError) as refused:
            broker.partition().fetch_offset_for_timestamp(LATEST, UNCOMMITTED, epoch)
        assert refused.value.code == code
        assert broker.replicas.last_offset_for_leader_epoch(T0, epoch, 4) == (code, -1, -1)


def test_the_end_of_each_epoch() -> None:
    broker = Broker()
    topic_id = broker.create()
    broker.append(count=3)
    broker.change(topic_id, leader=NODE)
    broker.change(topic_id, leader=NODE)
    broker.append(count=2)
    ends = {epoch: broker.replicas.last_offset_for_leader_epoch(T0, -1, epoch)[1:] for epoch in range(4)}
    assert ends == {0: (0, 3), 1: (0, 3), 2: (2, 5), 3: (-1, -1)}, "epoch 1 wrote nothing"
    gone = TopicPartition("gone", 0)
    unknown = broker.replicas.last_offset_for_leader_epoch(gone, -1, 0)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_producers_of_a_partition() -> None:
    broker = Broker()
    broker.create()
    broker.append(records=batch(2, producer_id=3, sequence=0))
    broker.append(records=batch(3, producer_id=9, sequence=0, transactional=True))
    assert broker.partition().active_producers() == [(3, 0, 1, NOW_MS, -1, -1), (9, 0, 2, NOW_MS, -1, 2)]


# -- deleting ---------------------------------------------------------------------------------------------------------


def delete(broker: Broker, offset: int, topic_partition: TopicPartition = T0, timeout_ms: int = 500) -> Answer:
    answer = Answer()
    broker.replicas.delete_records(timeout_ms, [(topic_partition, offset)], answer)
    return answer


def test_records_are_given_up_at_once_by_a_leader_alone() -> None:
    broker = Broker()
    broker.create()
    broker.append(count=5)
    result = delete(broker, 3).one
    assert (result.error_code, result.low_watermark) == (0, 3)
    assert broker.read(offset=2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(broker, -1).one.low_watermark == 5, "-1 is the high watermark"
    assert delete(broker, 2).one.low_watermark == 5, "what is gone stays gone"


@pytest.mark.parametrize("offset", [6, -2])
def test_records_that_are_not_committed_are_not_given_up(offset: int) -> None:
    broker = Broker()
    broker.create()
    broker.append(count=5)
    result = delete(broker, offset).one
    assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_where_records_cannot_be_deleted() -> None:
    broker = Broker()
    broker.create(configs={"cleanup.policy": "compact"})
    broker.create("__consumer_offsets")
    broker.create("followed", replicas=(NODE, 2), leader=2)
    codes = {
        topic: delete(broker, 0, TopicPartition(topic, 0)).one.error_code
        for topic in ("topic", "__consumer_offsets", "followed", "gone")
    }
    assert codes == {
        "topic": ErrorCode.POLICY_VIOLATION,
        "__consumer_offsets": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "followed": ErrorCode.NOT_LEADER_OR_FOLLOWER,
        "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def replicated(broker: Broker) -> None:
    broker.register(2)
    broker.create(replicas=(NODE, 2))
    broker.produce(count=5, acks=1)
    broker.follower_fetch(2, 5)


def test_a_deletion_waits_for_the_followers() -> None:
    broker = Broker()
    replicated(broker)
    answer = delete(broker, 3)
    assert answer.results is None
    broker.follower_fetch(2, 5, start=2)
    assert answer.results is None
    broker.follower_fetch(2, 5, start=3)
    assert (answer.one.error_code, answer.one.low_watermark) == (0, 3)


def test_a_deletion_that_waits_in_vain_times_out() -> None:
    broker = Broker()
    replicated(broker)
    answer = delete(broker, 3, timeout_ms=10)
    broker.advance_ms(11)
    assert answer.one.error_code == ErrorCode.REQUEST_TIMED_OUT
    expired = broker.registry.get("kafka_server_delayeddeleterecordsmetrics_expires_total")
    assert expired is not None
    assert expired.value == 1  # type: ignore[union-attr]


def test_a_dead_follower_is_not_waited_for() -> None:
    broker = Broker()
    replicated(broker)
    broker.register(2, fenced=True)
    assert delete(broker, 3).one.low_watermark == 3


def test_a_deletion_ends_with_the_leadership() -> None:
    broker = Broker()
    replicated(broker)
    answer = delete(broker, 3)
    broker.change(broker.partition().topic_id, leader=2)
    assert (answer.one.error_code, answer.one.low_watermark) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_the_partition_itself_raises() -> None:
    broker = Broker()
    broker.create()
    with pytest.raises(OffsetOutOfRangeError):
        broker.partition().delete_records_on_leader(1)
    info, moved = broker.partition().append_records_to_leader(batch(2), AppendOrigin.CLIENT, 1)
    assert (info.first_offset, info.last_offset, moved) == (0, 1, True)
