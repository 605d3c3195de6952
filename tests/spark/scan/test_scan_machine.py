"""The scan's machine beside brokers that move, fence, lose connections and records: every visible record, once."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.cluster.metadata import ClusterMetadata, TopicMetadata
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.offset_and_metadata import OffsetAndTimestamp
from ottla.clients.consumer.offset_lookup import IsolationLevel, LookupResult
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.errors import KafkaTimeoutError, TopicAuthorizationError
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.spark.scan.fetch_settings import FetchSettings
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.scan_errors import CorruptBatchError, DataLossError
from ottla.spark.scan.scan_machine import GONE_AFTER_MS, ScanMachine
from ottla.spark.scan.scan_plan import fetch_request, log_bounds
from tests.clients.consumer.simulated_log import CODECS, SimulatedLog, Step
from tests.spark.scan.simulated_cluster import NODES, TOPIC, TOPIC_ID, SimulatedCluster, lost

TIMEOUT_MS = 60_000
NAMES = {TOPIC_ID: TOPIC}
SETTINGS = FetchSettings(
    isolation=IsolationLevel.READ_UNCOMMITTED,
    fail_on_data_loss=True,
    check_crcs=True,
    fetch_bytes=400,
    ahead_bytes_max=800,
    max_wait_ms=500,
    timeout_ms=TIMEOUT_MS,
    retry_backoff_ms=100,
    retry_backoff_max_ms=1000,
    replica_lease_ms=300_000,
    rack_id="",
)
COMMITTED = SETTINGS._replace(isolation=IsolationLevel.READ_COMMITTED)

steps = st.lists(
    st.builds(
        Step,
        producer=st.integers(0, 2),
        records=st.integers(1, 6),
        end=st.sampled_from([None, None, None, True, False]),
        codec=st.integers(0, CODECS - 1),
    ),
    min_size=1,
    max_size=20,
)


class Scan:
    """Drives the machine as its driver does, with time and chance of its own."""

    def __init__(self, cluster: SimulatedCluster, ranges: list[OffsetRange], fetch_settings: FetchSettings) -> None:
        self.cluster = cluster
        self.settings = fetch_settings
        self.machine = ScanMachine(ranges, fetch_settings, Random(1))
        self.now_ms = 0
        self.seen: list[tuple[int, int]] = []
        self.waiting: list[CompletedFetch] = []
        self.bytes_ahead_max = 0
        self.requests = 0

    def step(self, lose: Callable[[], bool] = lambda: False) -> None:
        plan = self.machine.plan(self.cluster.metadata, self.now_ms)
        self.bytes_ahead_max = max(self.bytes_ahead_max, self.machine.bytes_ahead)
        for fetch in plan.fetches:
            self.requests += 1
            request, _ = fetch_request(fetch, self.cluster.metadata, self.settings)
            if lose():
                self.machine.failed(fetch, lost(), self.now_ms)
                continue
            response = self.cluster.fetch(fetch.node_id, request)
            self.waiting += self.machine.answered(fetch, response, NAMES, self.now_ms)
        for lookup in plan.lookups:
            self.machine.looked_up(lookup, self.cluster.bounds(), self.now_ms)
        if self.machine.is_metadata_stale:
            self.machine.is_metadata_stale = False
            self.cluster.refresh()
        if not plan.fetches and not plan.lookups and not self.waiting and not self.machine.is_done:
            next_ms = self.machine.next_time_ms(self.now_ms)
            assert next_ms is not None and next_ms > self.now_ms, "nothing is to be done, and it never will be"
            self.now_ms = next_ms

    def use(self) -> None:
        """Decode the oldest answer, and make room."""
        fetch = self.waiting.pop(0)
        while records := RecordDecoder().take(fetch, 3):
            self.seen += [(record.partition, record.offset) for record in records]
        self.machine.released(fetch.size_in_bytes)

    def run(self) -> list[tuple[int, int]]:
        while not self.machine.is_done or self.waiting:
            self.step()
            while self.waiting:
                self.use()
        return self.seen


def scan_of(written: list[Step], start: int, end: int, fetch_settings: FetchSettings = SETTINGS) -> Scan:
    log = SimulatedLog(TopicPartition(TOPIC, 0), written)
    cluster = SimulatedCluster({0: log}, Random(0))
    return Scan(cluster, [OffsetRange(TOPIC, 0, start, end)], fetch_settings)


@given(
    logs=st.tuples(steps, steps, steps),
    committed=st.booleans(),
    cuts=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 120), st.integers(0, 120)), min_size=1, max_size=5),
    chance=st.randoms(use_true_random=False),
    compacts=st.booleans(),
)
@settings(max_examples=200)
def test_every_visible_record_of_the_ranges_comes_once(
    logs: tuple[list[Step], ...],
    committed: bool,
    cuts: list[tuple[int, int, int]],
    chance: Random,
    compacts: bool,
) -> None:
    written = {number: SimulatedLog(TopicPartition(TOPIC, number), each) for number, each in enumerate(logs)}
    cluster = SimulatedCluster(written, chance)
    if compacts:
        for partition in cluster.partitions.values():
            partition.compact(chance)
    ranges = []
    for number, one, other in cuts:  # of a partition more than one may be in a task
        end = written[number].last_stable_offset if committed else written[number].end_offset
        first, last = sorted((min(one, end), min(other, end)))
        if first < last:
            ranges.append(OffsetRange(TOPIC, number, first, last))
    scan = Scan(cluster, ranges, COMMITTED if committed else SETTINGS)
    trouble = 30
    while not scan.machine.is_done or scan.waiting:
        if trouble and chance.random() < 0.3:
            trouble -= 1
            cluster.elect(chance.randrange(3))
        is_lost = trouble > 0 and chance.random() < 0.2
        trouble -= is_lost
        scan.step(lambda lost=is_lost: lost)  # type: ignore[misc]
        if scan.waiting and chance.random() < 0.7:
            scan.use()
    expected = []
    for each in ranges:
        there = [(base, last) for base, last, _ in cluster.partitions[each.partition].batches]
        for offset in written[each.partition].visible(committed=committed):
            is_there = any(base <= offset <= last for base, last in there)
            if is_there and each.start_offset <= offset < each.end_offset:
                expected.append((each.partition, offset))
    assert sorted(scan.seen) == sorted(expected)
    largest = max((len(raw) for log in written.values() for _, _, raw in log.batches), default=0)
    # A batch that is larger than what was asked for comes whole, from each node.
    assert scan.bytes_ahead_max <= SETTINGS.ahead_bytes_max + 2 * largest


def test_many_small_ranges_cost_one_request_a_leader() -> None:
    logs = {number: SimulatedLog(TopicPartition(TOPIC, number), [Step(0, 3)]) for number in range(20)}
    cluster = SimulatedCluster(logs, Random(0))
    for number in range(0, 20, 2):
        cluster.elect(number)
    cluster.refresh()
    large = SETTINGS._replace(fetch_bytes=1 << 23, ahead_bytes_max=1 << 24)
    scan = Scan(cluster, [OffsetRange(TOPIC, number, 0, 3) for number in range(20)], large)
    assert len(scan.run()) == 60
    assert scan.requests == 2


def test_large_ranges_are_fetched_one_after_the_other_and_no_further_than_they_go() -> None:
    logs = {number: SimulatedLog(TopicPartition(TOPIC, number), [Step(0, 6)] * 200) for number in range(2)}
    cluster = SimulatedCluster(logs, Random(0))
    scan = Scan(cluster, [OffsetRange(TOPIC, 0, 0, 1000), OffsetRange(TOPIC, 1, 0, 10)], SETTINGS)
    plan = scan.machine.plan(cluster.metadata, 0)
    assert [[cursor.wanted.partition for cursor in fetch.cursors] for fetch in plan.fetches] == [[0]]
    scan = Scan(cluster, [OffsetRange(TOPIC, 1, 0, 10)], SETTINGS._replace(fetch_bytes=1 << 20))
    assert scan.run() == [(1, offset) for offset in range(10)]
    assert scan.requests == 1


def test_what_lies_behind_a_small_range_is_not_asked_for() -> None:
    large = SETTINGS._replace(fetch_bytes=1 << 23, ahead_bytes_max=1 << 24)
    scan = scan_of([Step(0, 6)], 0, 6, large)
    fetch = scan.machine.plan(scan.cluster.metadata, 0).fetches[0]
    request, _ = fetch_request(fetch, scan.cluster.metadata, large)
    assert request.topics[0].partitions[0].partition_max_bytes < 100_000
    scan = scan_of([Step(0, 6)] * 100, 0, 600, SETTINGS._replace(fetch_bytes=10_000))
    scan.step()
    scan.use()
    fetch = scan.machine.plan(scan.cluster.metadata, 0).fetches[0]
    request, _ = fetch_request(fetch, scan.cluster.metadata, large)
    assert request.topics[0].partitions[0].partition_max_bytes <= 10_000


def test_a_range_that_ends_in_nothing_ends() -> None:
    """All batches before the end were compacted away, and the log holds nothing behind them."""
    scan = scan_of([Step(0, 5), Step(0, 5)], 0, 10)
    scan.cluster.partitions[0].batches = scan.cluster.partitions[0].batches[:1]
    assert [offset for _, offset in scan.run()] == [0, 1, 2, 3, 4]
    assert scan.now_ms < TIMEOUT_MS


@pytest.mark.parametrize("recovers", [True, False])
def test_remote_storage_that_is_slow_is_no_gap(recovers: bool) -> None:
    """Apache's broker says no more of it than of a gap: no error, no records, and the true end."""
    scan = scan_of([Step(0, 5), Step(0, 5)], 0, 10)
    partition = scan.cluster.partitions[0]
    partition.local_start_offset, partition.is_remote_slow = 5, True
    if not recovers:
        with pytest.raises(KafkaTimeoutError, match="all before offset 5 is in remote storage, which is slow"):
            scan.run()
        assert scan.now_ms >= TIMEOUT_MS
        return
    while scan.now_ms < TIMEOUT_MS / 2:
        scan.step()
    partition.is_remote_slow = False
    assert [offset for _, offset in scan.run()] == list(range(10))


