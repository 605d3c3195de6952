"""A cluster client among brokers that do what they are told."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ottla.clients.cluster.bootstrap import canonical_servers
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import (
    ClientClosedError,
    IllegalStateError,
    KafkaTimeoutError,
    NetworkError,
    TopicAuthorizationError,
    UnsupportedVersionError,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidConfigError
from ottla.config.addresses import Address
from ottla.network.node import Node
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.runtime.live import AsyncioRuntime
from tests.clients.cluster.scripted_cluster import cluster_client, scripted_cluster, until
from tests.network.client_harness import run

GROUP = CoordinatorType.GROUP


def unused_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_one_live_server_among_dead_ones_is_enough() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster:
            bootstrap = f"{unused_address()},{cluster.bootstrap},{unused_address()}"
            async with cluster_client(bootstrap) as client:
                assert client.metadata.cluster_id == "scripted"

    run(test())


def test_when_no_server_answers_the_error_says_what_was_tried() -> None:
    async def test() -> None:
        first, second = unused_address(), unused_address()
        async with cluster_client(f"{first},{second}", start=False) as client:
            with pytest.raises(KafkaTimeoutError) as raised:
                await client.start(timeout_ms=200)
            assert first in str(raised.value)
            assert second in str(raised.value)
            assert "within 200 ms" in str(raised.value)
            assert raised.value.retriable

    run(test())


def test_a_client_whose_start_failed_finds_the_cluster_when_it_is_there() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster:
            await cluster.brokers[0].stop()
            async with cluster_client(cluster.bootstrap, start=False) as client:
                with pytest.raises(KafkaTimeoutError):
                    await client.start(timeout_ms=50)
                await cluster.brokers[0].listen()
                cluster.leaders["t"] = (1, 0)
                assert (await client.require_topics(["t"])).leader("t", 0) == cluster.brokers[0].node

    run(test())


def test_a_new_leader_is_found_when_somebody_asks() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster:
            cluster.leaders["t"] = (1, 0)
            async with cluster_client(cluster.bootstrap) as client:
                await client.require_topics(["t"])
                seen = []
                client.on_update(lambda image: seen.append(image.leader_epoch("t", 0)))
                cluster.leaders["t"] = (2, 1)
                client.request_update()
                await until(lambda: 1 in seen)
                assert client.metadata.leader("t", 0) == cluster.brokers[1].node
                cluster.leaders["t"] = (1, 0)  # a broker that is behind
                client.request_update()
                count = len(seen)
                await until(lambda: len(seen) > count)
                assert client.metadata.leader("t", 0) == cluster.brokers[1].node

    run(test())


def test_leaders_in_an_answer_are_learned_at_once() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster:
            cluster.leaders["t"] = (1, 0)
            async with cluster_client(cluster.bootstrap) as client:
                await client.require_topics(["t"])
                seen: list[ClusterMetadata] = []
                client.on_update(seen.append)
                client.learn_leaders({("t", 0): (2, 1)}, [cluster.brokers[1].node])
                assert client.metadata.leader("t", 0) == cluster.brokers[1].node
                assert seen == [client.metadata]

    run(test())


def test_a_topic_that_comes_later_is_waited_for() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            waiting = asyncio.create_task(client.require_topics(["t"]))
            await until(lambda: len(cluster.metadata_requests) > 3)
            assert not waiting.done()
            cluster.leaders["t"] = (1, 0)
            assert "t" in (await waiting).topics

    run(test())


def test_a_topic_that_does_not_come_is_named_with_its_state() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            with pytest.raises(KafkaTimeoutError, match=r"Topic t not present in metadata: .* within 50 ms"):
                await client.require_topics(["t"], timeout_ms=50)

    run(test())


def test_what_we_may_not_see_is_told_at_once_and_again_when_asked_again() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            cluster.topic_errors["t"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            cluster.leaders["u"] = (1, 0)
            for _ in range(2):
                with pytest.raises(TopicAuthorizationError, match="t: "):
                    await client.require_topics(["t", "u"], timeout_ms=10**8)
            assert "u" in (await client.require_topics(["u"])).topics, "others are not the worse for it"
            cluster.leaders["t"] = (1, 0)
            assert "t" in (await client.require_topics(["t"])).topics, "and it is not held against the topic"

    run(test())


def test_wanted_topics_are_asked_for_and_others_are_not() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster:
            cluster.leaders |= {"a": (1, 0), "b": (1, 0)}
            async with cluster_client(cluster.bootstrap, start=False) as client:
                client.want_topics({"a"})
                await client.start()
                assert set(client.metadata.topics) == {"a"}, "the first answer has them"
                client.want_topics(None)
                await until(lambda: "b" in client.metadata.topics)
                assert cluster.metadata_requests[-1][1].topics is None
                client.want_topics({"b"})
                client.request_update()
                await until(lambda: set(client.metadata.topics) == {"b"})

    run(test())


def test_all_nodes_are_lost_and_the_bootstrap_servers_know_the_new_ones() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster:
            first, second = cluster.brokers
            cluster.advertised = [first]
            async with cluster_client(cluster.bootstrap) as client:
                await client.connect(1)
                await first.stop()
                cluster.advertised = [second]
                client.request_update()
                await until(lambda: set(client.metadata.nodes) == {2})

    run(test())


def test_without_recovery_the_client_waits_for_the_nodes_it_knows() -> None:
    async def test() -> None:
        async with scripted_cluster(2) as cluster:
            first, second = cluster.brokers
            cluster.advertised = [first]
            async with cluster_client(cluster.bootstrap, metadata_recovery_strategy="none") as client:
                await client.connect(1)
                await first.stop()
                cluster.advertised = [second]
                cluster.metadata_requests.clear()
                with pytest.raises(KafkaTimeoutError):
                    await client.require_topics(["t"], timeout_ms=100)
                assert not cluster.metadata_requests
                assert set(client.metadata.nodes) == {1}

    run(test())


def test_a_broker_of_another_time_sends_the_client_to_its_bootstrap_servers() -> None:
    async def test() -> None:
        async with scripted_cluster(1) as cluster, cluster_client(cluster.bootstrap) as client:
            await client.connect(1)
            accepted = cluster.brokers[0].accepted
            cluster.metadata_error = ErrorCode.REBOOTSTRAP_REQUIRED
            client.request_update()
            await until(lambda: cluster.brokers[0].accepted > accepted)
            cluster.metadata_error = ErrorCode.NONE
            cluster.leaders["t"] = (1, 0)
            assert "t" in (await client.require_topics(["t"])).topics

    run(test())


def test_any_node_will_do() -> None:
    async def test() -> None:
        async with scripted_cluster(3) as cluster, cluster_client(cluster.bootstrap) as client:
            for broker in cluster.brokers[:2]:
                await broker.stop()
            for _ in range(5):
                assert await client.ask_any(ListGroupsRequest()) == ListGroupsResponse()
            assert {node for node, _ in cluster.asked} == {3}

    run(test())


def test_what_nobody_answers_in_time_says_who_was_asked() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            await cluster.brokers[0].stop()
            with pytest.raises(KafkaTimeoutError, match=f"ListGroups .*{cluster.bootstrap}"):
                await client.ask_any(ListGroupsRequest(), timeout_ms=100)

    run(test())


def test_an_api_that_the_node_does_not_have_is_told_at_once() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            with pytest.raises(UnsupportedVersionError, match="DescribeGroups"):
                await client.ask_any(DescribeGroupsRequest(), timeout_ms=10**8)
            del cluster.brokers[0].spoken[ApiKey.METADATA]
        async with scripted_cluster() as old:
            del old.brokers[0].spoken[ApiKey.METADATA]
            async with cluster_client(old.bootstrap, start=False) as client:
                with pytest.raises(UnsupportedVersionError, match="Metadata"):
                    await client.start(timeout_ms=10**8)

    run(test())


@pytest.mark.parametrize(
    "wait",
    [
        lambda client: client.require_topics(["t"], timeout_ms=10**8),
        lambda client: client.ask_any(ListGroupsRequest(), timeout_ms=10**8),
        lambda client: client.ask_controller(ListGroupsRequest(), timeout_ms=10**8),
        lambda client: client.coordinator(GROUP, "g", timeout_ms=10**8),
        lambda client: client.ask_coordinator(GROUP, "g", ListGroupsRequest(), timeout_ms=10**8),
    ],
    ids=["require_topics", "ask_any", "ask_controller", "coordinator", "ask_coordinator"],
)
@pytest.mark.parametrize("silent", [True, False], ids=["silent", "gone"])
def test_whoever_waits_hears_that_the_client_closes(
    wait: Callable[[ClusterClient], Awaitable[object]], silent: bool
) -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            broker = cluster.brokers[0]
            if silent:
                broker.handle = lambda _: None
            else:
                await broker.stop()
            waiting = asyncio.ensure_future(wait(client))
            await asyncio.sleep(0.05)
            await client.close()
            with pytest.raises(ClientClosedError):
                await waiting
            with pytest.raises(ClientClosedError):
                await wait(client)
            await client.close()

    run(test())


def test_a_node_that_nobody_knows_cannot_be_sent_to() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            with pytest.raises(NetworkError, match="Node 9 is not known"):
                await client.send(9, ListGroupsRequest())
            with pytest.raises(NetworkError, match="Node 9 is not known"):
                await client.connect(9)
            assert client.api_versions(9) is None
            assert await client.send(1, ListGroupsRequest()) == ListGroupsResponse()
            versions = client.api_versions(1)
            assert versions is not None
            assert versions.versions[ApiKey.LIST_GROUPS] == (0, 5)

    run(test())


def test_connections_that_nobody_uses_are_closed() -> None:
    async def test() -> None:
        async with (
            scripted_cluster() as cluster,
            cluster_client(cluster.bootstrap, connections_max_idle_ms=50) as client,
        ):
            node = Node(1, *cluster.brokers[0].node[1:])
            await client.send(1, ListGroupsRequest())
            assert client.is_ready(node)
            await until(lambda: not client.is_ready(node))
            assert await client.send(1, ListGroupsRequest()) == ListGroupsResponse()

    run(test())


def test_bootstrap_servers_under_their_canonical_names() -> None:
    async def test() -> None:
        async with (
            scripted_cluster() as cluster,
            cluster_client(cluster.bootstrap, client_dns_lookup="resolve_canonical_bootstrap_servers_only") as client,
        ):
            assert client.metadata.cluster_id == "scripted"
        runtime = AsyncioRuntime()
        names = await canonical_servers([Address("127.0.0.1", 7), Address("no.such.host.invalid", 8)], runtime)
        runtime.close()
        assert names[0] == (socket.getnameinfo(("127.0.0.1", 0), 0)[0], 7)
        assert names[-1] == ("no.such.host.invalid", 8)

    run(test())


def test_names_that_nobody_knows_are_told_at_once() -> None:
    async def test() -> None:
        with pytest.raises(InvalidConfigError, match=r"No resolvable bootstrap urls .*no-such-host\.invalid: "):
            async with cluster_client("no-such-host.invalid:1,nor-this.invalid:2"):
                pass
        async with (
            scripted_cluster() as cluster,
            cluster_client(f"no-such-host.invalid:1,{cluster.bootstrap}") as client,
        ):
            assert client.metadata.cluster_id == "scripted"

    run(test())


def test_a_client_that_is_not_started_says_so() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap, start=False) as client:
            with pytest.raises(IllegalStateError, match="not started"):
                await client.require_topics(["t"])
            with pytest.raises(IllegalStateError, match="not started"):
                await client.ask_any(ListGroupsRequest())
            await client.start()
            await client.start()
            assert client.metadata.cluster_id == "scripted"

    run(test())


def test_a_bug_in_a_callback_is_no_silent_stall(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap) as client:
            client.on_update(lambda _: print(1 // 0))
            with pytest.raises(ZeroDivisionError):
                await client.require_topics(["t"], timeout_ms=10**8)
            with pytest.raises(ClientClosedError):
                await client.require_topics(["t"], timeout_ms=10**8)
        assert "not refreshed any more" in caplog.text

    run(test())


NEVER: dict[str, Any] = {"retry_backoff_ms": 10**8, "retry_backoff_max_ms": 10**8}
"""Back-offs that no test could wait out."""


def test_servers_that_cannot_be_reached_cost_no_back_off() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster:
            bootstrap = ",".join([*(unused_address() for _ in range(9)), cluster.bootstrap])
            async with cluster_client(bootstrap, **NEVER) as client:
                assert client.metadata.cluster_id == "scripted"

    run(test())


def test_closing_does_not_wait_out_a_back_off() -> None:
    async def test() -> None:
        async with scripted_cluster() as cluster, cluster_client(cluster.bootstrap, **NEVER) as client:
            cluster.group_errors[1] = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            waiting = asyncio.create_task(client.ask_coordinator(GROUP, "g", ListGroupsRequest(), timeout_ms=10**9))
            await until(lambda: (1, ListGroupsRequest) in cluster.asked)
            await asyncio.sleep(0.01)
            await client.close()
            with pytest.raises(ClientClosedError):
                await waiting

    run(test())
