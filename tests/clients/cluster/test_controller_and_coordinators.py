"""How a cluster client finds the controller and coordinators, and finds them again, among brokers that do as told."""

import asyncio

import pytest

from ottla.clients.cluster.coordinator_cache import CoordinatorType, broker_id
from ottla.clients.errors import GroupAuthorizationError, KafkaTimeoutError
from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.clients.cluster.scripted_cluster import cluster_client, scripted_cluster, until
from tests.network.client_harness import run

GROUP = CoordinatorType.GROUP


def test_the_controller_is_looked_for_until_it_is_one() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.group_errors[1] = ErrorCode.NOT_CONTROLLER
            waiting = asyncio.create_task(client.ask_controller(ListGroupsRequest()))
            await until(lambda: len(cluster.asked) > 2)
            assert {node for node, _ in cluster.asked} == {1}
            cluster.controller_id = 2
            assert await waiting == ListGroupsResponse()
            assert cluster.asked[-1][0] == 2

    run(test())


def test_a_controller_that_is_not_known_yet_is_waited_for() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster:
            cluster.controller_id = -1
            async with cluster_client(cluster.bootstrap) as client:
                waiting = asyncio.create_task(client.ask_controller(ListGroupsRequest()))
                count = len(cluster.metadata_requests)
                await until(lambda: len(cluster.metadata_requests) > count + 1)
                cluster.controller_id = 1
                assert await waiting == ListGroupsResponse()

    run(test())


def test_a_coordinator_is_looked_up_once_and_has_a_connection_of_its_own() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.coordinator_id = 2
            for _ in range(3):
                await client.ask_coordinator(GROUP, "g", ListGroupsRequest())
            assert [kind for _, kind in cluster.asked].count(FindCoordinatorRequest) == 1
            node = await client.coordinator(GROUP, "g")
            assert broker_id(node) == 2
            assert node.id not in client.metadata.nodes
            client.forget_coordinator(GROUP, "g")
            cluster.coordinator_id = 1
            assert broker_id(await client.coordinator(GROUP, "g")) == 1

    run(test())


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_is_elsewhere_is_looked_up_again(error: ErrorCode) -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.group_errors[1] = error
            waiting = asyncio.create_task(client.ask_coordinator(GROUP, "g", ListGroupsRequest()))
            await until(lambda: (1, ListGroupsRequest) in cluster.asked)
            cluster.coordinator_id = 2
            assert await waiting == ListGroupsResponse()

    run(test())


def test_a_coordinator_that_still_reads_is_asked_again_without_a_look_up() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.group_errors[1] = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            waiting = asyncio.create_task(client.ask_coordinator(GROUP, "g", ListGroupsRequest()))
            await until(lambda: len(cluster.asked) > 4)
            del cluster.group_errors[1]
            assert await waiting == ListGroupsResponse()
            assert [kind for _, kind in cluster.asked].count(FindCoordinatorRequest) == 1

    run(test())


def test_a_coordinator_that_is_lost_is_looked_up_again() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster, cluster_client(cluster.bootstrap) as client:
            await client.ask_coordinator(GROUP, "g", ListGroupsRequest())
            cluster.coordinator_id = 2
            await cluster.brokers[0].stop()
            assert await client.ask_coordinator(GROUP, "g", ListGroupsRequest()) == ListGroupsResponse()
            assert cluster.asked[-1] == (2, ListGroupsRequest)

    run(test())


def test_errors_of_a_look_up_are_waited_out_or_told() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.coordinator_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            waiting = asyncio.create_task(client.coordinator(GROUP, "g"))
            await until(lambda: len(cluster.asked) > 2)
            with pytest.raises(KafkaTimeoutError, match="coordinator of g"):
                await client.coordinator(GROUP, "g", timeout_ms=30)
            cluster.coordinator_error = ErrorCode.NONE
            assert broker_id(await waiting) == 1
            cluster.coordinator_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            with pytest.raises(GroupAuthorizationError):
                await client.coordinator(GROUP, "h", timeout_ms=10**8)

    run(test())