def test_a_local_start_is_the_logs_unless_the_broker_may_still_tell_of_another() -> None:
    partition = TopicPartition(TOPIC, 0)

    def answer(offset: int | None = None, code: int | None = None) -> LookupResult:
        found = {partition: None if offset is None else OffsetAndTimestamp(offset, -1, -1)} if code is None else {}
        return LookupResult(found, {} if code is None else {partition: code}, None)

    assert log_bounds(answer(3), answer(5), answer(9)) == {partition: (3, 5, 9)}
    for unknown in (answer(), answer(code=ErrorCode.UNSUPPORTED_VERSION)):
        assert log_bounds(answer(3), unknown, answer(9)) == {partition: (3, 3, 9)}
    assert log_bounds(answer(3), answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER), answer(9)) == {}
    assert log_bounds(answer(3), answer(5), answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)) == {}


def test_a_broker_that_is_short_of_the_end_is_waited_for() -> None:
    scan = scan_of([Step(0, 5)], 0, 8)
    for _ in range(20):
        scan.step()
        while scan.waiting:
            scan.use()
    assert not scan.machine.is_done
    scan.cluster.partitions[0].log._write(Step(0, 3))
    scan.cluster.partitions[0].batches = list(scan.cluster.partitions[0].log.batches)
    assert [offset for _, offset in scan.run()] == list(range(8))


