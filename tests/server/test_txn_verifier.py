"""Questions about ongoing transactions: to the coordinator here, or to another broker, one request at a time."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.metrics.registry import Registry
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from ottla.runtime.completion import Completion
from ottla.server.transaction_verifier import TransactionVerifier
from tests.raft.turns import TurnRuntime
from tests.replication.replica_machine import NODE, T0, Broker

T1 = TopicPartition("topic", 1)
OLD = TransactionSupportedOperation.DEFAULT_ERROR
VERIFY = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
ADD = TransactionSupportedOperation.ADD_PARTITION


class Coordinator:
    """The coordinator here: transactional ids live on the partition that their last digit names."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.added: Completion[None] = Completion()
        self.verified: Completion[Mapping[TopicPartition, int]] = Completion()

    def partition_for(self, transactional_id: str) -> int:
        return int(transactional_id[-1])

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        client_transaction_version: int,
    ) -> Completion[None]:
        self.asked.append(
            ("add", transactional_id, producer_id, producer_epoch, list(partitions), client_transaction_version)
        )
        return self.added

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Sequence[TopicPartition]
    ) -> Completion[Mapping[TopicPartition, int]]:
        self.asked.append(("verify", transactional_id, producer_id, producer_epoch, list(partitions)))
        return self.verified


class Elsewhere:
    """Other brokers; the next answers are planned, none means that all partitions are part of the transaction."""

    def __init__(self, runtime: TurnRuntime) -> None:
        self._runtime = runtime
        self.requests: list[tuple[int, AddPartitionsToTxnRequest]] = []
        self.answers: list[AddPartitionsToTxnResponse | KafkaError] = []

    def ask(self, node_id: int, request: AddPartitionsToTxnRequest) -> Awaitable[AddPartitionsToTxnResponse]:
        self.requests.append((node_id, request))
        return self._answer(request)

    async def _answer(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        await self._runtime.sleep_ms(5)
        answer = self.answers.pop(0) if self.answers else answer_to(request)
        if isinstance(answer, KafkaError):
            raise answer
        return answer


def answer_to(request: AddPartitionsToTxnRequest, code: int = 0) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id,
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name=topic.name,
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                            for index in topic.partitions
                        ],
                    )
                    for topic in transaction.topics
                ],
            )
            for transaction in request.transactions
        ]
    )


class World:
    """Broker 1; the transaction log's partition 1 is here, 2 on broker 2, 3 has no leader, 4 a fenced one."""

    def __init__(self) -> None:
        self.runtime = TurnRuntime()
        self.broker = Broker()
        self.broker.register(NODE, 2)
        self.broker.register(4, fenced=True)
        state_id = self.broker.create("__transaction_state", partitions=5, replicas=(NODE, 2, 4))
        for index, leader in ((2, 2), (3, -1), (4, 4)):
            self.broker.change(state_id, index, leader=leader)
        self.here = Coordinator()
        self.elsewhere = Elsewhere(self.runtime)
        self.registry = Registry()
        self.verifier = TransactionVerifier(
            self.runtime,
            NODE,
            lambda: self.broker.image,
            here=lambda: self.here,
            remote=self.elsewhere,
            registry=self.registry,
        )

    def ask(
        self,
        transactional_id: str,
        *partitions: TopicPartition,
        operation: TransactionSupportedOperation = VERIFY,
        epoch: int = 0,
    ) -> list[Mapping[TopicPartition, int]]:
        """The answer, once it is there."""
        answers: list[Mapping[TopicPartition, int]] = []
        self.verifier.verify(
            transactional_id, 7, epoch, partitions or (T0,), operation=operation, verified=answers.append
        )
        return answers

    def metric(self, name: str) -> Any:
        return self.registry.get(f"kafka_server_addpartitionstotxnmanager_{name}")


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.runtime.drop()


def test_the_coordinator_here_is_asked_directly(world: World) -> None:
    answers = world.ask("txn-1", T0, T1)
    assert world.here.asked == [("verify", "txn-1", 7, 0, [T0, T1])]
    assert answers == []
    world.here.verified.complete({T0: 0, T1: ErrorCode.TRANSACTION_ABORTABLE})
    assert answers == [{T1: ErrorCode.TRANSACTION_ABORTABLE}]
    assert world.elsewhere.requests == []


def test_partitions_of_transactions_v2_are_added(world: World) -> None:
    answers = world.ask("txn-1", T0, T1, operation=ADD)
    assert world.here.asked == [("add", "txn-1", 7, 0, [T0, T1], 2)]
    world.here.added.complete(None)
    assert answers == [{}]


