"""Admin calls whose answer is with several brokers, or with one that has to be found: whole, also when one dies."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ottla.clients.admin import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    GroupState,
    NewTopic,
    OffsetSpec,
    PartitionReassignment,
    TransactionState,
)
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import ElectionNotNeededError
from ottla.clients.sync.admin import Admin
from ottla.clients.sync.producer import Producer
from ottla.common.topic_partition import TopicPartition
from tests.clients.admin.waiting import attempts, eventually
from tests.clients.three_brokers.replicas import await_in_sync, await_leader, leader_of, make_topic, place_topic
from tests.node_cluster import NodeCluster

ALL = {1, 2, 3}
SPREAD = 9
"""So many groups or transactional ids are on all brokers, with all likelihood."""


@pytest.fixture
def partitions(brokers: NodeCluster, admin: Admin, topic: str) -> Iterator[list[TopicPartition]]:
    """Three partitions, led by 1, 2 and 3, with 10, 20 and 30 records."""
    make_topic(admin, topic, [1, 2, 3])
    with Producer(bootstrap_servers=brokers.bootstrap) as producer:
        for index in range(3):
            for _ in range(10 * (index + 1)):
                producer.send(topic, b"value", partition=index)
    yield [TopicPartition(topic, index) for index in range(3)]
    admin.delete_topics([topic])


@pytest.fixture
def balanced(brokers: NodeCluster, admin: Admin) -> None:
    """All partitions, of internal topics too, are led by their first replicas: earlier tests have killed some."""
    admin.elect_leaders(ElectionType.PREFERRED, raise_errors=False)
    eventually(lambda: admin.elect_leaders(ElectionType.PREFERRED) == {})


# -- partitions and their leaders -------------------------------------------------------------------------------------


def test_leaders_know_their_partitions(admin: Admin, partitions: list[TopicPartition]) -> None:
    ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()))
    assert [ends[each].offset for each in partitions] == [10, 20, 30]
    newest = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.max_timestamp()))
    assert all(newest[each].timestamp_ms > 0 for each in partitions)
    producers = admin.describe_producers(partitions)
    assert [[state.last_sequence for state in producers[each]] for each in partitions] == [[9], [19], [29]]
    for follower in ALL:
        at_replicas = admin.describe_producers(partitions, broker_id=follower)
        assert {key: states[0].producer_id for key, states in at_replicas.items()} == {
            key: states[0].producer_id for key, states in producers.items()
        }
    deleted = admin.delete_records({partitions[0]: 5, partitions[1]: -1, partitions[2]: 7})
    assert [deleted[each].low_watermark for each in partitions] == [5, 20, 7]
    beginnings = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.earliest()))
    assert [beginnings[each].offset for each in partitions] == [5, 20, 7]


def test_a_leader_that_has_just_died(brokers: NodeCluster, admin: Admin, partitions: list[TopicPartition]) -> None:
    """The call waits for the next one."""
    brokers.nodes[2].kill()
    ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()))
    assert [ends[each].offset for each in partitions] == [10, 20, 30]
    assert leader_of(admin, partitions[1]) in {1, 3}
    deleted = admin.delete_records(dict.fromkeys(partitions, 3))
    assert [deleted[each].low_watermark for each in partitions] == [3, 3, 3]


def test_log_dirs_of_all_brokers(admin: Admin, partitions: list[TopicPartition]) -> None:
    described = admin.describe_log_dirs(partitions=partitions)
    assert set(described) == ALL
    for directories in described.values():
        (directory,) = directories.values()
        sizes = {key: directory.replicas[key].size_bytes for key in partitions}
        assert set(directory.replicas) == set(partitions)
        assert 0 < sizes[partitions[0]] < sizes[partitions[1]] < sizes[partitions[2]]
    assert len({next(iter(directories)) for directories in described.values()}) == 3
    assert set(admin.describe_log_dirs([3, 1])) == {1, 3}


# -- groups and transactions ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("balanced")
def test_groups_of_all_brokers(admin: Admin, topic: str, partitions: list[TopicPartition]) -> None:
    groups = {f"{topic}-{number}": number for number in range(SPREAD)}
    for group, number in groups.items():
        admin.alter_group_offsets(group, {partitions[0]: OffsetAndMetadata(number)})
    listed = {name: each.state for name, each in admin.list_groups().items() if name in groups}
    assert listed == dict.fromkeys(groups, GroupState.EMPTY)
    described = admin.describe_consumer_groups(groups)
    assert set(described) == set(groups)
    assert {each.coordinator.id for each in described.values()} == ALL
    for group, number in groups.items():
        offset = admin.list_group_offsets(group)[partitions[0]]
        assert isinstance(offset, OffsetAndMetadata)
        assert offset.offset == number
    assert admin.delete_groups(groups) == dict.fromkeys(groups)
    assert not groups.keys() & admin.list_groups().keys()


@pytest.mark.usefixtures("balanced")
def test_transactions_of_all_brokers(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    ids = [f"{topic}-{number}" for number in range(SPREAD)]
    for transactional_id in ids:
        with Producer(bootstrap_servers=brokers.bootstrap, transactional_id=transactional_id) as producer:
            producer.init_transactions()
    listed = {name: each for name, each in admin.list_transactions().items() if name in ids}
    assert sorted(listed) == ids
    assert {each.coordinator_id for each in listed.values()} == ALL
    described = admin.describe_transactions(ids)
    assert {each.state for each in described.values()} == {TransactionState.EMPTY}
    assert {name: each.coordinator_id for name, each in described.items()} == {
        name: each.coordinator_id for name, each in listed.items()
    }
    fenced = admin.fence_producers(ids)
    assert {name: each.producer_epoch for name, each in fenced.items()} == {
        name: each.producer_epoch + 1 for name, each in described.items()
    }


def test_a_broker_that_goes_while_all_are_asked(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    """It is known until its session is over; then its groups and transactions are with the others, who tell of them."""
    partition = TopicPartition(make_topic(admin, topic, [1]), 0)
    names = {f"{topic}-{number}" for number in range(SPREAD)}
    for name in names:
        admin.alter_group_offsets(name, {partition: OffsetAndMetadata(0)})
        with Producer(bootstrap_servers=brokers.bootstrap, transactional_id=name) as producer:
            producer.init_transactions()
    calls: list[Callable[[], Collection[Any]]] = [admin.list_groups, admin.list_transactions, admin.describe_log_dirs]
    with ThreadPoolExecutor(len(calls)) as threads:
        brokers.nodes[3].kill()
        groups, transactions, log_dirs = [each.result() for each in [threads.submit(call) for call in calls]]
    assert names <= set(groups)
    assert names <= set(transactions)
    assert set(log_dirs) == {1, 2}


# -- moving partitions ------------------------------------------------------------------------------------------------


def test_elections(brokers: NodeCluster, admin: Admin, partitions: list[TopicPartition]) -> None:
    with pytest.raises(ElectionNotNeededError):
        admin.elect_leaders(ElectionType.PREFERRED, partitions)
    brokers.nodes[3].kill()
    await_leader(admin, partitions[2], {1, 2})
    brokers.start()
    await_in_sync(admin, partitions[2].topic)
    elected = admin.elect_leaders(ElectionType.PREFERRED)
    assert elected[partitions[2]] is None
    assert not {partitions[0], partitions[1]} & elected.keys()
    await_leader(admin, partitions[2], {3})


def test_a_move_that_waits_for_a_dead_broker_is_listed_and_cancelled(
    brokers: NodeCluster, admin: Admin, topic: str
) -> None:
    place_topic(admin, topic, {0: [1, 2], 1: [2, 1]})
    partition, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    brokers.nodes[3].kill()
    eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == {1, 2})
    fenced = admin.describe_cluster(include_fenced_brokers=True).nodes
    assert [(node.id, node.rack, node.is_fenced) for node in fenced] == [
        (1, "rack-1", False),
        (2, "rack-2", False),
        (3, "rack-3", True),
    ]
    assert admin.alter_partition_reassignments({partition: [3, 2]}) == {partition: None}
    assert admin.list_partition_reassignments() == {partition: PartitionReassignment((3, 2, 1), (3,), (1,))}
    assert admin.list_partition_reassignments([other]) == {}
    assert admin.alter_partition_reassignments({partition: None}) == {partition: None}
    assert admin.list_partition_reassignments() == {}
    assert set(admin.describe_topics([topic])[topic].partitions[0].replicas) == {1, 2}


# -- brokers and controllers ------------------------------------------------------------------------------------------


def values_by_broker(admin: Admin, kind: ConfigResourceType, key: str) -> dict[str, str | None]:
    resources = [ConfigResource(kind, str(node_id)) for node_id in ALL]
    return {resource.name: found[key].value for resource, found in admin.describe_configs(resources).items()}


def test_each_broker_has_configs_of_its_own(admin: Admin) -> None:
    kind, key = ConfigResourceType.BROKER, "log.cleaner.backoff.ms"
    assert values_by_broker(admin, kind, "broker.rack") == {"1": "rack-1", "2": "rack-2", "3": "rack-3"}
    admin.alter_configs({ConfigResource(kind, "2"): [AlterConfigOp(key, "14000")]})
    eventually(lambda: values_by_broker(admin, kind, key) == {"1": "15000", "2": "14000", "3": "15000"})


def test_each_broker_has_loggers_of_its_own(admin: Admin) -> None:
    kind, logger = ConfigResourceType.BROKER_LOGGER, "kafka.server.KafkaApis"
    admin.alter_configs({ConfigResource(kind, "2"): [AlterConfigOp(logger, "WARN")]})
    assert values_by_broker(admin, kind, logger) == {"1": "INFO", "2": "WARN", "3": "INFO"}


def test_the_active_controller_dies(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    """Whoever asks brokers, or the controllers themselves, finds the next one."""
    quorum = admin.describe_metadata_quorum()
    assert {voter.replica_id for voter in quorum.voters} == ALL
    controllers = ",".join(node.bootstrap_controller for node in brokers.nodes.values())
    with Admin(bootstrap_controllers=controllers) as controller_admin:
        assert {node.id for node in controller_admin.describe_cluster().nodes} == ALL
        assert controller_admin.describe_metadata_quorum().leader_id == quorum.leader_id
        brokers.nodes[quorum.leader_id].kill()
        admin.create_topics([NewTopic(topic, 1, 2)])
        assert controller_admin.describe_metadata_quorum().leader_id in ALL - {quorum.leader_id}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        controller_admin.alter_configs({resource: [AlterConfigOp("retention.ms", "1234567")]})
    for _ in attempts("The change"):
        if admin.describe_configs([resource])[resource]["retention.ms"].value == "1234567":
            break
