"""Who is asked for what: one request a node, within the bytes that may wait."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetch_planner import FetchPlan, note_leaders, plan_fetches
from ottla.clients.consumer.offset_reset_policy import EARLIEST
from ottla.clients.consumer.partition_state import FetchState
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.network.node import Node
from tests.clients.consumer.simulated_log import SimulatedLog, Step

TOPIC_ID = Uuid.from_halves(1, 1)
PARTITIONS = [TopicPartition("t", number) for number in range(4)]


def cluster(leaders: dict[int, int], epoch: int = 1) -> ClusterMetadata:
    partitions = {number: PartitionMetadata(number, leader, epoch) for number, leader in leaders.items()}
    nodes = {number: Node(number, "host", 9000 + number) for number in range(3)}
    return ClusterMetadata("c", 0, nodes, {"t": TopicMetadata("t", TOPIC_ID, partitions=partitions)})


def subscribed(partitions: list[TopicPartition]) -> tuple[SubscriptionState, FetchBuffer]:
    subscription = SubscriptionState(EARLIEST)
    subscription.assign(partitions)
    for partition in partitions:
        subscription.seek(partition, 0)
    return subscription, FetchBuffer(subscription, RecordDecoder())


def plan(
    subscription: SubscriptionState, buffer: FetchBuffer, metadata: ClusterMetadata, **changes: object
) -> FetchPlan:
    given: dict[str, object] = {
        "now_ms": 0, "busy_nodes": set(), "in_flight": set(), "fetch_max_bytes": 1000, "max_partition_fetch_bytes": 100
    } | changes  # fmt: skip
    return plan_fetches(subscription, buffer, metadata, **given)  # type: ignore[arg-type]


def test_each_leader_is_asked_once_for_all_its_partitions() -> None:
    subscription, buffer = subscribed(PARTITIONS)
    metadata = cluster({0: 0, 1: 1, 2: 0, 3: -1})
    note_leaders(subscription, metadata)
    planned = plan(subscription, buffer, metadata)
    assert {fetch.node_id: list(fetch.partitions) for fetch in planned.fetches} == {
        0: [PARTITIONS[0], PARTITIONS[2]],
        1: [PARTITIONS[1]],
    }
    assert planned.leaderless == [PARTITIONS[3]]
    asked = planned.fetches[0].partitions[PARTITIONS[0]]
    assert asked == (TOPIC_ID, 0, 1, 100)
    assert [fetch.node_id for fetch in plan(subscription, buffer, metadata, busy_nodes={0}).fetches] == [1]


def test_what_is_paused_in_flight_or_unvalidated_is_left_out_and_a_full_partition_holds_its_node() -> None:
    subscription, buffer = subscribed(PARTITIONS)
    metadata = cluster(dict.fromkeys(range(4), 0))
    subscription.pause(PARTITIONS[0])
    log = SimulatedLog(PARTITIONS[1], [Step(0, 2)] * 3)
    assert buffer.add(log.fetch(0, 1, committed=False))
    assert buffer.add(log.fetch(2, 1, committed=False))
    subscription.seek(PARTITIONS[2], 5, 0)
    note_leaders(subscription, metadata)
    assert subscription.state(PARTITIONS[2]).fetch_state is FetchState.AWAIT_VALIDATION
    assert plan(subscription, buffer, metadata).fetches == [], "two answers of a partition wait"
    buffer.take(2)
    (fetch,) = plan(subscription, buffer, metadata).fetches
    assert list(fetch.partitions) == [PARTITIONS[1], PARTITIONS[3]]
    assert fetch.partitions[PARTITIONS[1]].fetch_offset == 4, "fetched ahead, from the end of what waits"
    (fetch,) = plan(subscription, buffer, metadata, in_flight={PARTITIONS[3]}).fetches
    assert list(fetch.partitions) == [PARTITIONS[1]]


def test_a_preferred_replica_is_read_while_the_leader_says_so() -> None:
    subscription, buffer = subscribed(PARTITIONS[:1])
    metadata = cluster({0: 0})
    state = subscription.state(PARTITIONS[0])
    state.preferred_read_replica, state.preferred_until_ms = 2, 50
    assert plan(subscription, buffer, metadata, now_ms=49).fetches[0].node_id == 2
    assert plan(subscription, buffer, metadata, now_ms=50).fetches[0].node_id == 0
    state.preferred_read_replica, state.preferred_until_ms = 77, 500
    assert plan(subscription, buffer, metadata, now_ms=60).fetches[0].node_id == 0, "nobody knows that node"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 900)), max_size=40))
def test_no_more_than_the_configured_bytes_wait(answers: list[tuple[int, int]]) -> None:
    subscription, buffer = subscribed(PARTITIONS)
    metadata = cluster(dict.fromkeys(range(4), 0))
    logs = {partition: SimulatedLog(partition, [Step(0, 1)] * 60) for partition in PARTITIONS}
    largest = max(len(data) for log in logs.values() for _, _, data in log.batches)
    for index, size in answers:
        for fetch in plan(subscription, buffer, metadata, fetch_max_bytes=600).fetches:
            left = fetch.max_bytes
            for partition, asked in fetch.partitions.items():
                if left <= 0:
                    break
                answer = logs[partition].fetch(asked.fetch_offset, min(left, size), committed=False, node_id=0)
                left -= answer.size_in_bytes
                buffer.add(answer)
        assert buffer.bytes_from(0) <= 600 + largest, "one batch may be larger than what is asked for"
        if index:
            buffer.take(index)


def test_paused_partitions_do_not_starve_their_neighbours() -> None:
    subscription, buffer = subscribed(PARTITIONS[:2])
    metadata = cluster({0: 0, 1: 0})
    answer = SimulatedLog(PARTITIONS[0], [Step(0, 5)] * 3).fetch(0, 1 << 20, committed=False, node_id=0)
    assert buffer.add(answer)
    limit = answer.size_in_bytes + 10
    assert plan(subscription, buffer, metadata, fetch_max_bytes=limit).fetches == [], "it comes out soon"
    subscription.pause(PARTITIONS[0])
    (fetch,) = plan(subscription, buffer, metadata, fetch_max_bytes=limit).fetches
    assert list(fetch.partitions) == [PARTITIONS[1]]
    assert fetch.max_bytes == limit
    assert buffer.size_in_bytes == 0
    subscription.resume(PARTITIONS[0])
    (fetch,) = plan(subscription, buffer, metadata, fetch_max_bytes=limit).fetches
    assert fetch.partitions[PARTITIONS[0]].fetch_offset == 0, "and is fetched again"
