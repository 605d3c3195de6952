"""An admin client and two brokers that say what the test has set: controllers that move, codes of all kinds, time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.clients.admin import Admin, CreatedTopic, NewTopic
from ottla.clients.errors import KafkaTimeoutError, TopicExistsError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from tests.clients.cluster.scripted_cluster import QUICK, ScriptedCluster, scripted_cluster
from tests.network.client_harness import Received

BOUND_S = 30


class Controllers:
    """Answers CreateTopics for all brokers: ``codes`` first, each for every topic, and then by the topic's name."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.codes: deque[ErrorCode] = deque()
        self.asked: list[tuple[int, CreateTopicsRequest]] = []
        self.is_silent = False
        self.cluster = cluster
        for broker in cluster.brokers:
            broker.spoken |= {ApiKey.CREATE_TOPICS: (2, 7)}
            broker.handle = self._handler(broker.node.id, broker.handle)

    def _handler(self, node_id: int, others: Any) -> Any:
        def handle(received: Received) -> None:
            body = received.body
            if not isinstance(body, CreateTopicsRequest):
                others(received)
                return
            self.asked.append((node_id, body))
            if self.is_silent:
                return
            code = self.codes.popleft() if self.codes else None
            if node_id != self.cluster.controller_id:
                code = ErrorCode.NOT_CONTROLLER
            received.answer(CreateTopicsResponse(topics=[_created(topic.name, code) for topic in body.topics]))

        return handle


def _created(name: str, code: ErrorCode | None) -> CreatableTopicResult:
    if code is None:
        code = ErrorCode.TOPIC_ALREADY_EXISTS if name == "old" else ErrorCode.NONE
    return CreatableTopicResult(name=name, error_code=code, num_partitions=1, replication_factor=1)


@asynccontextmanager
async def controllers(**config: Any) -> AsyncIterator[tuple[Controllers, Admin]]:
    async with scripted_cluster(2) as cluster:
        found = Controllers(cluster)
        async with Admin(QUICK, bootstrap_servers=cluster.bootstrap, **config) as admin:
            yield found, admin


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, BOUND_S))


def test_a_controller_that_moves_is_followed_and_one_that_throttles_waited_for() -> None:
    async def story() -> None:
        async with controllers() as (found, admin):
            await admin.create_topics([NewTopic("new")])
            found.cluster.controller_id = 2
            created = await admin.create_topics([NewTopic("new")])
            assert created["new"].num_partitions == 1
            found.codes.append(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
            await admin.create_topics([NewTopic("new")])
            asked = [node_id for node_id, _ in found.asked]
            assert (asked[:2], asked[-3:]) == ([1, 1], [2, 2, 2])  # it may be a while until the new one is known

    run(story())


def test_what_fails_fails_alone() -> None:
    async def story() -> None:
        async with controllers() as (found, admin):
            created = await admin.create_topics([NewTopic("new"), NewTopic("old")], raise_errors=False)
            assert isinstance(created["new"], CreatedTopic)
            assert isinstance(created["old"], TopicExistsError)
            with pytest.raises(TopicExistsError):
                await admin.create_topics([NewTopic("new"), NewTopic("old")])
            assert len(found.asked) == 2

    run(story())


def test_a_node_is_given_no_more_time_than_we_wait_for_it() -> None:
    """As in Apache's client: the shorter of request.timeout.ms and what is left of default.api.timeout.ms."""

    async def story() -> None:
        async with controllers(request_timeout_ms=1_000, default_api_timeout_ms=5_000) as (found, admin):
            await admin.create_topics([NewTopic("new")])
            await admin.create_topics([NewTopic("new")], timeout_ms=900)
            assert found.asked[0][1].timeout_ms == 1_000
            assert 0 < found.asked[1][1].timeout_ms <= 900

    run(story())


def test_a_silent_controller_is_asked_again_until_the_time_is_up() -> None:
    async def story() -> None:
        async with controllers(request_timeout_ms=50) as (found, admin):
            found.is_silent = True
            with pytest.raises(KafkaTimeoutError, match="2000 ms"):
                await admin.create_topics([NewTopic("new")], timeout_ms=2_000)
            assert len(found.asked) > 1
            found.is_silent = False
            assert await admin.create_topics([NewTopic("new")])

    run(story())


def test_every_code_is_an_error_or_worth_another_attempt() -> None:
    async def story() -> None:
        async with controllers() as (found, admin):
            for code in ErrorCode:
                if code is ErrorCode.NONE:
                    continue
                found.codes.append(code)
                created = (await admin.create_topics([NewTopic("new")], raise_errors=False))["new"]
                if code in (ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED):
                    assert isinstance(created, CreatedTopic), code
                else:
                    assert isinstance(created, KafkaError), code
                    assert created.code == code

    run(story())
