"""Fetch: limits, isolation, errors, fencing, waiting."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.readable_log import FetchIsolation
from ottla.replication.read_result import UNCHANGED, FetchPartition, ReadResult
from tests.log.log_machine import NOW_MS, batch, end_transaction, offsets_in
from tests.replication.replica_machine import NODE, T0, Answer, Broker

T1 = TopicPartition("topic", 1)
COMMITTED = FetchIsolation.TXN_COMMITTED


def offsets(result: ReadResult) -> list[int]:
    return [] if result.records is None else offsets_in(result.records.read())


def test_a_consumer_sees_what_is_committed_and_a_follower_everything() -> None:
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2))
    broker.produce(count=3, acks=1)
    consumer = broker.read()
    assert (offsets(consumer), consumer.high_watermark, consumer.log_end_offset) == ([], 0, 3)
    follower = broker.follower_fetch(2, 0).one
    assert offsets(follower) == [0, 1, 2]
    broker.follower_fetch(2, 3)
    assert offsets(broker.read()) == [0, 1, 2]


def test_read_committed_stops_at_the_last_stable_offset_and_names_what_was_aborted() -> None:
    broker = Broker()
    broker.create()
    broker.append(records=batch(2, producer_id=7, sequence=0, transactional=True))
    open_txn = broker.read(isolation=COMMITTED)
    assert (offsets(open_txn), open_txn.last_stable_offset, open_txn.high_watermark) == ([], 0, 2)
    assert open_txn.aborted_transactions == []
    end_transaction(broker.log(), 7, commit=False)
    broker.append()
    aborted = broker.read(isolation=COMMITTED)
    assert offsets(aborted) == [0, 1, 2, 3]
    assert aborted.aborted_transactions is not None
    assert [(txn.producer_id, txn.first_offset) for txn in aborted.aborted_transactions] == [(7, 0)]
    assert broker.read().aborted_transactions is None, "READ_UNCOMMITTED is told nothing"


@pytest.mark.parametrize("offset", [-1, 5])
def test_an_offset_outside_the_log_is_out_of_range(offset: int) -> None:
    broker = Broker()
    broker.create()
    broker.append(count=4)
    result = broker.read(offset=offset)
    assert (result.error_code, result.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_a_partition_that_is_not_here_is_an_error_of_its_own() -> None:
    broker = Broker()
    broker.create()
    broker.create("elsewhere", replicas=(2,), leader=2)
    broker.create("followed", replicas=(NODE, 2), leader=2)
    followed = TopicPartition("followed", 0)
    assert broker.read(TopicPartition("gone", 0)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.read(TopicPartition("elsewhere", 0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.read(followed).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.read(followed, fetch_only_leader=False).error_code == 0
    wrong_id = FetchPartition(T0, 0, 1000, topic_id=Uuid.random(broker.machine.rng))
    assert broker.fetch(wrong_id).one.error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_the_clients_leader_epoch_is_checked() -> None:
    broker = Broker()
    broker.create(leader_epoch=5)
    for epoch, error in ((4, ErrorCode.FENCED_LEADER_EPOCH), (5, 0), (6, ErrorCode.UNKNOWN_LEADER_EPOCH), (-1, 0)):
        fetch = FetchPartition(T0, 0, 1000, current_leader_epoch=epoch)
        assert broker.fetch(fetch).one.error_code == error


def test_a_follower_must_be_a_replica() -> None:
    broker = Broker()
    broker.register(2, 3)
    broker.create(replicas=(NODE, 2))
    assert broker.follower_fetch(3, 0).one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.follower_fetch(3, 0, current_leader_epoch=0).one.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    stale = FetchPartition(T0, 0, 1000, log_start_offset=0)
    fetched = broker.fetch(stale, replica_id=2, replica_epoch=1, isolation=FetchIsolation.LOG_END)
    assert fetched.one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "a broker of an earlier registration"


def test_where_the_logs_part_is_told_instead_of_records() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))
    broker.produce(count=4, acks=1)
    broker.change(topic_id, leader=NODE)  # epoch 1 begins at 4
    broker.produce(count=2, acks=1)
    beyond = broker.fetch(FetchPartition(T0, 6, 1000, last_fetched_epoch=0)).one
    assert (beyond.diverging_epoch.leader_epoch, beyond.diverging_epoch.end_offset) == (0, 4)
    assert beyond.records is None
    assert broker.fetch(FetchPartition(T0, 4, 1000, last_fetched_epoch=0)).one.diverging_epoch is None
    broker.change(topic_id, leader=NODE)
    broker.change(topic_id, leader=NODE)  # epoch 3 begins at 6; epoch 2 wrote nothing
    never_here = broker.fetch(FetchPartition(T0, 5, 1000, last_fetched_epoch=2)).one
    assert never_here.diverging_epoch == (0, 1, 6)
    unknown = broker.fetch(FetchPartition(T0, 4, 1000, last_fetched_epoch=9)).one
    assert unknown.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


# -- limits -----------------------------------------------------------------------------------------------------------


def test_the_first_partition_with_records_gives_a_batch_however_large() -> None:
    broker = Broker()
    broker.create(partitions=3)
    size = len(batch(value_bytes=500))
    for index in (1, 2):
        for _ in range(3):
            broker.append(TopicPartition("topic", index), records=batch(value_bytes=500))
    fetches = [FetchPartition(TopicPartition("topic", index), 0, 10) for index in range(3)]
    results = broker.fetch(*fetches, max_bytes=10).results or []
    assert [result.size_bytes for result in results] == [0, size, 0]
    wide = [FetchPartition(TopicPartition("topic", index), 0, 2 * size + 5) for index in range(3)]
    results = broker.fetch(*wide, max_bytes=3 * size + 5).results or []
    assert [result.size_bytes for result in results] == [0, 2 * size + 5, size], "the partition's limit, then the rest"


def test_half_a_batch_is_no_batch() -> None:
    broker = Broker()
    broker.create(partitions=2)
    broker.append(T0)
    broker.append(T1, records=batch(value_bytes=500))
    results = broker.fetch(FetchPartition(T0, 0, 1000), FetchPartition(T1, 0, 100)).results or []
    assert [result.records is None for result in results] == [False, True]


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_its_bytes_and_an_append_wakes_it() -> None:
    broker = Broker()
    broker.create()
    answer = broker.fetch(FetchPartition(T0, 0, 1 << 20), max_wait_ms=500, min_bytes=100)
    broker.append(records=batch(value_bytes=5))
    assert answer.results is None, "fewer bytes than asked for"
    broker.append(records=batch(value_bytes=5))
    assert offsets(answer.one) == [0, 1]
    assert broker.purgatories.fetch.num_delayed == 0


def test_a_fetch_that_waits_in_vain_is_answered_when_its_time_is_over() -> None:
    broker = Broker()
    broker.create()
    answer = broker.fetch(FetchPartition(T0, 0, 1 << 20), max_wait_ms=500)
    broker.advance_ms(499)
    assert answer.results is None
    broker.advance_ms(2)
    assert offsets(answer.one) == []
    expired = broker.registry.get("kafka_server_delayedfetchmetrics_expires_total", fetcherType="consumer")
    assert expired is not None
    assert expired.value == 1  # type: ignore[union-attr]


def test_an_error_in_one_partition_is_told_at_once() -> None:
    broker = Broker()
    broker.create()
    gone = FetchPartition(TopicPartition("gone", 0), 0, 1000)
    assert broker.fetch(FetchPartition(T0, 0, 1000), gone, max_wait_ms=500).results is not None
    assert broker.fetch(max_wait_ms=500).results == [], "and a fetch of nothing does not wait"


def test_a_consumer_waits_for_the_high_watermark_and_a_follower_for_the_end() -> None:
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2))
    consumer = broker.fetch(FetchPartition(T0, 0, 1 << 20), max_wait_ms=500)
    follower = broker.fetch(
        FetchPartition(T0, 0, 1 << 20, log_start_offset=0),
        max_wait_ms=500,
        replica_id=2,
        replica_epoch=102,
        isolation=FetchIsolation.LOG_END,
    )
    produced = broker.produce()
    assert (consumer.results, offsets(follower.one), produced.results) == (None, [0], None)
    broker.follower_fetch(2, 1)
    assert offsets(consumer.one) == [0]
    assert produced.one.error_code == 0


@pytest.mark.parametrize("isolation", [FetchIsolation.HIGH_WATERMARK, COMMITTED])
def test_what_ends_the_leadership_ends_the_waiting(isolation: FetchIsolation) -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))

    def waiting(current_leader_epoch: int = -1) -> Answer:
        fetch = FetchPartition(T0, 0, 1 << 20, current_leader_epoch=current_leader_epoch)
        return broker.fetch(fetch, max_wait_ms=500, isolation=isolation)

    fenced = waiting(current_leader_epoch=0)
    broker.change(topic_id, leader=NODE)
    assert fenced.one.error_code == ErrorCode.FENCED_LEADER_EPOCH
    stepped_down = waiting()
    broker.change(topic_id, leader=2)
    assert stepped_down.one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.change(topic_id, leader=NODE)
    deleted = waiting()
    broker.delete(topic_id)
    assert deleted.one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_failing_disk_ends_the_waiting() -> None:
    broker = Broker()
    broker.create()
    answer = broker.fetch(FetchPartition(T0, 0, 1 << 20), max_wait_ms=500)
    broker.log_manager.handle_directory_failure(broker.machine.config.log_dirs[0], OSError("gone"))
    assert answer.one.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_fetch_in_an_older_segment_does_not_wait_for_more() -> None:
    broker = Broker()
    broker.create()
    broker.append(records=batch(value_bytes=10))
    answer = broker.fetch(FetchPartition(T0, 0, 1 << 20), max_wait_ms=500, min_bytes=1 << 20)
    assert answer.results is None
    broker.log().roll()
    broker.append(records=batch(value_bytes=10))
    assert offsets(answer.one) == [0]


def test_a_roll_alone_does_not_wake() -> None:
    broker = Broker()
    broker.create()
    broker.append()
    answer = broker.fetch(FetchPartition(T0, 1, 1 << 20), max_wait_ms=500)
    broker.log().roll()
    broker.purgatories.fetch.check_and_complete(T0)
    assert answer.results is None


def test_a_truncated_log_ends_the_waiting() -> None:
    broker = Broker()
    broker.create()
    broker.append(count=3)
    answer = broker.fetch(FetchPartition(T0, 3, 1 << 20), max_wait_ms=500)
    broker.log().truncate_to(1)
    broker.purgatories.fetch.check_and_complete(T0)
    assert answer.one.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_logs_that_part_while_a_follower_waits_end_the_waiting() -> None:
    broker = Broker()
    broker.create()
    broker.append(count=3)
    fetch = FetchPartition(T0, 3, 1 << 20, last_fetched_epoch=0)
    answer = broker.fetch(fetch, max_wait_ms=500)
    assert answer.results is None
    broker.log().truncate_to(1)
    broker.log().append_as_leader(batch(4), 1)
    broker.partition().maybe_increment_leader_high_watermark(NOW_MS)
    broker.purgatories.fetch.check_and_complete(T0)
    assert answer.one.diverging_epoch == (0, 0, 1)


# -- sessions' partitions ---------------------------------------------------------------------------------------------


def test_an_idle_partition_of_a_session_is_not_read() -> None:
    broker = Broker()
    broker.create()
    broker.append(count=2)
    fetch = FetchPartition(T0, 2, 1000)
    first = broker.fetch(fetch).one
    assert first is not UNCHANGED, "outside a session there is a first answer to give"
    fetch.high_watermark, fetch.local_log_start_offset = first.high_watermark, first.log_start_offset
    assert broker.fetch(fetch).one is UNCHANGED
    broker.partition().delete_records_on_leader(1)
    assert broker.fetch(fetch).one.log_start_offset == 1
    fetch.local_log_start_offset = 1
    assert broker.fetch(fetch).one is UNCHANGED
    fetch.current_leader_epoch = 3
    assert broker.fetch(fetch).one.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    fetch.current_leader_epoch = 0
    broker.append()
    assert offsets(broker.fetch(fetch).one) == [2]


def test_what_goes_out_is_counted() -> None:
    broker = Broker()
    broker.create()
    broker.append()
    broker.read()
    stats = broker.replicas.stats
    stats.update_bytes_out(broker.partition(), 100)
    stats.update_bytes_out(broker.partition(), 7, is_follower=True)
    assert (stats.all_topics.bytes_out.value, broker.partition().metrics.bytes_out.value) == (100, 100)
    assert (stats.replication_bytes_out.value, stats.reassignment_bytes_out.value) == (7, 0)
    assert (stats.all_topics.total_fetch_requests.value, broker.partition().metrics.total_fetch_requests.value) == (
        1,
        1,
    )
