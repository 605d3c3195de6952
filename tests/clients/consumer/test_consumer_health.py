"""Each state of health from what it is told by; one sentence each."""

from typing import Any

import pytest

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.health import HealthState, HealthView, consumer_health
from ottla.clients.consumer.membership import MembershipState
from ottla.clients.consumer.node_outages import NodeOutages
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.offset_reset_policy import EARLIEST
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import TopicAuthorizationError
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.network.node import Node

P = TopicPartition("orders", 0)


def image(leader: int = 1, error_code: int = 0) -> ClusterMetadata:
    partitions = {} if error_code else {0: PartitionMetadata(0, leader, 1)}
    topic = TopicMetadata("orders", Uuid.from_halves(1, 1), partitions=partitions, error_code=error_code)
    return ClusterMetadata("c", 1, {1: Node(1, "host", 9092)}, {"orders": topic})


def view(*, assigned: bool = True, seek: bool = True, **changes: Any) -> HealthView:
    subscription = SubscriptionState(EARLIEST)
    if assigned:
        subscription.assign([P])
        if seek:
            subscription.seek(P, 10)
    given: dict[str, Any] = {
        "metadata": image(),
        "outages": NodeOutages(),
        "isolation": IsolationLevel.READ_UNCOMMITTED,
        "now_ms": 100_000,
        "last_poll_ms": 99_900,
        "max_poll_interval_ms": 300_000,
    } | changes
    return HealthView(subscription, **given)


def state_of(looked_at: HealthView) -> HealthState:
    health = consumer_health(looked_at)
    assert len(health.reason) > 10
    return health.state


def test_the_users_end() -> None:
    assert state_of(view(is_closed=True)) is HealthState.CLOSED
    assert state_of(view(error=TopicAuthorizationError("no"))) is HealthState.FAILED
    assert state_of(view(assigned=False)) is HealthState.NOT_SUBSCRIBED
    assert state_of(view(last_poll_ms=-300_000)) is HealthState.POLL_NOT_CALLED
    assert state_of(view(has_records=True)) is HealthState.FETCHING
    assert state_of(view(has_records=True, last_poll_ms=90_000)) is HealthState.POLL_NOT_CALLED
    paused = view()
    paused.subscription.pause(P)
    assert state_of(paused) is HealthState.ALL_PAUSED


@pytest.mark.parametrize(
    ("member", "partitions", "expected"),
    [
        (MembershipState.UNJOINED, [], HealthState.NO_ASSIGNMENT),
        (MembershipState.JOINING, [], HealthState.NO_ASSIGNMENT),
        (MembershipState.JOINING, [P], HealthState.REBALANCING),
        (MembershipState.RECONCILING, [P], HealthState.REBALANCING),
        (MembershipState.FENCED, [P], HealthState.REBALANCING),
        (MembershipState.STALLED, [P], HealthState.POLL_NOT_CALLED),
        (MembershipState.FATAL, [], HealthState.FAILED),
        (MembershipState.STABLE, [], HealthState.NO_ASSIGNMENT),
        (MembershipState.STABLE, [P], HealthState.NO_POSITION),
    ],
)
def test_the_group(member: MembershipState, partitions: list[TopicPartition], expected: HealthState) -> None:
    looked_at = view(assigned=False, membership_state=member, membership_reason="Waiting for the group.")
    looked_at.subscription.subscribe_topics(["orders"])
    looked_at.subscription.assign_from_group(partitions)
    assert state_of(looked_at) is expected


def test_topics_and_brokers() -> None:
    missing = view(metadata=image(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert state_of(missing) is HealthState.TOPIC_MISSING
    assert "orders" in consumer_health(missing).reason
    assert state_of(view(metadata=image(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))) is HealthState.NOT_AUTHORIZED
    assert state_of(view(fetch_codes={P: ErrorCode.UNKNOWN_TOPIC_ID})) is HealthState.TOPIC_MISSING
    assert state_of(view(metadata=image(leader=-1))) is HealthState.NO_LEADER
    outages = NodeOutages()
    outages.failed(1, "connection refused", 88_000, 100_500)
    unreachable = consumer_health(view(outages=outages))
    assert unreachable.state is HealthState.BROKER_UNREACHABLE
    assert "12.0 s ago: connection refused" in unreachable.reason
    assert state_of(view(overdue_nodes={1: 90_000})) is HealthState.BROKER_UNREACHABLE
    assert state_of(view(seek=False)) is HealthState.NO_POSITION
    assert state_of(view(fetch_codes={P: ErrorCode.KAFKA_STORAGE_ERROR})) is HealthState.FETCH_ERROR


def test_the_log() -> None:
    looked_at = view(isolation=IsolationLevel.READ_COMMITTED)
    assert state_of(looked_at) is HealthState.FETCHING, "nothing was fetched yet"
    state = looked_at.subscription.state(P)
    state.high_watermark, state.last_stable_offset = 20, 15
    assert state_of(looked_at) is HealthState.FETCHING
    state.last_stable_offset = 10
    assert state_of(looked_at) is HealthState.BEHIND_TRANSACTION
    state.high_watermark = 10
    assert state_of(looked_at) is HealthState.AT_END
    assert consumer_health(looked_at).is_fine
