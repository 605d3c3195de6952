"""The driver around a member: polls that are cancelled anywhere, bugs that must not be silent, leaving in mid-air."""

import asyncio
from functools import partial
from typing import Any

import pytest

from ottla.clients.consumer.membership import MembershipState
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


class Impatient(Member):
    """Its polls are cancelled after a few milliseconds, in the middle of whatever they do; its listener is slow."""

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await super().on_partitions_revoked(partitions)
        await asyncio.sleep(0.01)

    async def _poll(self) -> None:
        for turn, patience_ms in enumerate(self._patience()):
            asks = self.consumer.consume(1000, timeout_ms=500) if turn % 2 else self.consumer.poll(timeout_ms=500)
            try:
                async with asyncio.timeout(patience_ms / 1000):
                    self.records += await asks
            except TimeoutError:
                continue

    @staticmethod
    def _patience() -> Any:
        while True:
            yield from (1, 3, 7, 12, 40, 2, 5)


@pytest.mark.parametrize("protocol", THREE)
def test_polls_that_are_cancelled_anywhere_keep_callbacks_balanced(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        hasty = Impatient(kafka.bootstrap, topic, topic, protocol=protocol)
        async with members_of(hasty):
            for _ in range(3):
                other = Member(kafka.bootstrap, topic, topic, protocol=protocol)
                async with members_of(other):
                    await shared_by([hasty, other], whole(topic, 4))
                await shared_by([hasty], whole(topic, 4))

    asyncio.run(run())


def have_seen(members: list[Member], count: int) -> bool:
    """Whether all numbers below this one came to somebody."""
    return {int(record.value or b"") for member in members for record in member.records} >= set(range(count))


@pytest.mark.parametrize("protocol", THREE)
def test_nothing_is_lost_by_calls_that_are_cancelled_anywhere(kafka: Node, topic: str, protocol: str) -> None:
    """Auto commit is on and frequent: what is committed was handed out."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        everybody: list[Member] = []
        for turn in range(4):
            made: list[Member] = [
                Impatient(kafka.bootstrap, topic, topic, protocol=protocol, auto_commit_interval_ms=5)
            ]
            if turn % 2:
                made.append(Member(kafka.bootstrap, topic, topic, protocol=protocol))
            everybody += made
            async with members_of(*made):
                await shared_by(made, whole(topic, 4))
                await asyncio.to_thread(produce, kafka.bootstrap, topic, 4, range(100 * turn, 100 * turn + 100))
                await until(partial(have_seen, everybody, 100 * turn + 50), "reading some of it")
        async with members_of(Member(kafka.bootstrap, topic, topic, protocol=protocol)) as (last,):
            await until(partial(have_seen, [*everybody, last], 400), "reading all that was written")

    asyncio.run(run())


@pytest.mark.parametrize("protocol", THREE)
def test_a_bug_in_the_background_is_raised_by_poll(kafka: Node, topic: str, protocol: str) -> None:
    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 1)
        member = Member(kafka.bootstrap, topic, topic, protocol=protocol)
        async with members_of(member):
            await shared_by([member], whole(topic, 1))
            await member.stall()
            membership: Any = member.consumer._core.membership

            def broken(*_: object) -> bool:
                raise AssertionError("a bug")

            membership._machine = _Broken(membership._machine, broken)
            with pytest.raises(AssertionError, match="a bug"):
                async with asyncio.timeout(40):
                    while True:
                        await member.consumer.poll(timeout_ms=200)
            membership._machine = membership._machine.whole

    asyncio.run(run())


class _Broken:
    """A member whose answers cannot be handled."""

    def __init__(self, member: Any, broken: Any) -> None:
        self.whole = member
        self.handle_response = broken

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


def test_leaving_while_the_group_rebalances_does_not_wait_for_it(kafka: Node, topic: str) -> None:
    """JoinGroup waits for a member that does not poll; who leaves meanwhile does not wait behind it."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 4)
        slow, quick = (Member(kafka.bootstrap, topic, topic) for _ in range(2))
        async with members_of(slow):
            await shared_by([slow], whole(topic, 4))
            await slow.stall()
            await quick.start()
            membership = quick.consumer._core.membership
            assert membership is not None
            waiting = slow.consumer._core.membership
            assert waiting is not None
            await until(lambda: waiting.state is MembershipState.RECONCILING, "hearing of the rebalance")
            assert "waits for the other members" in membership.reason
            async with asyncio.timeout(10):
                await quick.close()
            slow.resume()
            await until(lambda: slow.told("revoked"), "the rebalance")
            await shared_by([slow], whole(topic, 4))

    asyncio.run(run())