@pytest.mark.parametrize("fails", [True, False])
def test_a_log_that_stays_short_has_lost_records(fails: bool) -> None:
    scan = scan_of([Step(0, 5)], 0, 8, SETTINGS._replace(fail_on_data_loss=fails))
    if fails:
        with pytest.raises(DataLossError, match="from offset 5 to 8 are gone, its log ends at 5 now"):
            scan.run()
    else:
        assert [offset for _, offset in scan.run()] == [0, 1, 2, 3, 4]
    assert scan.now_ms >= TIMEOUT_MS


@pytest.mark.parametrize("fails", [True, False])
def test_records_that_retention_took(fails: bool) -> None:
    scan = scan_of([Step(0, 5), Step(0, 5)], 2, 10, SETTINGS._replace(fail_on_data_loss=fails))
    scan.cluster.partitions[0].log_start_offset = 7
    if fails:
        with pytest.raises(DataLossError, match="of t-0 from offset 2 on are gone, its log begins at 7 now"):
            scan.run()
    else:
        assert [offset for _, offset in scan.run()] == [7, 8, 9]


@pytest.mark.parametrize("fails", [True, False])
def test_a_log_that_is_shorter_than_the_range_begins(fails: bool) -> None:
    scan = scan_of([Step(0, 5)], 20, 30, SETTINGS._replace(fail_on_data_loss=fails))
    if fails:
        with pytest.raises(DataLossError, match="from offset 20 to 30 are gone, its log ends at 5 now"):
            scan.run()
    else:
        assert scan.run() == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_is_gone(fails: bool) -> None:
    scan = scan_of([Step(0, 5)], 0, 5, SETTINGS._replace(fail_on_data_loss=fails))
    gone = TopicMetadata(TOPIC, TOPIC_ID, False, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    scan.cluster.metadata = ClusterMetadata("c", 1, NODES, {TOPIC: gone}, {})
    scan.cluster.refresh = lambda: None  # type: ignore[method-assign]
    if fails:
        with pytest.raises(DataLossError, match="does not exist any more; set failOnDataLoss=false"):
            scan.run()
    else:
        assert scan.run() == []
    assert GONE_AFTER_MS <= scan.now_ms < TIMEOUT_MS


def test_no_leader_for_too_long() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    scan.cluster.partitions[0].leader_id = -1
    scan.cluster.refresh()
    with pytest.raises(KafkaTimeoutError, match=r"Nothing of t-0 came from offset 0 on .* within 60000 ms: it has no"):
        scan.run()


def test_a_node_that_does_not_answer_is_named_in_the_end() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    with pytest.raises(KafkaTimeoutError, match="connection was closed"):
        while True:
            scan.step(lambda: True)


def test_time_that_the_reader_takes_is_not_the_brokers() -> None:
    scan = scan_of([Step(0, 6)] * 50, 0, 300)
    scan.step()
    scan.step()
    assert scan.machine.bytes_ahead >= SETTINGS.fetch_bytes, "no room for another request"
    scan.now_ms += 10 * TIMEOUT_MS
    assert len(scan.run()) == 300


def test_what_may_not_be_read_is_said_at_once() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    plan = scan.machine.plan(scan.cluster.metadata, 0)
    data = PartitionData(partition_index=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])
    with pytest.raises(TopicAuthorizationError, match="Cannot read t-0"):
        scan.machine.answered(plan.fetches[0], response, NAMES, 0)


