"""Every error code as the answer to every request of a transaction: what Apache's TransactionManager makes of each."""

import asyncio
from collections.abc import Collection
from enum import Enum, auto
from typing import Any, Final

import pytest

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.errors import KafkaError, ProducerFencedError, error_for
from ottla.clients.producer.producer import Producer
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.message import Message
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.clients.producer.scripted_kafka import scripted_kafka, scripted_producer

BOUND_S = 60
_E = ErrorCode
FENCED: Final = (_E.INVALID_PRODUCER_EPOCH, _E.PRODUCER_FENCED)


class Outcome(Enum):
    """Of a transaction in which one request got an error."""

    COMMITTED = auto()
    ABORTABLE = auto()
    """It fails, is aborted, and the next one is committed."""
    AGAIN = auto()
    """There was none yet: init_transactions fails, and does not when it is called again."""
    FATAL = auto()


_O = Outcome
SPECIAL: Final[dict[type[Message], dict[Outcome, Collection[ErrorCode]]]] = {
    FindCoordinatorRequest: {_O.AGAIN: (_E.GROUP_AUTHORIZATION_FAILED, _E.TRANSACTION_ABORTABLE)},
    InitProducerIdRequest: {
        _O.AGAIN: (
            _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            _E.CLUSTER_AUTHORIZATION_FAILED,
            _E.TRANSACTION_ABORTABLE,
        ),
    },
    AddPartitionsToTxnRequest: {
        _O.FATAL: (
            *FENCED,
            _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            _E.INVALID_TXN_STATE,
            _E.INVALID_PRODUCER_ID_MAPPING,
        ),
    },
    AddOffsetsToTxnRequest: {
        _O.ABORTABLE: (_E.UNKNOWN_PRODUCER_ID, _E.GROUP_AUTHORIZATION_FAILED, _E.TRANSACTION_ABORTABLE),
    },
    TxnOffsetCommitRequest: {
        _O.ABORTABLE: (
            _E.GROUP_AUTHORIZATION_FAILED,
            _E.FENCED_INSTANCE_ID,
            _E.TRANSACTION_ABORTABLE,
            _E.UNKNOWN_MEMBER_ID,
            _E.ILLEGAL_GENERATION,
        ),
    },
    EndTxnRequest: {_O.ABORTABLE: (_E.UNKNOWN_PRODUCER_ID, _E.TRANSACTION_ABORTABLE)},
    ProduceRequest: {
        _O.COMMITTED: (_E.DUPLICATE_SEQUENCE_NUMBER, _E.UNKNOWN_PRODUCER_ID),
        _O.FATAL: (
            _E.CLUSTER_AUTHORIZATION_FAILED,
            _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            _E.PRODUCER_FENCED,
            _E.UNSUPPORTED_VERSION,
            _E.INVALID_PRODUCER_ID_MAPPING,
        ),
    },
}
OTHERS: Final = {
    AddPartitionsToTxnRequest: _O.ABORTABLE,
    ProduceRequest: _O.ABORTABLE,
}


def expected(kind: type[Message], code: ErrorCode) -> Outcome:
    """By Apache's handlers; errors that pass, pass, and what nobody expects is fatal."""
    for outcome, codes in SPECIAL[kind].items():
        if code in codes:
            return outcome
    if error_for(code).retriable:
        return _O.COMMITTED
    return OTHERS.get(kind, _O.FATAL)


async def transact(p: Producer) -> None:
    p.begin_transaction()
    await p.send("t", b"x")
    await p.send_offsets_to_transaction({TopicPartition("t", 0): 5}, ConsumerGroupMetadata("g"))
    await p.commit_transaction()


async def outcome_of(kind: type[Message], code: ErrorCode, *, is_v2: bool) -> Outcome:
    async with (
        scripted_kafka(is_v2=is_v2, t=1) as kafka,
        scripted_producer(kafka, transactional_id="x") as p,
    ):
        kafka.codes[kind].append(code)
        try:
            await p.init_transactions()
        except KafkaError:
            return await ended(p.init_transactions, _O.AGAIN)
        try:
            await transact(p)
        except KafkaError as error:
            assert not (code in FENCED and kind is not ProduceRequest) or isinstance(error, ProducerFencedError)

            async def go_on() -> None:
                await p.abort_transaction()
                await transact(p)

            return await ended(go_on, _O.ABORTABLE)
        assert any(isinstance(one, kind) for one in kafka.seen), "the error was never told"
        return _O.COMMITTED


async def ended(operation: Any, outcome: Outcome) -> Outcome:
    try:
        await operation()
    except KafkaError:
        return _O.FATAL
    return outcome


CASES = [
    (kind, is_v2)
    for kind in SPECIAL
    for is_v2 in (False, True)
    if not (is_v2 and kind in (AddPartitionsToTxnRequest, AddOffsetsToTxnRequest))
]


@pytest.mark.parametrize(("kind", "is_v2"), CASES)
def test_every_code(kind: type[Message], is_v2: bool) -> None:
    async def story() -> dict[str, tuple[Outcome, Outcome]]:
        wrong = {}
        for code in ErrorCode:
            if code > 0:
                found, wanted = await outcome_of(kind, code, is_v2=is_v2), expected(kind, code)
                if found is not wanted:
                    wrong[code.name] = (found, wanted)
        return wrong

    assert asyncio.run(asyncio.wait_for(story(), BOUND_S)) == {}
