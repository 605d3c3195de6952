"""An admin client among several brokers that do what they are told: who is asked what, and what is asked again."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.clients.admin import Admin, NewTopic, OffsetAndMetadata, OffsetSpec, TopicPartition
from ottla.clients.errors import (
    CoordinatorLoadInProgressError,
    KafkaTimeoutError,
    NotControllerError,
    UnsupportedVersionError,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tests.clients.cluster.scripted_cluster import QUICK, ScriptedCluster, scripted_cluster
from tests.network.client_harness import Received, run

Answer = Callable[[int, Any], Message | None]
"""The answer of a broker to a request; None to say nothing and hang up."""
SPOKEN = {
    ApiKey.LIST_OFFSETS: (1, 11),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.OFFSET_FETCH: (1, 10),
    ApiKey.INIT_PRODUCER_ID: (0, 6),
}
A, B, C = (TopicPartition(topic, 0) for topic in "abc")
LATEST = OffsetSpec.latest()


class Brokers:
    """Scripted brokers of a cluster, and what they were asked (metadata and coordinators apart), in order."""

    def __init__(self, cluster: ScriptedCluster, answer: Answer) -> None:
        self.cluster = cluster
        self.asked: list[tuple[int, Any]] = []
        for broker in cluster.brokers:
            broker.spoken |= SPOKEN
            known = broker.handle

            def handle(received: Received, broker: Any = broker, known: Any = known) -> None:
                if isinstance(received.body, MetadataRequest) or type(received.body).__name__.startswith("Find"):
                    known(received)
                    return
                self.asked.append((broker.node.id, received.body))
                response = answer(broker.node.id, received.body)
                if response is None:
                    broker.drop_connections()
                else:
                    received.answer(response)

            broker.handle = handle

    def nodes(self) -> list[int]:
        """Who was asked."""
        return [node_id for node_id, _ in self.asked]


@asynccontextmanager
async def brokers(count: int, answer: Answer, **keywords: Any) -> AsyncIterator[tuple[Brokers, Admin]]:
    """Brokers that answer so, and an admin client of theirs."""
    async with scripted_cluster(count) as cluster:
        scripted = Brokers(cluster, answer)
        async with Admin(QUICK, bootstrap_servers=cluster.bootstrap, **keywords) as admin:
            yield scripted, admin


def topics_of(request: ListOffsetsRequest) -> list[str]:
    return [topic.name for topic in request.topics]


def offsets(request: ListOffsetsRequest, errors: dict[str, ErrorCode] | None = None) -> ListOffsetsResponse:
    """Each topic's offset is its letter; errors by topic."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=name,
                partitions=[ListOffsetsPartitionResponse(error_code=(errors or {}).get(name, 0), offset=ord(name))],
            )
            for name in topics_of(request)
        ]
    )


def test_leaders_are_asked_in_parallel_and_answers_merged() -> None:
    async def test() -> None:
        async with brokers(3, lambda _, request: offsets(request)) as (scripted, admin):
            scripted.cluster.leaders = {"a": (1, 0), "b": (3, 0), "c": (1, 0)}
            listed = await admin.list_offsets({C: LATEST, B: LATEST, A: LATEST})
            assert [(key.topic, each.offset) for key, each in listed.items()] == [("c", 99), ("b", 98), ("a", 97)]
            assert {node_id: topics_of(request) for node_id, request in scripted.asked} == {1: ["c", "a"], 3: ["b"]}

    run(test())


def test_a_leader_that_has_moved_is_looked_up_again() -> None:
    async def test() -> None:
        def answer(node_id: int, request: ListOffsetsRequest) -> Message:
            if node_id == 1 and "a" in topics_of(request):
                scripted.cluster.leaders["a"] = (2, 1)
                return offsets(request, {"a": ErrorCode.NOT_LEADER_OR_FOLLOWER})
            return offsets(request)

        async with brokers(2, answer) as (scripted, admin):
            scripted.cluster.leaders = {"a": (1, 0), "b": (1, 0)}
            listed = await admin.list_offsets({A: LATEST, B: LATEST})
            assert (listed[A].offset, listed[B].offset) == (97, 98)
            assert [(node_id, topics_of(request)) for node_id, request in scripted.asked] == [
                (1, ["a", "b"]),
                (2, ["a"]),
            ]

    run(test())


