"""Transactions against a broker: what others see of them, and what becomes of producers who fail or are fenced."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaTimeoutError,
    ProducerFencedError,
    RecordTooLargeError,
    TransactionAbortedError,
)
from ottla.clients.producer.producer import Producer
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.clients.producer.transaction_manager import TransactionManager
from ottla.common.topic_partition import TopicPartition
from tests.clients.producer.produced import until_done
from tests.node import Node

BOUND_S = 60
_numbers = count()


@pytest.fixture(params=[1, 2], autouse=True)
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of transactions; a producer that never hears of version 2 speaks version 1. All that were begun had it."""
    if request.param == 1:
        monkeypatch.setattr(TransactionCaller, "_note_version", lambda _self, _coordinator: None)
    begun: set[bool] = set()
    begin = TransactionManager.begin_transaction

    def noted(manager: TransactionManager, *, is_v2: bool) -> None:
        begin(manager, is_v2=is_v2)
        begun.add(is_v2)

    monkeypatch.setattr(TransactionManager, "begin_transaction", noted)
    yield request.param
    assert begun == {request.param == 2}


@pytest.fixture
def transactional_id() -> str:
    return f"txn-{next(_numbers)}"


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND_S):
            await coroutine

    asyncio.run(bounded())


def producer(kafka: Node, transactional_id: str, **config: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, transactional_id=transactional_id, **config)


def committed(kafka: Node, topic: str) -> list[bytes]:
    """What a consumer of committed records reads, up to the last stable offsets."""
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        found: list[bytes] = []
        partitions = [
            ConfluentPartition(topic, number, 0) for number in consumer.list_topics(topic).topics[topic].partitions
        ]
        consumer.assign(partitions)
        left = len(partitions)
        while left:
            message = consumer.poll(BOUND_S)
            assert message is not None
            if message.error() is None:
                found.append(message.value() or b"")
            else:
                left -= 1
        return sorted(found)
    finally:
        consumer.close()


def committed_offset(kafka: Node, group: str, topic: str) -> int:
    consumer = ConfluentConsumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    try:
        (found,) = consumer.committed([ConfluentPartition(topic, 0)], BOUND_S)
        offset: int = found.offset
        return offset
    finally:
        consumer.close()


def test_a_transaction_is_seen_as_a_whole_or_not_at_all(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id) as p:
            await p.init_transactions()
            for turn in range(3):
                async with p.transaction():
                    for partition in (0, 1):
                        await p.send(topic, b"kept %d %d" % (turn, partition), partition=partition)
                with pytest.raises(ZeroDivisionError):
                    async with p.transaction():
                        await p.send_and_wait(topic, b"aborted %d" % turn, partition=0)
                        raise ZeroDivisionError
            async with p.transaction():
                pass  # nothing in it

    run(story())
    assert committed(kafka, topic) == sorted(
        b"kept %d %d" % (turn, partition) for turn in range(3) for partition in (0, 1)
    )


def test_records_are_sent_before_the_commit(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id, linger_ms=60_000, delivery_timeout_ms=120_000) as p:
            await p.init_transactions()
            p.begin_transaction()
            deliveries = [await p.send(topic, b"%03d" % number) for number in range(100)]
            await p.commit_transaction()
            assert all(delivery.done() for delivery in deliveries)

    run(story())
    assert committed(kafka, topic) == [b"%03d" % number for number in range(100)]


def test_what_was_not_sent_when_a_transaction_is_aborted_fails(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id, linger_ms=60_000, delivery_timeout_ms=120_000) as p:
            await p.init_transactions()
            p.begin_transaction()
            delivery = await p.send(topic, b"never")
            await p.abort_transaction()
            with pytest.raises(TransactionAbortedError):
                await delivery
            async with p.transaction():
                await p.send(topic, b"next")

    run(story())
    assert committed(kafka, topic) == [b"next"]


def test_offsets_belong_to_the_transaction(kafka: Node, topic: str, transactional_id: str) -> None:
    group = f"group-of-{transactional_id}"

    async def story() -> None:
        async with producer(kafka, transactional_id) as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send(topic, b"x", partition=0)
            offsets = {TopicPartition(topic, 0): OffsetAndMetadata(7, metadata="note")}
            await p.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(group))
            await p.commit_transaction()
            p.begin_transaction()
            await p.send_offsets_to_transaction({TopicPartition(topic, 0): 9}, ConsumerGroupMetadata(group))
            await p.abort_transaction()

    run(story())
    assert committed_offset(kafka, group, topic) == 7


def test_offsets_of_somebody_who_is_not_in_the_group(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id) as p:
            await p.init_transactions()
            with pytest.raises(CommitFailedError):
                async with p.transaction():
                    await p.send(topic, b"x", partition=0)
                    nobody = ConsumerGroupMetadata(f"group-{transactional_id}", 3, "nobody")
                    await p.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, nobody)
            async with p.transaction():  # the next one is not concerned
                await p.send(topic, b"after", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"after"]


def test_a_newer_producer_fences_the_older(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id) as old, producer(kafka, transactional_id) as new:
            await old.init_transactions()
            old.begin_transaction()
            await old.send_and_wait(topic, b"old", partition=0)
            await new.init_transactions()
            with pytest.raises(ProducerFencedError):
                await old.commit_transaction()
            with pytest.raises(ProducerFencedError):
                old.begin_transaction()
            with pytest.raises(ProducerFencedError):
                await old.abort_transaction()
            async with new.transaction():
                await new.send(topic, b"new", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"new"]


