"""A cluster client on a broker that runs, is killed, paused and started again."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType, broker_id
from ottla.clients.errors import InvalidTopicError, KafkaTimeoutError, NetworkError, RequestTimedOutError
from ottla.common.error_code import ErrorCode
from ottla.config.client_configs import AdminConfig
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.clients.cluster.scripted_cluster import cluster_client
from tests.node import CLUSTER_ID, Node

PATIENCE_S = 90
GROUP, TRANSACTION = CoordinatorType.GROUP, CoordinatorType.TRANSACTION


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def unused_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_cluster_is_known_after_the_start(kafka: Node) -> None:
    async def test() -> None:
        async with cluster_client(f"{unused_address()},{kafka.bootstrap}") as client:
            image = client.metadata
            assert image.cluster_id == CLUSTER_ID
            (node,) = image.nodes.values()
            assert f"{node.host}:{node.port}".replace("localhost", "127.0.0.1") == kafka.bootstrap
            assert image.controller == node
            assert image.topics == {}
            assert client.api_versions(node.id) is None, "the bootstrap server's connection is not the node's"
            assert (await client.send(node.id, ListGroupsRequest())).error_code == ErrorCode.NONE
            assert client.api_versions(node.id) is not None

    asyncio.run(test())


def test_a_topic_is_made_when_it_is_required_and_not_when_it_is_described(kafka: Node, topic: str) -> None:
    async def test() -> None:
        async with cluster_client(kafka.bootstrap) as client:
            described = await client.describe_topics([topic])
            assert described.topics[topic].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert topic not in (await client.list_topics()).topics
            image = await client.require_topics([topic])
            assert [known.partition for known in image.partitions_for(topic)] == [0, 1]
            assert image.topic_name(image.topic_id(topic)) == topic
            assert topic in (await client.list_topics()).topics
            await until(lambda: all(client.metadata.leader(topic, number) for number in (0, 1)))

    asyncio.run(test())


def test_a_client_that_makes_no_topics_waits_in_vain(kafka: Node, topic: str) -> None:
    async def test() -> None:
        config = AdminConfig.parse({"bootstrap.servers": kafka.bootstrap})
        client = ClusterClient(config.common, allow_auto_topic_creation=False)
        await client.start()
        with pytest.raises(KafkaTimeoutError, match=f"Topic {topic} not present in metadata"):
            await client.require_topics([topic], timeout_ms=300)
        await client.close()

    asyncio.run(test())


@pytest.mark.parametrize("name", ["a b", "..", "x" * 250])
def test_a_name_that_no_topic_can_have_is_told_at_once(kafka: Node, name: str, topic: str) -> None:
    async def test() -> None:
        async with cluster_client(kafka.bootstrap) as client:
            for _ in range(2):
                with pytest.raises(InvalidTopicError):
                    await client.require_topics([name], timeout_ms=10**8)
            assert topic in (await client.require_topics([topic])).topics

    asyncio.run(test())


def test_coordinators_and_controller_answer(kafka: Node, topic: str) -> None:
    async def test() -> None:
        async with cluster_client(kafka.bootstrap) as client:
            (node_id,) = client.metadata.nodes
            assert broker_id(await client.coordinator(GROUP, topic)) == node_id
            assert broker_id(await client.coordinator(TRANSACTION, topic)) == node_id
            for answer in (
                await client.ask_coordinator(GROUP, topic, ListGroupsRequest()),
                await client.ask_controller(ListGroupsRequest()),
                await client.ask_any(ListGroupsRequest()),
            ):
                assert isinstance(answer, ListGroupsResponse)

    asyncio.run(test())


def test_controllers_can_be_asked_instead_of_brokers(kafka: Node) -> None:
    async def test() -> None:
        async with cluster_client("", bootstrap_controllers=kafka.bootstrap_controller) as client:
            assert client.metadata.cluster_id == CLUSTER_ID
            (node,) = client.metadata.nodes.values()
            assert node.port == kafka.ports.controller
            assert client.metadata.controller == node
            answer = await client.ask_controller(DescribeClusterRequest(endpoint_type=2))
            assert isinstance(answer, DescribeClusterResponse)
            assert answer.error_code == ErrorCode.NONE

    asyncio.run(test())


def test_many_clients_at_once(kafka: Node, topic: str) -> None:
    async def one(number: int) -> int:
        async with cluster_client(kafka.bootstrap) as client:
            await client.require_topics([topic])
            return len((await client.ask_coordinator(GROUP, f"{topic}-{number % 3}", ListGroupsRequest())).groups)

    async def test() -> None:
        assert len(await asyncio.gather(*(one(number) for number in range(20)))) == 20

    asyncio.run(test())


def test_a_broker_that_stands_still_fails_requests_and_answers_when_it_goes_on(kafka: Node, topic: str) -> None:
    async def test() -> None:
        async with cluster_client(kafka.bootstrap, request_timeout_ms=500) as client:
            (node_id,) = client.metadata.nodes
            await client.ask_coordinator(GROUP, topic, ListGroupsRequest())
            with kafka.paused():
                with pytest.raises(RequestTimedOutError):
                    await client.send(node_id, ListGroupsRequest())
                with pytest.raises(KafkaTimeoutError, match=r"ListGroups .* within 1000 ms"):
                    await client.ask_any(ListGroupsRequest(), timeout_ms=1000)
                with pytest.raises(KafkaTimeoutError):
                    await client.ask_coordinator(GROUP, topic, ListGroupsRequest(), timeout_ms=1000)
                waiting = asyncio.create_task(client.require_topics([topic]))
            assert topic in (await waiting).topics
            assert isinstance(await client.ask_coordinator(GROUP, topic, ListGroupsRequest()), ListGroupsResponse)

    asyncio.run(test())


def test_a_broker_that_is_killed_and_comes_back_is_found_again(kafka: Node, topic: str) -> None:
    async def test() -> None:
        async with cluster_client(kafka.bootstrap) as client:
            await client.require_topics([topic])
            await client.ask_coordinator(GROUP, topic, ListGroupsRequest())
            (node_id,) = client.metadata.nodes
            kafka.kill()
            with pytest.raises(NetworkError):
                await client.send(node_id, ListGroupsRequest())
            waiting = [
                asyncio.create_task(client.ask_any(ListGroupsRequest(), timeout_ms=10**8)),
                asyncio.create_task(client.ask_coordinator(GROUP, topic, ListGroupsRequest(), timeout_ms=10**8)),
                asyncio.create_task(client.require_topics([f"{topic}-new"], timeout_ms=10**8)),
            ]
            await asyncio.sleep(0)
            await asyncio.to_thread(kafka.start)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*waiting)
            client.request_update()
            await until(lambda: client.metadata.leader(topic, 0))
            assert client.metadata.leader_epoch(topic, 0) > 0, "it was elected again"

    asyncio.run(test())


def test_a_client_that_starts_before_its_broker_waits_for_it(kafka: Node) -> None:
    async def test() -> None:
        kafka.stop()
        async with cluster_client(kafka.bootstrap, start=False) as client:
            starting = asyncio.create_task(client.start(timeout_ms=10**8))
            await asyncio.to_thread(kafka.start)
            async with asyncio.timeout(PATIENCE_S):
                await starting
            assert client.metadata.cluster_id == CLUSTER_ID

    asyncio.run(test())
