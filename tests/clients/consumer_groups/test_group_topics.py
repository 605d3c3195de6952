"""What a group reads changes: topics come, grow and go, subscriptions change."""

import asyncio
import re
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.consumer.health import HealthState
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer_groups.group_life import (
    Member,
    create_topic,
    members_of,
    produce,
    shared_by,
    until,
    whole,
)
from tests.node import Node

THREE = ("range", "cooperative-sticky", "consumer")


@pytest.mark.parametrize(
    ("protocol", "by_broker"),
    [("range", False), ("cooperative-sticky", False), ("consumer", False), ("consumer", True)],
)
def test_a_pattern_picks_up_new_topics(kafka: Node, topic: str, protocol: str, *, by_broker: bool) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, f"{topic}-old", 2)
        await create_topic(kafka.bootstrap, f"not-{topic}", 2)
        pattern = re.escape(topic) + "-.*"
        how: dict[str, Any] = {"server_pattern": pattern} if by_broker else {"pattern": pattern}
        made = [Member(kafka.bootstrap, topic, protocol=protocol, subscribe=how) for _ in range(2)]
        async with members_of(*made):
            await shared_by(made, whole(f"{topic}-old", 2))
            await create_topic(kafka.bootstrap, f"{topic}-new", 2)
            await shared_by(made, whole(f"{topic}-old", 2) | whole(f"{topic}-new", 2))
            produce(kafka.bootstrap, f"{topic}-new", 2, range(4))
            await until(lambda: sum(len(member.records) for member in made) == 4, "reading the new topic")
            async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
                await admin.delete_topics([f"{topic}-new"])
            await shared_by(made, whole(f"{topic}-old", 2))

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_added_partitions_join_the_assignment(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        made = [Member(kafka.bootstrap, topic, topic, protocol=protocol) for _ in range(2)]
        async with members_of(*made):
            await shared_by(made, whole(topic, 2))
            async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
                await admin.create_partitions({topic: 5})
            await shared_by(made, whole(topic, 5))
            produce(kafka.bootstrap, topic, 5, range(10))
            await until(lambda: sum(len(member.records) for member in made) == 10, "reading all partitions")

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_a_deleted_topic_is_given_up_and_found_again(kafka: Node, topic: str, protocol: str) -> None:
    """No silent stall: the health says what is missing, and what is made again is read again."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        keywords = {"allow_auto_create_topics": False}
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol, **keywords)
        async with members_of(member), Admin(bootstrap_servers=kafka.bootstrap) as admin:
            await shared_by([member], whole(topic, 2))
            produce(kafka.bootstrap, topic, 2, range(4))
            await until(lambda: len(member.records) == 4, "reading")
            await admin.delete_topics([topic])
            await until(lambda: not member.consumer.assignment(), "giving up the partitions")
            await until(
                lambda: member.consumer.health().state is HealthState.TOPIC_MISSING, "seeing that the topic is missing"
            )
            assert topic in member.consumer.health().reason
            await create_topic(kafka.bootstrap, topic, 3)
            await shared_by([member], whole(topic, 3))
            produce(kafka.bootstrap, topic, 3, range(100, 106))
            await until(
                lambda: {record.value for record in member.records} >= {str(n).encode() for n in range(100, 106)},
                "reading what was written to the new topic",
            )
            assert member.errors == []

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_a_subscription_changes(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        one, two = f"{topic}-1", f"{topic}-2"
        await create_topic(kafka.bootstrap, one, 2)
        await create_topic(kafka.bootstrap, two, 2)
        member = Member(kafka.bootstrap, topic, one, protocol=protocol)
        other = Member(kafka.bootstrap, topic, one, two, protocol=protocol)
        async with members_of(member):
            await shared_by([member], whole(one, 2))
            member.consumer.subscribe([one, two], listener=member)
            await shared_by([member], whole(one, 2) | whole(two, 2))
            member.consumer.subscribe([two], listener=member)
            await shared_by([member], whole(two, 2))
            async with members_of(other):
                await shared_by([member, other], whole(one, 2) | whole(two, 2))
                assert {partition.topic for partition in member.consumer.assignment()} <= {two}
            await shared_by([member], whole(two, 2))
            await member.stall()
            await member.consumer.unsubscribe()
            assert member.consumer.assignment() == frozenset()
            member.consumer.subscribe([one], listener=member)
            member.resume()
            await shared_by([member], whole(one, 2))

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_a_topic_that_does_not_exist_yet(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol, allow_auto_create_topics=False)
        async with members_of(member):
            await until(
                lambda: member.consumer.health().state is HealthState.TOPIC_MISSING, "seeing that the topic is missing"
            )
            await create_topic(kafka.bootstrap, topic, 1)
            await shared_by([member], {TopicPartition(topic, 0)})
            assert member.errors == []

    asyncio.run(run())
