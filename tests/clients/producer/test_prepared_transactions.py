"""Transactions that their producers write and leave open, and the admin client ends, against a broker."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.admin.transactions import TransactionState as AdminState
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.errors import IllegalStateError
from ottla.clients.producer.producer import Producer
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from tests.node import Node

BOUND_S = 60


@pytest.fixture(params=[1, 2], autouse=True)
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of transactions; a producer that never hears of version 2 speaks version 1."""
    if request.param == 1:
        monkeypatch.setattr(TransactionCaller, "_note_version", lambda _self, _coordinator: None)
    return int(request.param)


@pytest.fixture
def transactional_id(topic: str) -> str:
    return f"of-{topic}"


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND_S):
            await coroutine

    asyncio.run(bounded())


def producer(kafka: Node, transactional_id: str) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, transactional_id=transactional_id)


async def committed(kafka: Node, topic: str) -> list[bytes | None]:
    """What a consumer of committed records reads, now that nothing is open."""
    found: list[bytes | None] = []
    async with Consumer(
        bootstrap_servers=kafka.bootstrap, isolation_level="read_committed", enable_auto_commit=False
    ) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in await consumer.partitions_for(topic)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            found += [record.value for record in await consumer.poll(200)]
    return found


def test_a_prepared_transaction_is_ended_by_somebody_else(
    kafka: Node, topic: str, transactional_id: str, version: int
) -> None:
    """It outlives its producer, and ends as the admin client says, once or again."""

    async def go() -> None:
        prepared = []
        for value in (b"committed", b"aborted"):
            one = f"{transactional_id}-{value.decode()}"
            async with producer(kafka, one) as writer:
                await writer.init_transactions()
                writer.begin_transaction()
                await writer.send(topic, value)
                prepared.append(await writer.prepare_transaction())
                with pytest.raises(IllegalStateError):
                    await writer.commit_transaction()
        first, second = prepared
        assert first is not None
        assert second is not None
        assert first.is_v2 == second.is_v2 == (version == 2)
        async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            found = await admin.describe_transactions([first.transactional_id, second.transactional_id])
            assert {each.state for each in found.values()} == {AdminState.ONGOING}  # though their producers are closed
            for _ in range(2):
                assert await admin.end_transactions([first], committed=True) == {first.transactional_id: None}
                assert await admin.end_transactions([second], committed=False) == {second.transactional_id: None}
            errors = await admin.end_transactions([first], committed=False)
            assert isinstance(errors[first.transactional_id], KafkaError)

        assert await committed(kafka, topic) == [b"committed"]

    run(go())


def test_a_producer_that_prepared_a_transaction_goes_on_after_another_init(
    kafka: Node, topic: str, transactional_id: str
) -> None:
    async def go() -> None:
        async with (
            producer(kafka, transactional_id) as writer,
            Admin(bootstrap_servers=kafka.bootstrap) as admin,
        ):
            for number in range(3):
                await writer.init_transactions()
                writer.begin_transaction()
                await writer.send(topic, b"%d" % number, partition=0)
                prepared = await writer.prepare_transaction()
                assert prepared is not None
                if number != 1:  # which the next init_transactions aborts
                    await admin.end_transactions([prepared], committed=True)
            await writer.init_transactions()
            writer.begin_transaction()
            assert await writer.prepare_transaction() is None  # nothing belongs to it

        assert await committed(kafka, topic) == [b"0", b"2"]

    run(go())
