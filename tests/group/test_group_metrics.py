"""Every metric of the group coordinator moves."""

from typing import Any

import pytest

from ottla.metrics.instruments import Counter, Gauge
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.group.service_requests import (
    GROUP,
    commit_request,
    consumer_heartbeat_request,
    delete_offsets_request,
    join_request,
)
from tests.group.service_world import ServiceWorld, context

SENSORS = "kafka_server_group_coordinator_metrics_"
MANAGER = "kafka_coordinator_group_groupmetadatamanager_"


@pytest.fixture
def world() -> ServiceWorld:
    return ServiceWorld(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000)


def value(world: ServiceWorld, name: str, **labels: str) -> float:
    metric = world.registry.get(name, **labels)
    if isinstance(metric, Gauge):
        return metric.read()
    assert isinstance(metric, Counter), name
    return metric.value


def commit(world: ServiceWorld) -> None:
    world.coordinator.commit_offsets(context(9), commit_request())


def join(world: ServiceWorld) -> JoinGroupResponse:
    answer = world.coordinator.join_group(context(3), join_request())
    world.advance(0)
    return answer.result()


def test_offsets(world: ServiceWorld) -> None:
    commit(world)
    commit(world)
    assert value(world, SENSORS + "offset_commit_count") == 2
    assert value(world, MANAGER + "numoffsets") == 1
    world.coordinator.delete_offsets(delete_offsets_request())
    assert value(world, SENSORS + "offset_deletion_count") == 1
    assert value(world, MANAGER + "numoffsets") == 0
    assert value(world, SENSORS + "offset_expiration_count") == 0


def test_expired_offsets(world: ServiceWorld) -> None:
    commit(world)
    world.advance(2 * 60_000)
    assert value(world, SENSORS + "offset_expiration_count") == 1
    assert value(world, MANAGER + "numoffsets") == 0


def classic_states(world: ServiceWorld) -> dict[str, float]:
    states = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
    found = {state: value(world, f"{MANAGER}numgroups{state.lower()}") for state in states}
    total = sum(found.values())
    assert total == value(world, MANAGER + "numgroups")
    assert total == value(world, SENSORS + "group_count", protocol="classic")
    return {state: count for state, count in found.items() if count}


def test_classic_groups(world: ServiceWorld) -> None:
    assert classic_states(world) == {}
    commit(world)
    assert classic_states(world) == {"Empty": 1}
    joined = join(world)
    assert classic_states(world) == {"CompletingRebalance": 1}
    identity: dict[str, Any] = {"group_id": GROUP, "generation_id": 1, "member_id": joined.member_id}
    assert value(world, SENSORS + "group_completed_rebalance_count") == 0
    assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"a")
    world.coordinator.sync_group(SyncGroupRequest(**identity, assignments=[assignment]))
    assert classic_states(world) == {"Stable": 1}
    assert value(world, SENSORS + "group_completed_rebalance_count") == 1
    world.coordinator.join_group(context(3), join_request())
    assert classic_states(world) == {"PreparingRebalance": 1}


def consumer_states(world: ServiceWorld) -> dict[str, float]:
    states = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
    found = {state: value(world, SENSORS + "consumer_group_count", state=state) for state in states}
    assert sum(found.values()) == value(world, SENSORS + "group_count", protocol="consumer")
    return {state: count for state, count in found.items() if count}


def test_consumer_groups(world: ServiceWorld) -> None:
    def heartbeat(**fields: Any) -> None:
        answer = world.coordinator.consumer_group_heartbeat(context(1), consumer_heartbeat_request(**fields)).result()
        assert answer.error_code == 0, answer.error_message

    assert consumer_states(world) == {}
    heartbeat()
    assert consumer_states(world) == {"Stable": 1}
    assert value(world, SENSORS + "consumer_group_rebalance_count") == 1
    world.advance(1000)
    heartbeat(member_id="n")
    assert consumer_states(world) == {"Reconciling": 1}
    assert value(world, SENSORS + "consumer_group_rebalance_count") == 2
    heartbeat(member_id="m", member_epoch=-1)
    heartbeat(member_id="n", member_epoch=-1)
    assert consumer_states(world) == {"Empty": 1}


def test_a_group_whose_next_assignment_has_to_wait(world: ServiceWorld) -> None:
    for member_id in ("m", "n"):  # the second within group.consumer.assignment.interval.ms
        request = consumer_heartbeat_request(member_id=member_id)
        assert world.coordinator.consumer_group_heartbeat(context(1), request).result().error_code == 0
    assert consumer_states(world) == {"Assigning": 1}


def test_what_is_elsewhere_does_not_count(world: ServiceWorld) -> None:
    commit(world)
    for partition in range(3):
        world.coordinator.on_resignation(partition, 2)
    assert value(world, MANAGER + "numoffsets") == 0
    assert classic_states(world) == {}