def test_a_refusal_of_the_whole_transaction_is_one_of_each_partition(world: World) -> None:
    answers = world.ask("txn-1", T0, T1, operation=ADD)
    world.here.added.fail(ApiError(ErrorCode.CONCURRENT_TRANSACTIONS))
    assert answers == [dict.fromkeys((T0, T1), ErrorCode.CONCURRENT_TRANSACTIONS)]


@pytest.mark.parametrize(
    ("code", "operation", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, VERIFY, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, OLD, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, VERIFY, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, OLD, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
@pytest.mark.parametrize("transactional_id", ["txn-1", "txn-2"])
def test_errors_are_told_in_words_that_the_producer_knows(
    world: World, transactional_id: str, code: ErrorCode, operation: TransactionSupportedOperation, told: ErrorCode
) -> None:
    answers = world.ask(transactional_id, operation=operation)
    world.here.verified.complete({T0: code})
    world.runtime.settle()
    for _, request in world.elsewhere.requests:
        world.elsewhere.answers.append(answer_to(request, code))
    world.runtime.pass_ms(5)
    assert answers == [{T0: told}]


@pytest.mark.parametrize("transactional_id", ["txn-3", "txn-4", "txn-9"])
def test_without_a_live_coordinator_there_is_nobody_to_ask(world: World, transactional_id: str) -> None:
    assert world.ask(transactional_id) == [{T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}]


def test_another_broker_is_asked_by_one_request_at_a_time_with_all_that_gathered(world: World) -> None:
    first = world.ask("a-2", T0, T1, operation=ADD)
    world.runtime.settle()
    second, third = world.ask("b-2"), world.ask("c-2", operation=ADD)
    world.runtime.pass_ms(4)
    assert (len(world.elsewhere.requests), first) == (1, [])
    world.runtime.pass_ms(6)
    (node_id, one), (_, other) = world.elsewhere.requests
    assert node_id == 2
    (transaction,) = one.transactions
    assert (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch) == ("a-2", 7, 0)
    assert [(topic.name, topic.partitions) for topic in transaction.topics] == [("topic", [0, 1])]
    assert [each.verify_only for each in (*one.transactions, *other.transactions)] == [False, True, False]
    assert (first, second, third) == ([{}], [{}], [{}])


def test_of_a_transactional_id_only_the_latest_question_waits(world: World) -> None:
    world.ask("busy-2")
    world.runtime.settle()
    old = world.ask("txn-2", epoch=1)
    again = world.ask("txn-2", epoch=1)
    assert old == [{T0: ErrorCode.NETWORK_EXCEPTION}]
    newer = world.ask("txn-2", epoch=2)
    assert again == [{T0: ErrorCode.INVALID_PRODUCER_EPOCH}]
    assert world.ask("txn-2", epoch=1) == [{T0: ErrorCode.INVALID_PRODUCER_EPOCH}]
    world.runtime.pass_ms(100)
    assert newer == [{}]
    assert [each.producer_epoch for each in world.elsewhere.requests[1][1].transactions] == [2]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ApiError(ErrorCode.NETWORK_EXCEPTION), {T0: ErrorCode.NETWORK_EXCEPTION}),
        (ApiError(ErrorCode.UNSUPPORTED_VERSION), {}),
        (
            AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            {T0: ErrorCode.INVALID_TXN_STATE},
        ),
        (AddPartitionsToTxnResponse(error_code=ErrorCode.NOT_COORDINATOR), {T0: ErrorCode.NOT_COORDINATOR}),
        (AddPartitionsToTxnResponse(), {T0: ErrorCode.NETWORK_EXCEPTION}),
    ],
)
def test_an_answer_that_is_none(
    world: World, answer: AddPartitionsToTxnResponse | KafkaError, told: Mapping[TopicPartition, int]
) -> None:
    world.elsewhere.answers = [answer]
    answers = world.ask("txn-2")
    world.runtime.pass_ms(5)
    assert answers == [told]


def test_time_and_failures_are_measured(world: World) -> None:
    world.ask("txn-1", T0, T1)
    world.runtime.clock.advance_ms(30)
    world.here.verified.complete(dict.fromkeys((T0, T1), ErrorCode.TRANSACTION_ABORTABLE))
    assert world.metric("verificationfailurerate_count").value == 2
    assert world.metric("verificationtimems").count == 1
    assert world.metric("verificationtimems").percentile(0.5) == pytest.approx(30, rel=0.1)
