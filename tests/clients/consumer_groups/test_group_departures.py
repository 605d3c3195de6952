"""Ways out of a group: unsubscribing in the middle of something, closing in time, and topics that cannot be read."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import IllegalStateError, InvalidTopicError
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer_groups.group_life import Member, consumer, create_topic, members_of, produce, until, whole
from tests.node import Node

TWO = ("cooperative-sticky", "consumer")
BOUND_S = 40


class Heard:
    """A listener, and an interceptor, that remembers."""

    def __init__(self) -> None:
        self.gone: list[frozenset[TopicPartition]] = []
        self.committed: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await asyncio.sleep(0)
        self.gone.append(partitions)

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.committed.append(offsets)


async def member_count(kafka: Node, group_id: str) -> int:
    async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        group = (await admin.describe_consumer_groups([group_id], raise_errors=False))[group_id]
        return len(getattr(group, "members", ()))


async def poll_until_assigned(reader: Consumer[Any, Any]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not reader.assignment():
            await reader.poll(timeout_ms=100)


@pytest.mark.parametrize("protocol", TWO)
def test_unsubscribing_before_a_new_subscription_was_told(kafka: Node, topic: str, protocol: str) -> None:
    """The group must not go on with a member that wants nothing."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(3))
        heard = Heard()
        async with consumer(kafka, topic, protocol) as reader:
            reader.subscribe([topic], listener=heard)
            await poll_until_assigned(reader)
            reader.subscribe([f"{topic}-other"], listener=heard)
            await reader.unsubscribe()
            assert reader.assignment() == frozenset()
            assert heard.gone == [whole(topic, 1)]
            assert await member_count(kafka, topic) == 0
            with pytest.raises(IllegalStateError, match="not subscribed"):
                await reader.poll(timeout_ms=0)
            reader.assign(whole(topic, 1))
            await reader.seek_to_beginning()
            assert len(await reader.consume(3, BOUND_S * 1000)) == 3

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_closing_while_the_group_is_left(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        heard = Heard()
        reader = consumer(kafka, topic, protocol)
        await reader.start()
        reader.subscribe([topic], listener=heard)
        await poll_until_assigned(reader)
        reader.unsubscribe()
        reader.unsubscribe()
        await reader.close()
        assert heard.gone == [whole(topic, 2)], "told once"
        assert await member_count(kafka, topic) == 0

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_a_poll_that_is_cancelled_while_the_group_is_left(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        await create_topic(kafka.bootstrap, f"{topic}-other", 1)
        heard = Heard()
        async with consumer(kafka, topic, protocol) as reader:
            reader.subscribe([topic], listener=heard)
            await poll_until_assigned(reader)
            reader.unsubscribe()
            reader.subscribe([f"{topic}-other"], listener=heard)
            polling = asyncio.ensure_future(reader.poll(timeout_ms=BOUND_S * 1000))
            for _ in range(3):
                await asyncio.sleep(0)
            polling.cancel()
            await asyncio.wait([polling])
            async with asyncio.timeout(BOUND_S):
                while reader.assignment() != whole(f"{topic}-other", 1):
                    await reader.poll(timeout_ms=100)
            assert heard.gone == [whole(topic, 1)]

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_a_pattern_right_after_topics(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        await create_topic(kafka.bootstrap, f"{topic}-other", 1)
        produce(kafka.bootstrap, f"{topic}-other", 1, range(2))
        async with consumer(kafka, topic, protocol) as reader:
            reader.subscribe([topic])
            await poll_until_assigned(reader)
            with pytest.raises(IllegalStateError, match="unsubscribe first"):
                reader.subscribe(pattern=f"{topic}-oth.*")
            reader.unsubscribe()
            assert reader.subscription() == frozenset()
            reader.subscribe(pattern=f"{topic}-oth.*")
            assert len(await reader.consume(2, BOUND_S * 1000)) == 2
            assert reader.subscription() == {f"{topic}-other"}
            assert reader.assignment() == whole(f"{topic}-other", 1)

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_a_group_and_partitions_by_hand_in_turns(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        topics = [topic, f"{topic}-other"]
        for number, name in enumerate(topics):
            await create_topic(kafka.bootstrap, name, 1)
            produce(kafka.bootstrap, name, 1, range(number + 1))
        async with consumer(kafka, topic, protocol, enable_auto_commit=False) as reader:
            for _ in range(2):
                reader.subscribe([topics[0]])
                assert [record.topic for record in await reader.consume(1, BOUND_S * 1000)] == topics[:1]
                await reader.unsubscribe()
                reader.assign(whole(topics[1], 1))
                assert [record.topic for record in await reader.consume(2, BOUND_S * 1000)] == topics[1:] * 2
                await reader.unsubscribe()

    asyncio.run(run())


class Undecided:
    """A listener that wants nothing as soon as it has something, once, and then wants it again."""

    def __init__(self, reader: Consumer[Any, Any], topic: str, *, waits: bool) -> None:
        self._reader = reader
        self._topic = topic
        self._waits = waits
        self.heard: list[str] = []

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(f"assigned {len(partitions)}")
        if partitions and self.heard.count("assigned 1") == 1:
            left = self._reader.unsubscribe()
            if self._waits:
                await left
            self._reader.subscribe([self._topic], listener=self)

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(f"revoked {len(partitions)}")


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("protocol", TWO)
def test_a_listener_that_unsubscribes(kafka: Node, topic: str, protocol: str, *, waits: bool) -> None:
    """The group is left when the listener has returned; what it was just given is revoked, and can be had again."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(3))
        async with consumer(kafka, topic, protocol) as reader:
            listener = Undecided(reader, topic, waits=waits)
            reader.subscribe([topic], listener=listener)
            assert len(await reader.consume(3, BOUND_S * 1000)) == 3
            assert listener.heard == ["assigned 1", "revoked 1", "assigned 1"]

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_a_topic_that_nobody_may_name_is_an_error(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(1))
        async with consumer(kafka, topic, protocol) as reader:
            reader.subscribe([topic, "not a topic"])
            with pytest.raises(InvalidTopicError, match="not a topic"):
                await reader.consume(2, BOUND_S * 1000)

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_interceptors_hear_of_every_commit(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        (partition,) = whole(topic, 1)
        heard = Heard()
        reader = consumer(kafka, topic, protocol, interceptors=[heard], auto_commit_interval_ms=50)
        async with reader:
            reader.subscribe([topic])
            await poll_until_assigned(reader)
            produce(kafka.bootstrap, topic, 1, range(3))
            assert len(await reader.consume(3, BOUND_S * 1000)) == 3
            async with asyncio.timeout(BOUND_S):
                while not any(offsets[partition].offset == 3 for offsets in heard.committed):
                    await reader.poll(timeout_ms=50)
            await reader.commit({partition: 1})
            reader.commit_async({partition: 2})
            await until(lambda: heard.committed[-1] == {partition: OffsetAndMetadata(2)}, "an asynchronous commit")
            assert heard.committed[-2] == {partition: OffsetAndMetadata(1)}
            before = len(heard.committed)
        assert heard.committed[before][partition].offset == 3, "closing commits, too"

    asyncio.run(run())


def test_a_poll_and_a_close_take_no_longer_than_they_may(kafka: Node, topic: str) -> None:
    """A broker stands still when partitions are to be revoked: the commit before that has to wait, polls do not."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        produce(kafka.bootstrap, topic, 2, range(10))
        heard = Heard()
        reader = consumer(kafka, topic, "range", request_timeout_ms=20_000, session_timeout_ms=45_000)
        async with reader:
            reader.subscribe([topic], listener=heard)
            assert len(await reader.consume(10, BOUND_S * 1000)) == 10
            async with members_of(Member(kafka.bootstrap, topic, topic)):
                await until(lambda: "change hands" in reader.health().reason, "a rebalance")
                with kafka.paused():
                    for timeout_ms in (0, 100, 100):
                        async with asyncio.timeout(10):
                            assert await reader.poll(timeout_ms) == []
                    assert heard.gone == []
                    async with asyncio.timeout(10):
                        await reader.close(timeout_ms=200)
                    assert heard.gone == [whole(topic, 2)], "the listener is told, though nobody can be"

    asyncio.run(run())
