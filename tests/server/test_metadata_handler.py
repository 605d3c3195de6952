"""Metadata over the wire: all topics, some, none, by id; creation on demand; what a caller may do."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.server.wire import Wire, create_topic, eventually

VERSIONS = range(14)
LATEST = 13
NOT_ASKED = -(1 << 31)
TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
"""Read, write, create, delete, alter, describe, describe configs, alter configs."""
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
"""Create, alter, describe, cluster action, describe configs, alter configs, idempotent write."""
NOBODYS_ID = Uuid.from_string("AAAAAAAAAAAAAAAAAAAAZA")


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "true", "num.partitions": "2", "broker.rack": "north"}


def by_name(*names: str, create: bool = False, **options: bool) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **options)


def errors(response: MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(wire: Wire, address: str, topic: str, version: int) -> None:
    topic_id = create_topic(address, topic, partitions=2)
    response = wire.ask(by_name(topic), version)
    (broker,) = response.brokers
    assert (broker.node_id, f"{broker.host}:{broker.port}") == (1, address)
    assert broker.rack == ("north" if version >= 1 else None)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert bool(response.cluster_id) == (version >= 2)
    (found,) = response.topics
    assert (found.error_code, found.name, found.is_internal) == (0, topic, False)
    assert found.topic_id == (topic_id if version >= 10 else ZERO_UUID)
    assert [partition.partition_index for partition in found.partitions] == [0, 1]
    for partition in found.partitions:
        assert (partition.error_code, partition.leader_id, partition.replica_nodes) == (0, 1, [1])
        assert (list(partition.isr_nodes), list(partition.offline_replicas)) == ([1], [])
        assert partition.leader_epoch == (0 if version >= 7 else -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_and_none(wire: Wire, address: str, topic: str, version: int) -> None:
    create_topic(address, topic)
    nothing = wire.ask(MetadataRequest(topics=[]), version)
    everything = nothing if version == 0 else wire.ask(MetadataRequest(topics=None), version)
    assert topic in errors(everything)
    if version > 0:
        assert list(nothing.topics) == []
        assert len(nothing.brokers) == 1


@pytest.mark.parametrize("version", [12, 13])
def test_by_id(wire: Wire, address: str, topic: str, version: int) -> None:
    topic_id = create_topic(address, topic)
    wanted = [MetadataRequestTopic(topic_id=each, name=None) for each in (topic_id, NOBODYS_ID)]
    response = wire.ask(MetadataRequest(topics=wanted), version)
    assert {(each.topic_id, each.name, each.error_code) for each in response.topics} == {
        (topic_id, topic, 0),
        (NOBODYS_ID, None, ErrorCode.UNKNOWN_TOPIC_ID),
    }


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_before_version_12(wire: Wire, address: str, topic: str, version: int) -> None:
    topic_id = create_topic(address, topic)
    response = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=topic)]), version)
    assert errors(response) == {topic: ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("version", [0, 1, 4, 9, LATEST])
def test_names_that_no_topic_can_have(wire: Wire, version: int) -> None:
    bad = ("a b", "..", "x" * 250, "")
    assert errors(wire.ask(by_name(*bad, create=True), version)) == dict.fromkeys(
        bad, ErrorCode.INVALID_TOPIC_EXCEPTION
    )


@pytest.mark.parametrize("version", [4, LATEST])
def test_nothing_is_created_for_those_who_do_not_want_it(wire: Wire, topic: str, version: int) -> None:
    for _ in range(3):
        assert errors(wire.ask(by_name(topic), version)) == {topic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", VERSIONS)
def test_creation_on_demand(wire: Wire, topic: str, version: int) -> None:
    first = wire.ask(by_name(topic, create=True), version)
    assert errors(first)[topic] in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)
    for _ in eventually():
        (found,) = wire.ask(by_name(topic, create=True), version).topics
        if found.error_code == 0:
            break
    assert len(found.partitions) == 2, "num.partitions"


def test_two_who_want_the_same_new_topic(wire: Wire, address: str, topic: str) -> None:
    with Wire(address) as other:
        for connection in (wire, other):
            connection.send(by_name(topic, create=True), LATEST)
        for connection in (wire, other):
            connection.receive(by_name(topic), LATEST)
    for _ in eventually():
        (found,) = wire.ask(by_name(topic, create=True), LATEST).topics
        if found.error_code == 0:
            return


def test_a_topic_that_is_asked_for_twice_is_answered_once(wire: Wire, address: str, topic: str) -> None:
    create_topic(address, topic)
    assert [each.name for each in wire.ask(by_name(topic, topic), LATEST).topics] == [topic]


@pytest.mark.parametrize("version", [7, 8, 10, 11, LATEST])
@pytest.mark.parametrize("asked", [False, True])
def test_authorized_operations(wire: Wire, address: str, topic: str, version: int, asked: bool) -> None:
    create_topic(address, topic)
    cluster = asked and 8 <= version <= 10
    request = by_name(
        topic,
        include_topic_authorized_operations=asked and version >= 8,
        include_cluster_authorized_operations=cluster,
    )
    response = wire.ask(request, version)
    (found,) = response.topics
    assert found.topic_authorized_operations == (TOPIC_OPERATIONS if asked and version >= 8 else NOT_ASKED)
    assert response.cluster_authorized_operations == (CLUSTER_OPERATIONS if cluster else NOT_ASKED)