def test_a_record_that_the_broker_refuses_spoils_its_transaction(
    kafka: Node, topic: str, transactional_id: str
) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id, max_request_size=4_000_000, batch_size=0) as p:
            await p.init_transactions()
            p.begin_transaction()
            refused = await p.send(topic, bytes(2_000_000), partition=0)
            with pytest.raises(RecordTooLargeError):
                await refused
            with pytest.raises(RecordTooLargeError):
                await p.send(topic, b"after", partition=0)
            with pytest.raises(RecordTooLargeError):
                await p.commit_transaction()
            await p.abort_transaction()
            async with p.transaction():
                await p.send(topic, b"next", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"next"]


def test_transactions_outlive_a_restart_of_the_broker(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id, retry_backoff_ms=50) as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send_and_wait(topic, b"before", partition=0)
            await asyncio.to_thread(kafka.kill)
            await asyncio.to_thread(kafka.start)
            await p.send(topic, b"after", partition=1)
            await p.commit_transaction()

    run(story())
    assert committed(kafka, topic) == [b"after", b"before"]


def test_a_commit_that_takes_too_long_can_be_waited_for(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id, max_block_ms=300) as p:
            await until_done(p.init_transactions)  # the first asks for the internal topic
            await until_done(lambda: p.partitions_for(topic))
            p.begin_transaction()
            await p.send_and_wait(topic, b"x", partition=0)
            with kafka.paused():
                with pytest.raises(KafkaTimeoutError):
                    await p.commit_transaction()
                with pytest.raises(IllegalStateError, match="commit_transaction took too long"):
                    p.begin_transaction()
                with pytest.raises(IllegalStateError, match="commit_transaction took too long"):
                    await p.abort_transaction()
            await until_done(p.commit_transaction)
            p.begin_transaction()
            await p.abort_transaction()

    run(story())
    assert committed(kafka, topic) == [b"x"]


def test_a_commit_that_was_cancelled_is_not_that_of_the_next(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id) as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send_and_wait(topic, b"one", partition=0)
            commit = asyncio.ensure_future(p.commit_transaction())
            await asyncio.sleep(0)
            commit.cancel()
            await until_begun(p)
            await p.send_and_wait(topic, b"two", partition=0)
            await p.commit_transaction()

    run(story())
    assert committed(kafka, topic) == [b"one", b"two"]


async def until_begun(p: Producer) -> None:
    """Begin a transaction when what is under way has ended."""
    while True:
        try:
            p.begin_transaction()
        except IllegalStateError:
            await asyncio.sleep(0.01)
        else:
            return


def test_a_send_that_was_given_up_is_no_part_of_the_transaction(kafka: Node, topic: str, transactional_id: str) -> None:
    """A coordinator would refuse to commit a transaction in which nothing was ever sent."""

    async def story() -> None:
        async with producer(kafka, transactional_id, buffer_memory=100_000, batch_size=100_000) as p:
            await p.init_transactions()
            await p.partitions_for(topic)
            assert p._accumulator.pool.try_take(100_000)
            p.begin_transaction()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(p.send(topic, b"never", partition=0), 0.05)
            p._accumulator.pool.release(100_000)
            await p.commit_transaction()
            async with p.transaction():
                await p.send(topic, b"x", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"x"]


def test_a_record_that_was_not_taken_spoils_its_transaction(kafka: Node, topic: str, transactional_id: str) -> None:
    """As with Apache's: who overlooks the error of a send cannot commit the others without it."""

    async def story() -> None:
        async with producer(kafka, transactional_id, max_request_size=1_000) as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send(topic, b"small", partition=0)
            with pytest.raises(RecordTooLargeError):
                await p.send(topic, b"x" * 2_000, partition=0)
            with pytest.raises(RecordTooLargeError):
                await p.commit_transaction()
            await p.abort_transaction()
            async with p.transaction():
                await p.send(topic, b"x", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"x"]


def test_offsets_that_take_too_long_do_not_keep_from_ending(kafka: Node, topic: str, transactional_id: str) -> None:
    """A commit waits for them; an abort gives them up."""
    group = f"group-of-{transactional_id}"

    async def story() -> None:
        async with producer(kafka, transactional_id, max_block_ms=1_000) as p:
            await until_done(p.init_transactions)
            offsets = {TopicPartition(topic, 0): 1}
            for end, offset in ((p.commit_transaction, 5), (p.abort_transaction, 7)):
                p.begin_transaction()
                await p.send_and_wait(topic, b"x", partition=0)
                await until_done(lambda: p.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(group)))
                with kafka.paused(), pytest.raises(KafkaTimeoutError):
                    late = {TopicPartition(topic, 0): offset}
                    await p.send_offsets_to_transaction(late, ConsumerGroupMetadata(group))
                await until_done(end)

    run(story())
    assert committed_offset(kafka, group, topic) == 5


def test_a_transaction_that_is_open_at_the_close_is_aborted(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with producer(kafka, transactional_id) as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send(topic, b"left open", partition=0)
        async with Producer(bootstrap_servers=kafka.bootstrap) as plain:
            await plain.send_and_wait(topic, b"after", partition=0)

    run(story())
    assert committed(kafka, topic) == [b"after"]  # it is not held back by what was left open


def test_what_is_not_possible_is_said(kafka: Node, topic: str, transactional_id: str) -> None:
    async def story() -> None:
        async with Producer(bootstrap_servers=kafka.bootstrap) as plain:
            with pytest.raises(IllegalStateError, match="transactional_id"):
                await plain.init_transactions()
        async with producer(kafka, transactional_id) as p:
            with pytest.raises(IllegalStateError):
                p.begin_transaction()
            await p.init_transactions()
            with pytest.raises(IllegalStateError, match="needs a transaction"):
                await p.send(topic, b"x", partition=0)
            with pytest.raises(IllegalStateError):
                await p.commit_transaction()
            p.begin_transaction()
            with pytest.raises(IllegalStateError):
                p.begin_transaction()

    run(story())
