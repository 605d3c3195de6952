"""Transactional writes: the coordinator is asked first, and what it says decides."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.log.verification import VerificationGuard
from ottla.records.append_origin import AppendOrigin
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.replication.appender import Entry
from ottla.replication.ports import Verified
from tests.log.log_machine import Machine, batch
from tests.replication.replica_machine import T0, Answer, Broker

T1 = TopicPartition("topic", 1)
VERIFY = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
ADD = TransactionSupportedOperation.ADD_PARTITION


class Coordinator:
    """Answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int, list[TopicPartition], TransactionSupportedOperation]] = []
        self._verified: list[Verified] = []

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        operation: TransactionSupportedOperation,
        verified: Verified,
    ) -> None:
        self.asked.append((transactional_id, producer_id, producer_epoch, list(partitions), operation))
        self._verified.append(verified)

    def answer(self, refused: Mapping[TopicPartition, int] | None = None) -> None:
        self._verified.pop(0)(refused or {})


def txn_batch(sequence: int = 0, producer_id: int = 7) -> bytearray:
    return batch(producer_id=producer_id, sequence=sequence, transactional=True)


class Verifying(Broker):
    """A broker that verifies transactions with a coordinator."""

    def __init__(self, coordinator: Coordinator | None = None, *, enabled: bool = True) -> None:
        machine = Machine("/data/a")
        object.__setattr__(machine.config, "transaction_partition_verification_enable", enabled)
        self.coordinator = coordinator or Coordinator()
        super().__init__(machine=machine, txn_verifier=self.coordinator)
        self.create(partitions=2)

    def send(self, *entries: Entry, operation: TransactionSupportedOperation = VERIFY) -> Answer:
        answer = Answer()
        self.replicas.handle_produce_append("txn", entries, -1, 1000, answer, operation=operation)
        return answer

    def abort(self, producer_epoch: int = 0) -> None:
        """An abort marker of producer 7 on partition 0."""
        marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
        records = end_transaction_batch(marker, timestamp=0, producer_id=7, producer_epoch=producer_epoch)
        written = Answer()
        self.replicas.append_records(
            [(T0, None, records)], -1, 1000, written, origin=AppendOrigin.COORDINATOR, transaction_version=0
        )
        assert written.one.error_code == 0


def test_the_first_batch_waits_for_the_coordinator_and_the_next_does_not() -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()))
    assert answer.results is None
    assert broker.coordinator.asked == [("txn", 7, 0, [T0], VERIFY)]
    assert broker.log().log_end_offset == 0
    broker.coordinator.answer()
    assert answer.one.error_code == 0
    assert broker.send((T0, None, txn_batch(1))).one.error_code == 0, "the transaction is known here"
    assert len(broker.coordinator.asked) == 1


def test_without_having_asked_a_transactional_batch_is_refused() -> None:
    broker = Verifying()
    assert broker.append(records=txn_batch()).error_code == ErrorCode.INVALID_TXN_STATE


def test_what_the_coordinator_refuses_is_not_appended_and_the_rest_is() -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()), (T1, None, txn_batch()))
    broker.coordinator.answer({T0: ErrorCode.INVALID_TXN_STATE})
    assert answer.results is not None
    refused, appended = answer.results
    assert (refused.error_code, refused.base_offset) == (ErrorCode.INVALID_TXN_STATE, -1)
    assert refused.error_message == "Partition was not added to the transaction"
    assert (appended.error_code, appended.base_offset) == (0, 0)


@pytest.mark.parametrize(
    ("code", "operation", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, VERIFY, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NETWORK_EXCEPTION, ADD, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ADD, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ADD, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, VERIFY, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_EPOCH, VERIFY, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, ADD, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_errors_are_translated_for_producers_that_would_not_retry_them(
    code: ErrorCode, operation: TransactionSupportedOperation, told: ErrorCode
) -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()), operation=operation)
    broker.coordinator.answer({T0: code})
    assert answer.one.error_code == told


