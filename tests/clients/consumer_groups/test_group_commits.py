"""Commits of groups: automatic, sync, async; and listeners of users, good and bad."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.consumer.assignors.assignor import Assignment, MemberSubscription, SimpleAssignor, TopicRacks
from ottla.clients.consumer.commit_manager import WAITING_MAX
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.membership import MembershipState
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.rebalance_listener import RebalanceListenerError
from ottla.clients.errors import CommitFailedError, IllegalStateError, KafkaError, KafkaTimeoutError
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer_groups.group_life import (
    Member,
    consumer,
    create_topic,
    members_of,
    produce,
    shared_by,
    until,
    whole,
)
from tests.node import Node

TWO = ("cooperative-sticky", "consumer")


async def read(reader: Consumer[Any, Any], count: int) -> None:
    """Read until so many records came."""
    got = 0
    async with asyncio.timeout(40):
        while got < count:
            got += len(await reader.poll(timeout_ms=500))


async def committed(kafka: Node, group_id: str, partition: TopicPartition) -> OffsetAndMetadata | None:
    """What a group has committed, seen by somebody else."""
    async with consumer(kafka, group_id) as reader:
        return (await reader.committed(partition))[partition]


@pytest.mark.parametrize("protocol", TWO)
def test_sync_commits(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(10))
        (partition,) = whole(topic, 1)
        async with consumer(kafka, topic, protocol, enable_auto_commit=False) as reader:
            reader.subscribe([topic])
            await read(reader, 10)
            assert await reader.committed(partition) == {partition: None}
            await reader.commit()
            found = (await reader.committed(partition))[partition]
            assert found is not None
            assert found.offset == 10
            await reader.commit({partition: OffsetAndMetadata(4, -1, "by hand")})
        assert await committed(kafka, topic, partition) == OffsetAndMetadata(4, -1, "by hand")
        async with consumer(kafka, topic, protocol) as reader:
            reader.subscribe([topic])
            await read(reader, 6)

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_async_commits_keep_their_order_and_call_back(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        (partition,) = whole(topic, 1)
        told: list[int] = []

        def callback(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None) -> None:
            assert error is None
            told.append(offsets[partition].offset)

        async def later(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None) -> None:
            callback(offsets, error)

        async with consumer(kafka, topic, protocol, enable_auto_commit=False) as reader:
            reader.subscribe([topic])
            async with asyncio.timeout(40):
                while not reader.assignment():
                    await reader.poll(timeout_ms=100)
                for offset in range(50):
                    reader.commit_async({partition: offset}, later if offset % 2 else callback)
                assert told == [], "callbacks run in poll"
                while len(told) < 50:
                    await reader.poll(timeout_ms=100)
                for offset in range(50, 60):
                    reader.commit_async({partition: offset}, later if offset % 2 else callback)
                await reader.commit({partition: 77})
            assert told == list(range(60)), "and before a later sync commit returns"
        found = await committed(kafka, topic, partition)
        assert found is not None
        assert found.offset == 77, "a sync commit comes after the async ones before it"

    asyncio.run(run())


def test_async_commits_are_bounded(kafka: Node, topic: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        (partition,) = whole(topic, 1)
        async with consumer(kafka, topic) as reader:
            reader.assign([partition])
            for offset in range(WAITING_MAX):
                reader.commit_async({partition: offset})
            with pytest.raises(IllegalStateError, match="asynchronous commits wait"):
                reader.commit_async({partition: 0})

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_an_async_commit_that_fails_tells_why(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        (partition,) = whole(topic, 1)
        errors: list[KafkaError | None] = []
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol, max_poll_interval_ms=700)
        async with members_of(member):
            await shared_by([member], whole(topic, 1))
            await member.stall()
            membership = member.consumer._core.membership
            assert membership is not None
            await until(lambda: membership.state is MembershipState.STALLED, "leaving the group")
            member.consumer.commit_async({partition: 1}, lambda _, error: errors.append(error))
            member.resume()
            await until(lambda: errors, "the callback")
        (error,) = errors
        assert isinstance(error, CommitFailedError)
        assert "max.poll.interval.ms=700" in str(error)

    asyncio.run(run())


@pytest.mark.parametrize("protocol", TWO)
def test_automatic_commits_at_an_interval_and_at_the_end(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(5))
        (partition,) = whole(topic, 1)
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol, auto_commit_interval_ms=100)
        async with members_of(member), consumer(kafka, topic) as witness:
            await until(lambda: len(member.records) == 5, "reading")

            async def offset() -> int:
                found = (await witness.committed(partition))[partition]
                return -1 if found is None else found.offset

            async with asyncio.timeout(40):
                while await offset() != 5:
                    await asyncio.sleep(0.02)
        last = consumer(kafka, topic, protocol, auto_commit_interval_ms=3_600_000)
        async with last:
            last.subscribe([topic])
            produce(kafka.bootstrap, topic, 1, range(5, 8))
            await read(last, 3)
        found = await committed(kafka, topic, partition)
        assert found is not None
        assert found.offset == 8

    asyncio.run(run())


@pytest.mark.parametrize("auto", [True, False])
def test_a_commit_of_a_deleted_topic_does_not_hang(kafka: Node, topic: str, *, auto: bool) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(5))
        (partition,) = whole(topic, 1)
        reader = consumer(
            kafka, topic, enable_auto_commit=auto, allow_auto_create_topics=False, metadata_max_age_ms=300
        )
        async with reader, Admin(bootstrap_servers=kafka.bootstrap) as admin:
            reader.subscribe([topic])
            await read(reader, 5)
            await admin.delete_topics([topic])
            if not auto:
                with pytest.raises(KafkaTimeoutError, match="not committed"):
                    await reader.commit({partition: 5}, timeout_ms=1_500)

    asyncio.run(asyncio.wait_for(run(), 40))


def test_partitions_assigned_by_hand_are_committed_for_the_group(kafka: Node, topic: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        produce(kafka.bootstrap, topic, 1, range(5))
        (partition,) = whole(topic, 1)
        for protocol in TWO:
            async with consumer(kafka, f"{topic}-{protocol}", protocol) as reader:
                reader.assign([partition])
                await read(reader, 5)
            found = await committed(kafka, f"{topic}-{protocol}", partition)
            assert found is not None
            assert found.offset == 5, "automatically, at the end"

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", *TWO])
def test_a_listener_that_raises_is_told_and_the_group_goes_on(kafka: Node, topic: str, protocol: str) -> None:
    class Bad(Member):
        failing = True

        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            super().on_partitions_assigned(partitions)
            if self.failing:
                self.failing = False
                raise ValueError("no")

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        produce(kafka.bootstrap, topic, 2, range(4))
        member = Bad(kafka.bootstrap, topic, topic, protocol=protocol)
        async with members_of(member):
            await until(lambda: member.errors, "the listener's error")
            (error,) = member.errors
            assert isinstance(error, RebalanceListenerError)
            assert isinstance(error.__cause__, ValueError)
            member.resume()
            await until(lambda: len(member.records) == 4, "reading on")

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", *TWO])
def test_a_listener_commits_what_is_revoked(kafka: Node, topic: str, protocol: str) -> None:
    class Careful(Member):
        async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            await super().on_partitions_revoked(partitions)
            await self.consumer.commit({partition: await self.consumer.position(partition) for partition in partitions})

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        produce(kafka.bootstrap, topic, 4, range(40))
        made = [Careful(kafka.bootstrap, topic, topic, protocol=protocol, enable_auto_commit=False) for _ in range(2)]
        async with members_of(made[0]):
            await until(lambda: len(made[0].records) == 40, "reading")
            async with members_of(made[1]):
                await shared_by(made, whole(topic, 4))
                produce(kafka.bootstrap, topic, 4, range(40, 80))
                await until(lambda: sum(len(member.records) for member in made) >= 80, "reading, together")
            await shared_by(made[:1], whole(topic, 4))
        values = [int(record.value or b"") for member in made for record in member.records]
        assert sorted(values) == list(range(80)), "nothing twice"

    asyncio.run(run())


def test_an_assignor_of_the_users(kafka: Node, topic: str) -> None:
    class Greedy(SimpleAssignor):
        """All to the member with the lowest id."""

        name = "greedy"

        def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> dict[str, Assignment]:
            everything = [TopicPartition(name, index) for name, all_ in topics.items() for index in range(len(all_))]
            first = min(group)
            return {member_id: Assignment(everything if member_id == first else []) for member_id in group}

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        made = [Member(kafka.bootstrap, topic, topic, assignors=[Greedy()]) for _ in range(2)]
        async with members_of(*made):
            await until(lambda: all(member.events for member in made), "assignments of both")
            await until(
                lambda: sorted(len(member.consumer.assignment()) for member in made) == [0, 4], "one has everything"
            )

    asyncio.run(run())
