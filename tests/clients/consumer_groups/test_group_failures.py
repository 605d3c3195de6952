"""Members that are fenced, blocked, and whose brokers die: the documented error or recovery, never a silent stall."""

import asyncio
import time

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.consumer.membership import MembershipState
from ottla.clients.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    UnreleasedInstanceIdError,
)
from tests.clients.consumer_groups.group_life import (
    BOUND_S,
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


def test_a_static_member_that_is_replaced_is_fenced(kafka: Node, topic: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        first, second = (Member(kafka.bootstrap, topic, topic, group_instance_id="me") for _ in range(2))
        async with members_of(first):
            await shared_by([first], whole(topic, 2))
            async with members_of(second):
                await until(lambda: second.consumer.assignment() == whole(topic, 2), "taking the place")
                await until(lambda: first.errors, "the fenced member's error")
                assert {type(error) for error in first.errors} == {FencedInstanceIdError}
                assert "group.instance.id=me" in str(first.errors[0])
                assert set(first.told("lost")) == whole(topic, 2)
                with pytest.raises(FencedInstanceIdError):
                    await first.consumer.commit(dict.fromkeys(whole(topic, 2), 0))
                assert "group.instance.id=me" in first.consumer.health().reason
                await second.consumer.commit()

    asyncio.run(run())


def test_an_instance_id_that_is_in_use_is_refused(kafka: Node, topic: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        keywords = {"protocol": "consumer", "group_instance_id": "me"}
        first, second = (Member(kafka.bootstrap, topic, topic, **keywords) for _ in range(2))
        async with members_of(first):
            await shared_by([first], whole(topic, 2))
            async with members_of(second):
                await until(lambda: second.errors, "the refusal")
                assert {type(error) for error in second.errors} == {UnreleasedInstanceIdError}
            assert first.consumer.assignment() == whole(topic, 2)
            assert first.errors == []

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky"])
def test_a_member_that_an_administrator_removes_joins_again(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol)
        async with members_of(member), Admin(bootstrap_servers=kafka.bootstrap) as admin:
            await shared_by([member], whole(topic, 2))
            await admin.remove_members(topic)
            await until(lambda: member.told("lost"), "losing the partitions")
            await shared_by([member], whole(topic, 2))
            await member.consumer.commit(dict.fromkeys(whole(topic, 2), 0))
            assert member.errors == []

    asyncio.run(run())


def test_a_blocked_event_loop_is_explained(kafka: Node, topic: str) -> None:
    """Code that does not await keeps heartbeats from being sent: the error of the commit says so."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        member = Member(kafka.bootstrap, topic, topic, session_timeout_ms=1_000)
        async with members_of(member):
            await shared_by([member], whole(topic, 2))
            await member.stall()
            had = member.consumer.assignment()
            time.sleep(2.5)  # what users must not do
            membership = member.consumer._core.membership
            assert membership is not None
            await until(lambda: membership.state is MembershipState.FENCED, "hearing of the expired session")
            with pytest.raises(CommitFailedError, match=r"the event loop was blocked for ([2-9]|\d\d)\."):
                await member.consumer.commit(dict.fromkeys(had, 0))
            member.resume()
            await until(lambda: member.told("lost"), "losing the partitions")
            await shared_by([member], whole(topic, 2))

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_the_broker_is_killed_and_comes_back(kafka: Node, topic: str, protocol: str) -> None:
    """Members say why nothing arrives, find the coordinator again while it loads, and read on without loss."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        made = [Member(kafka.bootstrap, topic, topic, protocol=protocol, request_timeout_ms=2_000) for _ in range(2)]
        async with members_of(*made):
            await shared_by(made, whole(topic, 4))
            produce(kafka.bootstrap, topic, 4, range(8))
            await until(lambda: sum(len(member.records) for member in made) == 8, "reading")
            for member in made:
                await member.consumer.commit()
            kafka.kill()
            with pytest.raises(KafkaTimeoutError):
                await made[0].consumer.commit(timeout_ms=500)
            await until(lambda: not made[0].consumer.health().is_fine, "noticing that the broker is gone")
            assert made[0].consumer.health().reason
            await asyncio.to_thread(kafka.start)
            produce(kafka.bootstrap, topic, 4, range(8, 16))
            await until(
                lambda: {int(record.value or b"") for member in made for record in member.records} == set(range(16)),
                "reading on",
            )
            await shared_by(made, whole(topic, 4))
            for member in made:
                await member.consumer.commit()
                assert all(error.retriable for error in member.errors), member.errors
        committed = await _committed(kafka, topic)
        assert committed == 16

    asyncio.run(run())


async def _committed(kafka: Node, topic: str) -> int:
    """How many records the group has committed, of all partitions of its topic."""
    reader = Member(kafka.bootstrap, topic)
    await reader.consumer.start()
    try:
        offsets = await reader.consumer.committed(*whole(topic, 4))
        return sum(offset.offset for offset in offsets.values() if offset is not None)
    finally:
        await reader.consumer.close()


@pytest.mark.parametrize("protocol", THREE)
def test_the_broker_is_paused_longer_than_sessions_last(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        keywords = {} if protocol == "consumer" else {"session_timeout_ms": 1_500}
        made = [
            Member(kafka.bootstrap, topic, topic, protocol=protocol, request_timeout_ms=1_000, **keywords)
            for _ in range(2)
        ]
        async with members_of(*made):
            await shared_by(made, whole(topic, 4))
            with kafka.paused(), pytest.raises(KafkaTimeoutError):
                await made[0].consumer.commit({next(iter(made[0].consumer.assignment())): 0}, timeout_ms=3_000)
            produce(kafka.bootstrap, topic, 4, range(8))
            await until(
                lambda: {int(record.value or b"") for member in made for record in member.records} == set(range(8)),
                "reading on",
            )
            await shared_by(made, whole(topic, 4))
            for member in made:
                await _commit(member)

    asyncio.run(run())


async def _commit(member: Member) -> None:
    """All may be read before a member hears that its session is over; then it joins again, and can commit."""
    async with asyncio.timeout(BOUND_S):
        while True:
            try:
                return await member.consumer.commit()
            except (CommitFailedError, RebalanceInProgressError):
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("protocol", THREE)
def test_members_wait_for_a_broker_that_is_away_at_their_start(kafka: Node, topic: str, protocol: str) -> None:
    """One that is connected joins when the coordinator comes back; closing one that cannot join does not hang."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        waits = Member(kafka.bootstrap, topic, topic, protocol=protocol)
        gives_up = Member(kafka.bootstrap, f"{topic}-2", topic, protocol=protocol)
        await waits.consumer.start()
        await gives_up.consumer.start()
        kafka.kill()
        waits.resume()
        gives_up.resume()
        await until(lambda: "join" in waits.consumer.health().reason, "trying to join")
        await gives_up.close()
        await asyncio.to_thread(kafka.start)
        await shared_by([waits], whole(topic, 2))
        await waits.close()

    asyncio.run(run())
