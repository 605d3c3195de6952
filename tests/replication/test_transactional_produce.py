"""Transactional writes: the coordinator is asked first, and what it says decides."""

from collections.abc import Mapping, Sequence

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.replication.appender import Entry
from ottla.replication.ports import Verified
from tests.log.log_machine import Machine, batch
from tests.replication.replica_machine import T0, Answer, Broker

T1 = TopicPartition("topic", 1)


class Coordinator:
    """Answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int, list[TopicPartition], bool]] = []
        self._verified: list[Verified] = []

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        supports_epoch_bump: bool,
        verified: Verified,
    ) -> None:
        self.asked.append((transactional_id, producer_id, producer_epoch, list(partitions), supports_epoch_bump))
        self._verified.append(verified)

    def answer(self, refused: Mapping[TopicPartition, int] | None = None) -> None:
        self._verified.pop(0)(refused or {})


def txn_batch(sequence: int = 0, producer_id: int = 7) -> bytearray:
    return batch(producer_id=producer_id, sequence=sequence, transactional=True)


class Verifying(Broker):
    """A broker that verifies transactions with a coordinator."""

    def __init__(self) -> None:
        machine = Machine("/data/a")
        object.__setattr__(machine.config, "transaction_partition_verification_enable", True)
        self.coordinator = Coordinator()
        super().__init__(machine=machine, txn_verifier=self.coordinator)
        self.create(partitions=2)

    def send(self, *entries: Entry, supports_epoch_bump: bool = False, transactional_id: str = "txn") -> Answer:
        answer = Answer()
        self.replicas.handle_produce_append(
            transactional_id, entries, -1, 1000, answer, supports_epoch_bump=supports_epoch_bump
        )
        return answer


def test_the_first_batch_waits_for_the_coordinator_and_the_next_does_not() -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()))
    assert answer.results is None
    assert broker.coordinator.asked == [("txn", 7, 0, [T0], False)]
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
    ("code", "supports_epoch_bump", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, False, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, False, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, True, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_errors_are_translated_for_producers_that_would_not_retry_them(
    code: ErrorCode, supports_epoch_bump: bool, told: ErrorCode
) -> None:
    broker = Verifying()
    answer = broker.send((T0, None, txn_batch()), supports_epoch_bump=supports_epoch_bump)
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