def test_a_leader_that_hangs_up_is_replaced() -> None:
    async def test() -> None:
        def answer(node_id: int, request: ListOffsetsRequest) -> Message | None:
            if node_id == 1:
                scripted.cluster.leaders["a"] = (2, 1)
                return None
            return offsets(request)

        async with brokers(2, answer) as (scripted, admin):
            scripted.cluster.leaders = {"a": (1, 0)}
            assert (await admin.list_offsets({A: LATEST}))[A].offset == 97
            assert scripted.nodes() == [1, 2]

    run(test())


def test_a_partition_without_a_leader_is_waited_for_in_vain() -> None:
    async def test() -> None:
        async with brokers(1, lambda _, request: offsets(request)) as (scripted, admin):
            scripted.cluster.leaders = {"a": (-1, 0), "b": (1, 0)}
            listed = await admin.list_offsets({A: LATEST, B: LATEST}, timeout_ms=1_000, raise_errors=False)
            assert isinstance(listed[A], KafkaTimeoutError)
            assert "has no leader" in str(listed[A])
            assert not isinstance(listed[B], KafkaError)
            assert len(scripted.asked) == 1

    run(test())


def test_an_old_broker_fails_only_what_it_does_not_know() -> None:
    async def test() -> None:
        async with brokers(1, lambda _, request: offsets(request)) as (scripted, admin):
            scripted.cluster.brokers[0].spoken[ApiKey.LIST_OFFSETS] = (1, 6)
            scripted.cluster.leaders = {"a": (1, 0), "b": (1, 0)}
            specs = {A: OffsetSpec.max_timestamp(), B: LATEST}
            listed = await admin.list_offsets(specs, raise_errors=False)
            assert isinstance(listed[A], UnsupportedVersionError)
            assert not isinstance(listed[B], KafkaError)
            with pytest.raises(UnsupportedVersionError, match="7 is needed"):
                await admin.list_offsets(specs)

    run(test())


def test_a_new_controller_is_asked() -> None:
    async def test() -> None:
        def answer(node_id: int, request: CreateTopicsRequest) -> Message:
            scripted.cluster.controller_id = 2
            error = ErrorCode.NONE if node_id == 2 else ErrorCode.NOT_CONTROLLER
            results = [CreatableTopicResult(name=topic.name, error_code=error) for topic in request.topics]
            return CreateTopicsResponse(topics=results)

        async with brokers(2, answer) as (scripted, admin):
            created = await admin.create_topics([NewTopic("a"), NewTopic("b")])
            assert list(created) == ["a", "b"]
            assert scripted.nodes()[0] == 1
            assert scripted.nodes()[-1] == 2

    run(test())


def test_only_what_failed_is_created_again() -> None:
    async def test() -> None:
        def answer(_: int, request: CreateTopicsRequest) -> Message:
            names = [topic.name for topic in request.topics]
            busy = ErrorCode.THROTTLING_QUOTA_EXCEEDED if len(names) == 2 else ErrorCode.NONE
            codes = {"a": ErrorCode.NONE, "b": busy}
            return CreateTopicsResponse(
                topics=[CreatableTopicResult(name=name, error_code=codes[name]) for name in names]
            )

        async with brokers(1, answer) as (scripted, admin):
            await admin.create_topics([NewTopic("a"), NewTopic("b")])
            assert [[topic.name for topic in request.topics] for _, request in scripted.asked] == [["a", "b"], ["b"]]

    run(test())


def test_nothing_is_tried_again_without_retries() -> None:
    async def test() -> None:
        def answer(_: int, request: CreateTopicsRequest) -> Message:
            name = request.topics[0].name
            return CreateTopicsResponse(topics=[CreatableTopicResult(name=name, error_code=ErrorCode.NOT_CONTROLLER)])

        async with brokers(1, answer, retries=0) as (scripted, admin):
            with pytest.raises(KafkaTimeoutError) as raised:
                await admin.create_topics([NewTopic("a")])
            assert isinstance(raised.value.__cause__, NotControllerError)
            assert len(scripted.asked) == 1

    run(test())


