"""The way to the active controller: looked up, followed when it moves, given up in time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ottla.common.error_code import ErrorCode
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_errors import (
    AuthenticationError,
    NetworkError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.network.node_to_controller_channel import MAX_QUEUED_REQUESTS, NodeToControllerChannel
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.runtime.live import AsyncioRuntime
from tests.network.client_harness import Received, ScriptedBroker, run

CONFIG = NetworkClientConfig(
    max_in_flight_requests_per_connection=5, reconnect_backoff_ms=1, reconnect_backoff_max_ms=1
)
"""The channel itself keeps to one request at a time."""


class Lookup:
    """The controllers that are found, one after the other; the last stays. None is a time without one."""

    def __init__(self, *nodes: Node | None) -> None:
        self._nodes = list(nodes)
        self.lookups = 0

    def controller_node(self) -> Node | None:
        self.lookups += 1
        return self._nodes.pop(0) if len(self._nodes) > 1 else self._nodes[0]


class Runtime(AsyncioRuntime):
    """Sleeps in no time, and says for how long it would have."""

    slept_ms: list[int]

    async def sleep_ms(self, duration_ms: int) -> None:
        self.slept_ms.append(duration_ms)
        await asyncio.sleep(0.001)


@asynccontextmanager
async def channel_to(
    lookup: Lookup, retry_timeout_ms: int | None = None, authenticator: object = None
) -> AsyncIterator[NodeToControllerChannel]:
    runtime = Runtime(blocking_threads=1)
    runtime.slept_ms = []
    async with NetworkClient(runtime, "1", CONFIG, authenticator=authenticator) as client:  # type: ignore[arg-type]
        yield NodeToControllerChannel(runtime, client, lookup, retry_timeout_ms=retry_timeout_ms)
    runtime.close()


def controller(node_id: int = 1) -> ScriptedBroker:
    broker = ScriptedBroker(node_id=node_id)
    broker.spoken[ApiKey.CREATE_TOPICS] = (2, 7)
    return broker


def answer(received: Received, code: int = 0) -> None:
    received.answer(CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=code)]))


def not_controller(received: Received) -> None:
    answer(received, ErrorCode.NOT_CONTROLLER)


def test_the_controller_is_found_and_kept() -> None:
    async def test() -> None:
        async with controller() as broker:
            lookup = Lookup(None, None, broker.node)
            broker.handle = answer
            async with channel_to(lookup) as channel:
                for _ in range(3):
                    response = await channel.send(CreateTopicsRequest())
                    assert response.topics[0].name == "t"
                assert lookup.lookups == 3
                assert channel.active_controller == broker.node
                versions = channel.controller_api_versions
                assert versions is not None
                assert versions.versions[ApiKey.CREATE_TOPICS] == (2, 7)
                assert channel._runtime.slept_ms == [100, 100]  # type: ignore[attr-defined]

    run(test())


def test_a_controller_that_has_stepped_down_is_left() -> None:
    async def test() -> None:
        async with controller(1) as old, controller(2) as new:
            old.handle = not_controller
            new.handle = answer
            async with channel_to(Lookup(old.node, new.node)) as channel:
                response = await channel.send(CreateTopicsRequest())
                assert response.topics[0].error_code == 0
                assert channel.active_controller == new.node
                assert not channel._client.is_ready(old.node)

    run(test())


def test_a_controller_that_takes_its_time_is_asked_again() -> None:
    async def test() -> None:
        async with controller() as broker:
            asked = 0

            def third_time(received: Received) -> None:
                nonlocal asked
                asked += 1
                answer(received, 0 if asked == 3 else ErrorCode.NOT_CONTROLLER)

            broker.handle = third_time
            async with channel_to(Lookup(broker.node)) as channel:
                await channel.send(CreateTopicsRequest())
            assert (asked, broker.accepted) == (3, 3)

    run(test())


def test_a_lost_connection_is_another_reason_to_look() -> None:
    async def test() -> None:
        async with controller(1) as dying, controller(2) as new:
            dying.handle = lambda received: received.writer.transport.abort()
            new.handle = answer
            async with channel_to(Lookup(dying.node, new.node)) as channel:
                await channel.send(CreateTopicsRequest())
                assert channel.active_controller == new.node

    run(test())


def test_requests_keep_their_order_through_a_change() -> None:
    async def test() -> None:
        async with controller(1) as old, controller(2) as new:
            old.handle = not_controller
            async with channel_to(Lookup(old.node, new.node)) as channel:
                requests = [CreateTopicsRequest(timeout_ms=number) for number in range(5)]
                answers = [asyncio.ensure_future(channel.send(request)) for request in requests]
                for number in range(5):
                    received = await new.next_request()
                    assert isinstance(received.body, CreateTopicsRequest)
                    assert received.body.timeout_ms == number
                    assert new.received.empty()
                    answer(received)
                    await answers[number]

    run(test())


@pytest.mark.parametrize("known", [True, False])
def test_the_time_is_up(known: bool) -> None:
    async def test() -> None:
        async with controller() as broker:
            broker.handle = not_controller
            async with channel_to(Lookup(broker.node if known else None), retry_timeout_ms=20) as channel:
                waiting = [asyncio.ensure_future(channel.send(CreateTopicsRequest())) for _ in range(3)]
                for request in waiting:
                    with pytest.raises(RequestTimedOutError, match="within 20 ms"):
                        await request
                broker.handle = answer
                if known:
                    await channel.send(CreateTopicsRequest(), timeout_ms=10_000)

    run(test())


def test_the_queue_has_a_bound() -> None:
    async def test() -> None:
        async with channel_to(Lookup(None)) as channel:
            waiting = [asyncio.ensure_future(channel.send(CreateTopicsRequest())) for _ in range(MAX_QUEUED_REQUESTS)]
            await asyncio.sleep(0)
            with pytest.raises(NetworkError, match="wait for the controller already"):
                await channel.send(CreateTopicsRequest())
            for request in waiting:
                request.cancel()
            await asyncio.wait(waiting)

    run(test())


def test_what_no_retry_helps_against_is_raised() -> None:
    class Refused:
        async def authenticate(self, exchange: object, api_versions: object) -> None:
            raise AuthenticationError("who are you")

    async def test() -> None:
        async with controller() as broker:
            async with channel_to(Lookup(broker.node)) as channel:
                with pytest.raises(UnsupportedVersionError):
                    await channel.send(HeartbeatRequest())
                assert channel.active_controller == broker.node
            async with channel_to(Lookup(broker.node), authenticator=Refused()) as channel:
                with pytest.raises(AuthenticationError):
                    await channel.send(CreateTopicsRequest())
                assert channel.active_controller is None

    run(test())