def test_old_formats_are_refused_by_name() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    base, last, raw = scan.cluster.partitions[0].batches[0]
    scan.cluster.partitions[0].batches[0] = (base, last, raw[:16] + b"\x01" + raw[17:])
    with pytest.raises(CorruptBatchError, match="t-0 at offset 0 cannot be read: it is of message format 1"):
        scan.run()


def test_a_follower_in_the_rack_is_read_from_and_left_when_it_is_behind() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    plan = scan.machine.plan(scan.cluster.metadata, 0)
    data = PartitionData(partition_index=0, high_watermark=5, last_stable_offset=5, preferred_read_replica=2)
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])
    assert scan.machine.answered(plan.fetches[0], response, NAMES, 0) == []
    plan = scan.machine.plan(scan.cluster.metadata, 0)
    assert [fetch.node_id for fetch in plan.fetches] == [2]
    data = PartitionData(partition_index=0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])
    assert scan.machine.answered(plan.fetches[0], response, NAMES, 0) == []
    assert len(scan.run()) == 5


def test_a_throttled_broker_leaves_partitions_out() -> None:
    scan = scan_of([Step(0, 5)], 0, 5)
    plan = scan.machine.plan(scan.cluster.metadata, 0)
    assert scan.machine.answered(plan.fetches[0], FetchResponse(throttle_time_ms=50), NAMES, 0) == []
    assert len(scan.run()) == 5


def test_what_another_partition_crowded_out_is_no_gap() -> None:
    logs = {number: SimulatedLog(TopicPartition(TOPIC, number), [Step(0, 3)] * 8) for number in range(2)}
    cluster = SimulatedCluster(logs, Random(0))
    large = SETTINGS._replace(fetch_bytes=1 << 20, ahead_bytes_max=1 << 21)
    scan = Scan(cluster, [OffsetRange(TOPIC, 0, 0, 24), OffsetRange(TOPIC, 1, 0, 24)], large)
    for number in range(6):  # the broker fills its answers from the first partition
        fetch = scan.machine.plan(cluster.metadata, scan.now_ms).fetches[0]
        assert [cursor.wanted.partition for cursor in fetch.cursors] == [0, 1]
        first = PartitionData(
            partition_index=0, high_watermark=24, last_stable_offset=24, records=logs[0].batches[number][2]
        )
        other = PartitionData(partition_index=1, high_watermark=24, last_stable_offset=24)
        response = FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[first, other])])
        scan.waiting += scan.machine.answered(fetch, response, NAMES, scan.now_ms)
        scan.use()
    assert sorted(scan.run()) == [(number, offset) for number in range(2) for offset in range(24)]


def test_what_is_not_committed_yet_is_no_gap() -> None:
    scan = scan_of([Step(0, 3), Step(1, 3)], 0, 6, COMMITTED)
    for _ in range(20):
        scan.step()
        while scan.waiting:
            scan.use()
    assert [offset for _, offset in scan.seen] == [0, 1, 2]
    assert not scan.machine.is_done
    scan.cluster.partitions[0].log._write(Step(1, end=True))
    scan.cluster.partitions[0].batches = list(scan.cluster.partitions[0].log.batches)
    assert [offset for _, offset in scan.run()] == [0, 1, 2, 3, 4, 5]


def test_a_lost_connection_may_mean_another_leader() -> None:
    scan = scan_of([Step(0, 3)], 0, 3)
    fetch = scan.machine.plan(scan.cluster.metadata, 0).fetches[0]
    scan.machine.failed(fetch, lost(), 0)
    assert scan.machine.is_metadata_stale