@pytest.mark.parametrize(("version", "old"), [(7, True), (8, False), (10, False)])
def test_offsets_of_a_group_from_old_and_new_brokers(version: int, old: bool) -> None:
    async def test() -> None:
        def answer(_: int, request: OffsetFetchRequest) -> Message:
            assert bool(request.groups) != old
            if old:
                partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=5)
                return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="a", partitions=[partition])])
            partitions = [OffsetFetchResponsePartitions(partition_index=0, committed_offset=5)]
            topic = OffsetFetchResponseTopics(name="a", partitions=partitions)
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=[topic])])

        async with brokers(1, answer) as (scripted, admin):
            scripted.cluster.brokers[0].spoken[ApiKey.OFFSET_FETCH] = (1, version)
            assert await admin.list_group_offsets("g", [A]) == {A: OffsetAndMetadata(5)}

    run(test())


@pytest.mark.parametrize(
    "error",
    [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
)
def test_a_coordinator_that_has_moved_is_looked_up_again(error: ErrorCode) -> None:
    async def test() -> None:
        def answer(node_id: int, _: OffsetFetchRequest) -> Message:
            scripted.cluster.coordinator_id = 2
            code = ErrorCode.NONE if node_id == 2 else error
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", error_code=code)])

        async with brokers(2, answer) as (scripted, admin):
            assert await admin.list_group_offsets("g") == {}
            assert scripted.nodes() == [1, 2]

    run(test())


def test_producers_are_fenced_one_a_request() -> None:
    async def test() -> None:
        def answer(_: int, request: InitProducerIdRequest) -> Message:
            busy = len(scripted.asked) == 1
            code = ErrorCode.CONCURRENT_TRANSACTIONS if busy else ErrorCode.NONE
            return InitProducerIdResponse(error_code=code, producer_id=ord(request.transactional_id or ""))

        async with brokers(1, answer) as (scripted, admin):
            fenced = await admin.fence_producers(["x", "y"])
            assert {name: each.producer_id for name, each in fenced.items()} == {"x": 120, "y": 121}
            assert len(scripted.asked) == 3

    run(test())


def test_every_broker_is_asked_for_its_groups() -> None:
    async def test() -> None:
        def answer(node_id: int, _: object) -> Message:
            if node_id == 2 and scripted.nodes().count(2) == 1:
                return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return ListGroupsResponse(groups=[ListedGroup(group_id=f"g{node_id}")])

        async with brokers(3, answer) as (scripted, admin):
            assert sorted(await admin.list_groups()) == ["g1", "g2", "g3"]
            assert sorted(scripted.nodes()) == [1, 2, 2, 3]

    run(test())


def test_a_broker_that_goes_on_loading_fails_the_list() -> None:
    async def test() -> None:
        def answer(node_id: int, _: object) -> Message:
            loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if node_id == 2 else ErrorCode.NONE
            return ListGroupsResponse(error_code=loading)

        async with brokers(2, answer) as (_, admin):
            with pytest.raises(KafkaTimeoutError) as raised:
                await admin.list_groups(timeout_ms=1_000)
            assert isinstance(raised.value.__cause__, CoordinatorLoadInProgressError)

    run(test())


def test_brokers_before_3_8_describe_topics_by_metadata() -> None:
    async def test() -> None:
        async with brokers(2, lambda *_: None) as (scripted, admin):
            scripted.cluster.leaders = {"a": (2, 4)}
            described = await admin.describe_topics(["a", "z"], raise_errors=False)
            found = described["a"]
            assert not isinstance(found, KafkaError)
            assert (found.partitions[0].leader_id, found.partitions[0].leader_epoch) == (2, 4)
            assert found.partitions[0].eligible_leader_replicas is None
            assert isinstance(described["z"], KafkaError)
            assert scripted.asked == []

    run(test())
