"""Brokers: registration, heartbeats, controlled shutdown, directories, leaving for good."""

from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.metadata.directory_id import UNASSIGNED
from ottla.metadata.features import METADATA_VERSION
from ottla.metadata.records import BrokerRegistrationChangeRecord, RegisterBrokerRecord, UnregisterBrokerRecord
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from ottla.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from ottla.protocol.messages.broker_registration import Feature
from ottla.protocol.messages.controller_registration import ControllerRegistrationRequest
from ottla.protocol.messages.controller_registration import Feature as ControllerFeature
from ottla.protocol.messages.controller_registration import Listener as ControllerListener
from ottla.protocol.messages.unregister_broker import UnregisterBrokerRequest
from ottla.runtime.completion import Completion
from tests.controller.controller_world import (
    CONTEXT,
    World,
    directory,
    registration,
    topic_request,
    uuid,
)


def refusal(completion: Completion[Any]) -> tuple[str, str]:
    with pytest.raises(ApiError) as refused:
        completion.result()
    return ErrorCode(refused.value.code).name, str(refused.value)


def leaders(world: World, topic: str = "t") -> list[int]:
    return [partition.leader for partition in world.image.topics.by_name[topic].partitions.values()]


def test_a_broker_registers_fenced_with_the_next_offset_as_its_epoch() -> None:
    world = World.active()
    next_offset = world.raft.log_end_offset
    epoch = world.register(1, rack="r")
    assert epoch == next_offset
    record = world.raft.records[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_id, record.broker_epoch, record.fenced, record.rack) == (1, epoch, True, "r")
    assert list(record.log_dirs) == [directory(1)]
    assert record.cordoned_log_dirs is None
    assert [(point.name, point.host, point.port) for point in record.end_points] == [("PLAINTEXT", "localhost", 9092)]
    assert METADATA_VERSION in {feature.name for feature in record.features}


def test_an_amendment_keeps_epoch_and_state() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    assert world.register(1, rack="moved") == epoch
    broker = world.image.cluster.brokers[1]
    assert (broker.rack, broker.fenced) == ("moved", False)


def test_a_second_broker_with_the_same_id_must_wait_for_the_session() -> None:
    world = World.active(1)
    code, message = refusal(world.controller.register_broker(CONTEXT, registration(1, incarnation=50)))
    assert code == "DUPLICATE_BROKER_REGISTRATION"
    assert message.startswith("Another broker is registered with that broker id.")
    world.pass_ms(11_000)
    epoch = world.register(1, incarnation=50)
    assert world.image.cluster.brokers[1].epoch == epoch
    assert world.image.cluster.brokers[1].incarnation_id == uuid(50)


@pytest.mark.parametrize("clean", [True, False])
def test_who_shut_down_uncleanly_is_not_eligible_to_lead(clean: bool) -> None:
    world = World.active(1)
    world.controller.create_topics(CONTEXT, topic_request("t")).result()
    epoch = world.image.cluster.brokers[1].epoch
    world.heartbeat(1, epoch, want_shut_down=True, want_fence=True)
    assert world.partition("t").elr == (1,)
    world.pass_ms(11_000)
    epoch = world.register(1, incarnation=50, previous_broker_epoch=epoch if clean else -1)
    partition = world.partition("t")
    assert partition.elr == ((1,) if clean else ())
    world.heartbeat(1, epoch)
    partition = world.partition("t")
    assert partition.leader == 1, "the last known leader comes back, if uncleanly"
    assert bool(partition.leader_recovery_state) is not clean


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        (
            {"cluster_id": "another"},
            "INCONSISTENT_CLUSTER_ID",
            "Expected cluster ID a-cluster, but got cluster ID another",
        ),
        ({"is_migrating_zk_broker": True}, "BROKER_ID_NOT_REGISTERED", None),
        ({"log_dirs": []}, "INVALID_REGISTRATION", "No directories specified in request"),
        ({"log_dirs": [UNASSIGNED]}, "INVALID_REGISTRATION", "Reserved directory ID in request"),
        ({"log_dirs": [directory(2), directory(2)]}, "INVALID_REGISTRATION", "Duplicate directory ID in request"),
        (
            {"log_dirs": [directory(1)]},
            "INVALID_REGISTRATION",
            f"Broker 1 is already registered with directory {directory(1)}",
        ),
        ({"features": []}, "INVALID_REGISTRATION", "Request features do not contain 'metadata.version'"),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=29)]},
            "UNSUPPORTED_VERSION",
            "Unable to register because the broker does not support finalized version 30 of metadata.version. The "
            "broker wants a version between 7 and 29, inclusive.",
        ),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)]},
            "UNSUPPORTED_VERSION",
            "Unable to register because the broker does not support finalized version 1 of "
            "eligible.leader.replicas.version. The broker wants a version between 0 and 0, inclusive.",
        ),
    ],
)
def test_registrations_that_are_refused(fields: dict[str, Any], code: str, message: str | None) -> None:
    world = World.active(1)
    got = refusal(world.controller.register_broker(CONTEXT, registration(2, **fields)))
    assert got[0] == code
    assert message is None or got[1] == message
    assert 2 not in world.image.cluster.brokers


