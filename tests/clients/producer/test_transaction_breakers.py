"""Transactions under everything that coordinators, callers and time may do to them; the broker is scripted."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.errors import (
    BufferExhaustedError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    RecordTooLargeError,
    SerializationError,
    TransactionAbortableError,
    UnknownProducerIdError,
)
from ottla.clients.producer.producer import Producer
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.clients.producer.scripted_kafka import scripted_kafka, scripted_producer

BOUND_S = 20
GROUP = ConsumerGroupMetadata("readers")
OFFSETS = {TopicPartition("t", 0): 5}


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, BOUND_S))


@pytest.mark.parametrize("is_v2", [False, True])
def test_a_commit_that_ended_unheard_is_not_taken_for_the_next(is_v2: bool) -> None:
    async def story() -> None:
        async with scripted_kafka(is_v2=is_v2, t=1) as kafka, scripted_producer(kafka, transactional_id="x") as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send_and_wait("t", b"one")
            kafka.held.add(EndTxnRequest)
            commit = asyncio.ensure_future(p.commit_transaction())
            await kafka.came(EndTxnRequest)
            commit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await commit
            kafka.release(EndTxnRequest)
            await _begun(p)
            await p.send_and_wait("t", b"two")
            await p.commit_transaction()
            assert kafka.count(EndTxnRequest) == 2

    run(story())


async def _begun(p: Producer) -> None:
    """Begin a transaction as soon as that is possible."""
    while True:
        try:
            p.begin_transaction()
        except IllegalStateError:
            await asyncio.sleep(0.001)
        else:
            return


@pytest.mark.parametrize("is_v2", [False, True])
@pytest.mark.parametrize("fails_by", ["cancel", "timeout"])
def test_a_commit_that_waits_for_offsets_and_is_left_says_so(is_v2: bool, fails_by: str) -> None:
    """And not that the transaction cannot be aborted meanwhile."""

    async def story() -> None:
        async with (
            scripted_kafka(is_v2=is_v2, t=1) as kafka,
            scripted_producer(
                kafka, transactional_id="x", max_block_ms=1_000 if fails_by == "timeout" else 60_000
            ) as p,
        ):
            await p.init_transactions()
            kafka.held.add(TxnOffsetCommitRequest)

            async def transact() -> None:
                async with p.transaction():
                    sending = asyncio.ensure_future(p.send_offsets_to_transaction(OFFSETS, GROUP))
                    await kafka.came(TxnOffsetCommitRequest)
                    sending.cancel()

            task = asyncio.ensure_future(transact())
            await kafka.came(TxnOffsetCommitRequest)
            for _ in range(5):
                await asyncio.sleep(0)
            if fails_by == "cancel":
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                with pytest.raises(KafkaTimeoutError):
                    await task
            kafka.release(TxnOffsetCommitRequest)
            await p.commit_transaction()
            assert kafka.seen[-1].committed  # type: ignore[attr-defined]

    run(story())


@pytest.mark.parametrize("is_v2", [False, True])
def test_a_send_that_was_given_up_leaves_nothing_in_the_transaction(is_v2: bool) -> None:
    """A coordinator refuses to commit a transaction without a record (INVALID_TXN_STATE), which would be for good."""

    async def story() -> None:
        async with (
            scripted_kafka(is_v2=is_v2, t=1) as kafka,
            scripted_producer(kafka, transactional_id="x", buffer_memory=1000, batch_size=1000) as p,
        ):
            await p.init_transactions()
            taken = p._accumulator.pool.try_take(1000)
            assert taken
            p.begin_transaction()
            waiting = asyncio.ensure_future(p.send("t", b"x"))
            while not p._accumulator.pool.waiting_count:
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await p.commit_transaction()
            assert kafka.count(EndTxnRequest) == kafka.count(AddPartitionsToTxnRequest) == 0
            p._accumulator.pool.release(1000)
            p.begin_transaction()
            await p.send("t", b"x")
            await p.commit_transaction()
            assert kafka.count(EndTxnRequest) == 1

    run(story())


@pytest.mark.parametrize("is_v2", [False, True])
@pytest.mark.parametrize("trouble", ["size", "memory"])
def test_a_record_that_was_not_taken_spoils_its_transaction(is_v2: bool, trouble: str) -> None:
    async def story() -> None:
        async with (
            scripted_kafka(is_v2=is_v2, t=1) as kafka,
            scripted_producer(
                kafka, transactional_id="x", buffer_memory=1000, batch_size=1000, max_block_ms=1_000
            ) as p,
        ):
            await p.init_transactions()
            p.begin_transaction()
            if trouble == "size":
                with pytest.raises(RecordTooLargeError):
                    await p.send("t", b"x" * 2000)
                with pytest.raises(RecordTooLargeError):
                    await p.commit_transaction()
            else:
                kafka.held.add(ProduceRequest)
                await p.send("t", b"x" * 500)
                with pytest.raises(BufferExhaustedError):
                    await p.send("t", b"x" * 800)
                with pytest.raises(TransactionAbortableError):
                    await p.commit_transaction()
                kafka.release(ProduceRequest)
            await p.abort_transaction()
            p.begin_transaction()
            with pytest.raises(SerializationError):
                await p.send("t", 5)  # never a record, as with Apache's: nothing is missing
            await p.send_and_wait("t", b"x")
            await p.commit_transaction()

    run(story())


@pytest.mark.parametrize("kind", [AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest])
def test_a_coordinator_that_has_forgotten_the_producer_gives_it_its_next_epoch(kind: Any) -> None:
    async def story() -> None:
        async with scripted_kafka(is_v2=False, t=1) as kafka, scripted_producer(kafka, transactional_id="x") as p:
            await p.init_transactions()
            p.begin_transaction()
            kafka.codes[kind].append(ErrorCode.UNKNOWN_PRODUCER_ID)
            with pytest.raises(UnknownProducerIdError):
                await p.send_and_wait("t", b"x")
                await p.send_offsets_to_transaction(OFFSETS, GROUP)
                await p.commit_transaction()
            await p.abort_transaction()
            asked = [one for one in kafka.seen if isinstance(one, InitProducerIdRequest)]
            assert [(one.producer_id, one.producer_epoch) for one in asked] == [(-1, -1), (7, 0)]

    run(story())


def test_the_first_transaction_of_version_2_has_an_epoch_of_its_own() -> None:
    """What comes late of the last of version 1 must not be taken for a part of it."""

    async def story() -> None:
        async with scripted_kafka(is_v2=False, t=1) as kafka, scripted_producer(kafka, transactional_id="x") as p:
            await p.init_transactions()
            p.begin_transaction()
            await p.send_and_wait("t", b"one")
            kafka.is_v2 = True
            kafka.broker.drop_connections()
            await p.commit_transaction()
            assert kafka.count(InitProducerIdRequest) == 2
            p.begin_transaction()
            await p.send_and_wait("t", b"two")
            await p.commit_transaction()
            assert kafka.count(AddPartitionsToTxnRequest) == 1
            assert kafka.count(InitProducerIdRequest) == 2

    run(story())


def test_errors_that_are_raised_again_and_again_do_not_grow() -> None:
    async def story() -> None:
        async with scripted_kafka(t=1) as kafka, scripted_producer(kafka, transactional_id="x") as p:
            await p.init_transactions()
            p.begin_transaction()
            kafka.codes[ProduceRequest].append(ErrorCode.INVALID_RECORD)
            delivery = await p.send("t", b"x")
            for operation in (lambda: delivery, lambda: p.send("t", b"y"), p.commit_transaction):
                depths = set()
                for _ in range(3):
                    try:
                        await operation()
                    except KafkaError as error:
                        depths.add(_depth(error))
                assert len(depths) == 1, operation

    run(story())


def _depth(error: BaseException) -> int:
    depth, traceback = 0, error.__traceback__
    while traceback is not None:
        depth, traceback = depth + 1, traceback.tb_next
    return depth