def test_two_producers_in_one_transaction_are_refused() -> None:
    broker = Verifying()
    with pytest.raises(ApiError) as refused:
        broker.send((T0, None, txn_batch()), (T1, None, txn_batch(producer_id=8)))
    assert refused.value.code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_partition_that_is_not_here_is_not_asked_about() -> None:
    broker = Verifying()
    answer = broker.send((TopicPartition("gone", 0), None, txn_batch()), (T0, None, batch()))
    assert broker.coordinator.asked == []
    assert answer.results is not None
    assert [result.error_code for result in answer.results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]


def test_a_broker_without_a_coordinator_lets_everything_in() -> None:
    machine = Machine("/data/a")
    object.__setattr__(machine.config, "transaction_partition_verification_enable", True)
    broker = Broker(machine=machine)
    broker.create()
    answer = Answer()
    broker.replicas.handle_produce_append("txn", [(T0, None, txn_batch())], -1, 1000, answer)
    assert answer.one.error_code == 0


class Busy(Coordinator):
    """Says at once that the transaction before still ends, a number of times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def verify(self, *question: Any, operation: TransactionSupportedOperation, verified: Verified) -> None:
        super().verify(*question, operation=operation, verified=verified)
        refused = {} if len(self.asked) > self._times else dict.fromkeys(question[3], ErrorCode.CONCURRENT_TRANSACTIONS)
        self.answer(refused)


@pytest.mark.parametrize(
    ("times", "operation", "told", "asked", "waited_ms"),
    [
        (2, ADD, ErrorCode.NONE, 3, 40),
        (9, ADD, ErrorCode.CONCURRENT_TRANSACTIONS, 6, 100),
        (1, VERIFY, ErrorCode.NOT_ENOUGH_REPLICAS, 1, 0),
    ],
)
def test_the_end_of_the_transaction_before_is_waited_for_a_little_with_transactions_v2(
    times: int, operation: TransactionSupportedOperation, told: ErrorCode, asked: int, waited_ms: int
) -> None:
    broker = Verifying(Busy(times))
    start_ms = broker.machine.clock.monotonic_ms()
    answer = broker.send((T0, None, txn_batch()), operation=operation)
    assert answer.one.error_code == told
    assert len(broker.coordinator.asked) == asked
    assert broker.machine.clock.monotonic_ms() - start_ms == waited_ms


def test_without_verification_nobody_is_asked_but_for_transactions_v2() -> None:
    broker = Verifying(enabled=False)
    assert broker.send((T0, None, txn_batch()), operation=VERIFY).one.error_code == 0
    assert broker.coordinator.asked == []
    answer = broker.send((T1, None, txn_batch()), operation=ADD)
    assert [partitions for _, _, _, partitions, _ in broker.coordinator.asked] == [[T1]]
    broker.coordinator.answer()
    assert answer.one.error_code == 0


def test_an_abort_between_question_and_append_makes_the_answer_void() -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()))
    broker.abort()
    broker.coordinator.answer()
    assert answer.one.error_code == ErrorCode.INVALID_TXN_STATE


def test_a_producer_that_is_fenced_here_asks_nobody() -> None:
    broker = Verifying()
    broker.abort(producer_epoch=4)
    answer = broker.send((T0, None, txn_batch()))
    assert broker.coordinator.asked == []
    assert answer.one.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_one_partition_can_be_verified_for_offsets_to_commit() -> None:
    broker = Verifying()
    answers: list[tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, VerificationGuard]]] = []
    broker.replicas.verify_transaction(
        "txn", 7, 0, {T0: -1}, operation=ADD, verified=lambda errors, guards: answers.append((errors, guards))
    )
    assert broker.coordinator.asked == [("txn", 7, 0, [T0], ADD)]
    broker.coordinator.answer()
    ((errors, guards),) = answers
    assert errors == {}
    assert broker.log().producer_state.verification_guard(7).verify(guards[T0])