def test_a_broker_is_unfenced_when_it_has_read_its_own_registration() -> None:
    world = World.active()
    epoch = world.register(1)
    behind = world.heartbeat(1, epoch, current_metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    waiting = world.heartbeat(1, epoch, want_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    caught_up = world.heartbeat(1, epoch)
    assert (caught_up.is_caught_up, caught_up.is_fenced, caught_up.should_shut_down) == (True, False, False)
    assert world.raft.records[-1] == BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=-1)
    before = len(world.raft.batches)
    world.heartbeat(1, epoch)
    assert len(world.raft.batches) == before


def test_heartbeats_of_strangers_are_refused() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    assert refusal(world.beat(5, 1)) == ("STALE_BROKER_EPOCH", "No broker registration found for broker id 5")
    assert refusal(world.beat(1, epoch + 1)) == (
        "STALE_BROKER_EPOCH",
        f"Expected broker epoch {epoch}, but got broker epoch {epoch + 1}",
    )


def test_a_broker_that_wants_to_be_fenced_is() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    assert world.heartbeat(1, epoch, want_fence=True).is_fenced
    assert world.image.cluster.brokers[1].fenced


def test_a_single_broker_shuts_down_and_its_partitions_wait_for_it() -> None:
    world = World.active(1)
    world.controller.create_topics(CONTEXT, topic_request("t", 2)).result()
    epoch = world.image.cluster.brokers[1].epoch
    first = world.heartbeat(1, epoch, want_shut_down=True)
    assert not first.should_shut_down
    assert world.image.cluster.brokers[1].in_controlled_shutdown
    assert leaders(world) == [-1, -1]
    second = world.heartbeat(1, epoch, want_shut_down=True)
    assert second.should_shut_down
    assert world.image.cluster.brokers[1].fenced


def test_a_controlled_shutdown_waits_until_the_others_know() -> None:
    world = World.active(1, 2)
    world.controller.create_topics(CONTEXT, topic_request("t", 4, 2)).result()
    one, two = (world.image.cluster.brokers[broker].epoch for broker in (1, 2))
    old_offset = world.raft.log_end_offset - 1
    world.heartbeat(2, two)
    assert not world.heartbeat(1, one, want_shut_down=True).should_shut_down
    assert leaders(world) == [2, 2, 2, 2]
    world.heartbeat(2, two, current_metadata_offset=old_offset)
    assert not world.heartbeat(1, one, want_shut_down=True).should_shut_down
    world.heartbeat(2, two)
    assert world.heartbeat(1, one, want_shut_down=True).should_shut_down
    answer = world.controller.create_topics(CONTEXT, topic_request("u", 1, 2)).result().topics[0]
    assert answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_broker_without_leaderships_goes_at_once() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    assert world.heartbeat(1, epoch, want_shut_down=True).should_shut_down
    assert world.heartbeat(1, epoch, want_shut_down=True).should_shut_down, "fenced brokers may always go"


def test_a_directory_that_fails_loses_its_leaderships() -> None:
    world = World.active()
    epoch = world.register(1, log_dirs=[directory(1), directory(1, 1)])
    world.heartbeat(1, epoch)
    topic = world.controller.create_topics(CONTEXT, topic_request("t", 2)).result().topics[0]
    assign(world, 1, epoch, topic.topic_id, {0: directory(1), 1: directory(1, 1)})
    assert world.partition("t", 1).directories == (directory(1, 1),)
    world.heartbeat(1, epoch, offline_log_dirs=[directory(1, 1)])
    assert leaders(world) == [1, -1]
    assert world.image.cluster.brokers[1].directories == (directory(1),)
    before = len(world.raft.batches)
    world.heartbeat(1, epoch, offline_log_dirs=[directory(1, 1)])
    assert len(world.raft.batches) == before, "it is known"


def test_cordoned_directories_take_no_replicas() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    world.heartbeat(1, epoch, cordoned_log_dirs=[])
    assert world.raft.records[-1] == BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=epoch, cordoned_log_dirs=[]
    )
    before = len(world.raft.batches)
    world.heartbeat(1, epoch, cordoned_log_dirs=[])
    assert len(world.raft.batches) == before
    world.heartbeat(1, epoch, cordoned_log_dirs=[directory(1)])
    answer = world.controller.create_topics(CONTEXT, topic_request("t")).result().topics[0]
    assert answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def assign(world: World, broker_id: int, epoch: int, topic_id: Uuid, places: dict[int, Uuid]) -> list[int]:
    request = AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=epoch,
        directories=[
            AssignReplicasToDirsRequestDirectoryData(
                id=where,
                topics=[
                    AssignReplicasToDirsRequestTopicData(
                        topic_id=topic_id,
                        partitions=[AssignReplicasToDirsRequestPartitionData(partition_index=partition)],
                    )
                ],
            )
            for partition, where in places.items()
        ],
    )
    response = world.controller.assign_replicas_to_dirs(CONTEXT, request).result()
    return [one.topics[0].partitions[0].error_code for one in response.directories]


