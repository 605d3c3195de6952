"""Groups of Ottla's consumers share partitions: they come, go, crash, stall and come back."""

import asyncio

import pytest

from ottla.clients.consumer.membership import MembershipState
from ottla.clients.errors import CommitFailedError
from tests.clients.consumer_groups.group_life import (
    BOUND_S,
    PROTOCOLS,
    Member,
    consumer,
    create_topic,
    members_of,
    produce,
    shared,
    shared_by,
    shorten_session,
    until,
    whole,
)
from tests.node import Node

PARTITIONS = 6
MOVING_LITTLE = ("cooperative-sticky", "consumer")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_share_partitions_and_take_over_from_those_who_leave(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        everything = whole(topic, PARTITIONS)
        made = [Member(kafka.bootstrap, topic, topic, protocol=protocol) for _ in range(5)]
        async with members_of(made[0]):
            await shared_by(made[:1], everything)
            async with members_of(*made[1:3]):
                await shared_by(made[:3], everything)
                async with members_of(*made[3:]):
                    await shared_by(made, everything)
                await shared_by(made[:3], everything)
            await shared_by(made[:1], everything)
        for member in made:
            assert member.errors == []
            assert not member.assigned, "everything was given back"
            assert not member.told("lost")

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_all_records_arrive_whoever_comes_and_goes(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        made = [Member(kafka.bootstrap, topic, topic, protocol=protocol) for _ in range(3)]
        async with members_of(made[0]):
            produce(kafka.bootstrap, topic, PARTITIONS, range(60))
            await until(lambda: len(made[0].records) == 60, "reading all")
            async with members_of(*made[1:]):
                await shared_by(made, whole(topic, PARTITIONS))
                produce(kafka.bootstrap, topic, PARTITIONS, range(60, 120))
                await until(lambda: sum(len(member.records) for member in made) == 120, "reading all, together")
            await shared_by(made[:1], whole(topic, PARTITIONS))
            produce(kafka.bootstrap, topic, PARTITIONS, range(120, 180))
            values = [int(record.value or b"") for member in made for record in member.records]
            await until(lambda: sum(len(member.records) for member in made) >= 180, "reading all, alone again")
        values = [int(record.value or b"") for member in made for record in member.records]
        assert sorted(values) == list(range(180)), "positions are committed when partitions go, so nothing comes twice"

    asyncio.run(run())


@pytest.mark.parametrize("protocol", MOVING_LITTLE)
def test_members_keep_what_they_need_not_give(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        first, second = (Member(kafka.bootstrap, topic, topic, protocol=protocol) for _ in range(2))
        async with members_of(first):
            await shared_by([first], whole(topic, PARTITIONS))
            async with members_of(second):
                await shared_by([first, second], whole(topic, PARTITIONS))
                assert len(first.told("revoked")) == PARTITIONS // 2, "only what the other got"
                kept = first.consumer.assignment()
            await shared_by([first], whole(topic, PARTITIONS))
        in_life = first.events[:-1]
        revoked = {partition for kind, partitions in in_life for partition in partitions if kind == "revoked"}
        assert kept.isdisjoint(revoked)

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_a_member_that_crashes_is_replaced_after_its_session(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        keywords = {}
        if protocol == "consumer":
            await shorten_session(kafka.bootstrap, topic)
        else:
            keywords = {"session_timeout_ms": 1_000}
        made = [Member(kafka.bootstrap, topic, topic, protocol=protocol, **keywords) for _ in range(2)]
        async with members_of(made[0]):
            await made[1].start()
            await shared_by(made, whole(topic, PARTITIONS))
            await made[1].crash()
            await shared_by(made[:1], whole(topic, PARTITIONS))

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_a_member_that_stalls_is_replaced_and_comes_back(kafka: Node, topic: str, protocol: str) -> None:
    """Paused too long: partitions go to others, commits fail and say why, and polling again joins again."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        produce(kafka.bootstrap, topic, PARTITIONS, range(12))
        slow = Member(kafka.bootstrap, topic, topic, protocol=protocol, max_poll_interval_ms=3_000)
        other = Member(kafka.bootstrap, topic, topic, protocol=protocol)
        async with members_of(slow, other):
            await shared_by([slow, other], whole(topic, PARTITIONS))
            await slow.stall()
            had, seen = slow.consumer.assignment(), len(slow.events)
            await until(lambda: shared([other], whole(topic, PARTITIONS)), "taking over")
            health = slow.consumer.health()
            assert "max.poll.interval.ms" in health.reason, health
            with pytest.raises(CommitFailedError, match=r"max\.poll\.interval\.ms=3000"):
                await slow.consumer.commit(dict.fromkeys(had, 0))
            slow.resume()
            await shared_by([slow, other], whole(topic, PARTITIONS))
            assert slow.events[seen] == ("lost", had)
            await slow.consumer.commit()

    asyncio.run(run())


def test_waiting_for_records_is_polling(kafka: Node, topic: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        member = Member(kafka.bootstrap, topic, topic, max_poll_interval_ms=3_000)
        async with members_of(member):
            await shared_by([member], whole(topic, 1))
            await member.stall()
            member.consumer.pause(*whole(topic, 1))  # so that no fetch ends the wait
            assert await member.consumer.poll(timeout_ms=4_500) == []
            assert member.consumer._core.membership is not None
            assert member.consumer._core.membership.state is MembershipState.STABLE
            assert not member.told("lost")

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_a_static_member_restarts_without_a_rebalance(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        stays = Member(kafka.bootstrap, topic, topic, protocol=protocol, group_instance_id="stays")
        goes = Member(kafka.bootstrap, topic, topic, protocol=protocol, group_instance_id="goes")
        async with members_of(stays):
            async with members_of(goes):
                await shared_by([stays, goes], whole(topic, PARTITIONS))
                had = goes.consumer.assignment()
                before = list(stays.events)
                generation = stays.consumer.group_metadata().generation_id
            back = Member(kafka.bootstrap, topic, topic, protocol=protocol, group_instance_id="goes")
            async with members_of(back):
                await until(lambda: back.consumer.assignment() == had, "getting the same again")
                assert stays.events == before
                assert stays.consumer.group_metadata().generation_id == generation

    asyncio.run(run())


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_a_consume_that_waits_while_partitions_change_hands(kafka: Node, topic: str, protocol: str) -> None:
    """What it has gathered of a partition that goes is its new owner's, from the first record on; the rest stays."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        produce(kafka.bootstrap, topic, 2, range(10))
        other = Member(kafka.bootstrap, topic, topic, protocol=protocol)
        async with consumer(kafka, topic, protocol, auto_commit_interval_ms=20) as reader:
            reader.subscribe([topic])
            gathering = asyncio.ensure_future(reader.consume(11, BOUND_S * 1000))
            await until(lambda: reader.metrics()["records-consumed-total"] == 10, "gathering")
            async with members_of(other):
                await until(lambda: len(other.records) == 5, "reading what the first one had gathered")
                (lost,) = other.consumer.assignment()
                await until(lambda: reader.assignment() == whole(topic, 2) - {lost}, "keeping the other partition")
                (kept,) = reader.assignment()
                for _ in range(6):
                    await asyncio.to_thread(
                        produce, kafka.bootstrap, topic, 2, range(kept.partition, kept.partition + 1)
                    )
                records = await gathering
                assert [record.topic_partition for record in records] == [kept] * 11
                assert [record.offset for record in records] == list(range(11))
                assert [record.offset for record in other.records] == list(range(5))

    asyncio.run(run())