def test_replicas_are_assigned_to_directories_one_by_one() -> None:
    world = World.active(1, 2)
    topic = world.controller.create_topics(CONTEXT, topic_request("t", 2)).result().topics[0]
    mine = leaders(world).index(1)
    epoch = world.image.cluster.brokers[1].epoch
    codes = assign(world, 1, epoch, topic.topic_id, {mine: directory(1, 7), 1 - mine: directory(1), 5: directory(1)})
    assert codes == [0, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert leaders(world)[mine] == -1, "the directory is not online"
    assert assign(world, 1, epoch, uuid(9), {0: directory(1)}) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_a_broker_leaves_for_good() -> None:
    world = World.active(1, 2)
    world.controller.create_topics(CONTEXT, topic_request("t", 2, 2)).result()
    epoch = world.image.cluster.brokers[1].epoch
    world.controller.unregister_broker(CONTEXT, UnregisterBrokerRequest(broker_id=1)).result()
    assert world.raft.records[-1] == UnregisterBrokerRecord(broker_id=1, broker_epoch=epoch)
    assert 1 not in world.image.cluster.brokers
    assert leaders(world) == [2, 2]
    assert refusal(world.controller.unregister_broker(CONTEXT, UnregisterBrokerRequest(broker_id=1))) == (
        "BROKER_ID_NOT_REGISTERED",
        "Broker ID 1 is not currently registered",
    )
    assert refusal(world.beat(1, epoch))[0] == "STALE_BROKER_EPOCH"


def test_producer_ids_come_in_blocks() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
    blocks = [world.controller.allocate_producer_ids(CONTEXT, request).result() for _ in range(3)]
    assert [(block.producer_id_start, block.producer_id_len) for block in blocks] == [
        (0, 1000),
        (1000, 1000),
        (2000, 1000),
    ]
    stale = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch + 1)
    assert refusal(world.controller.allocate_producer_ids(CONTEXT, stale))[0] == "STALE_BROKER_EPOCH"


def test_a_controller_registers() -> None:
    world = World.active()
    request = ControllerRegistrationRequest(
        controller_id=3000,
        incarnation_id=uuid(30),
        listeners=[ControllerListener(name="CONTROLLER", host="localhost", port=9093)],
        features=[ControllerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
    )
    world.controller.register_controller(CONTEXT, request).result()
    controller = world.image.cluster.controllers[3000]
    assert controller.incarnation_id == uuid(30)
    assert controller.listeners["CONTROLLER"].port == 9093


def test_a_broker_has_caught_up_where_its_registration_stands_behind_the_cleaning_up() -> None:
    world = World.active(1, 2)
    world.controller.create_topics(CONTEXT, topic_request("t", 3, 2)).result()
    world.raft.lose(None, 2)
    world.raft.lead(3)
    world.pass_ms(8_000)
    world.heartbeat(2, world.image.cluster.brokers[2].epoch)
    world.clock.advance_ms(2_000)
    epoch = world.register(1, incarnation=50)
    registered_at = world.raft.log_end_offset - 1
    assert registered_at == epoch + 3, "three partitions lose a replica first"
    assert world.heartbeat(1, epoch, current_metadata_offset=registered_at - 1).is_fenced
    assert not world.heartbeat(1, epoch, current_metadata_offset=registered_at).is_fenced
