"""Transactions that take too long over the wire: the coordinator aborts them and fences their producers."""

from collections.abc import Mapping
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from tests.server.txn_wire import TRANSACTION_PROPERTIES, TxnProducer, fetch, wait_until_stable
from tests.server.wire import Wire, create_topic

TIMEOUT_MS = 1_000
"""Enough to write something before it is over, on a machine with other things to do, too."""
_numbers = count()


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {**TRANSACTION_PROPERTIES, "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20"}


@pytest.fixture
def producer(wire: Wire) -> TxnProducer:
    """A producer whose transactions must be short."""
    made = TxnProducer(wire, f"txn-{next(_numbers)}")
    assert made.init(timeout_ms=TIMEOUT_MS) == 0
    return made


@pytest.fixture
def existing(address: str, topic: str) -> str:
    create_topic(address, topic)
    return topic


def overdue(producer: TxnProducer, topic: str, version: int) -> None:
    """Write in a transaction that is then aborted for its producer."""
    if version < 12:
        assert producer.add_partitions((topic, 0)) == {(topic, 0): 0}
    assert producer.produce(topic, version=version).error_code == 0
    producer.wait_for("CompleteAbort")
    wait_until_stable(producer.wire, topic, 2)
    assert len(fetch(producer.wire, topic, committed=True).aborted_transactions) == 1


@pytest.mark.parametrize("version", [11, 12])
def test_its_producer_is_fenced(producer: TxnProducer, existing: str, version: int) -> None:
    overdue(producer, existing, version)
    late = producer.produce(existing, version=version, sequence=1)
    assert late.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end(committed=True, version=4) == ErrorCode.PRODUCER_FENCED
    assert producer.end(committed=False, version=4) == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("committed", "code"),
    [
        (True, ErrorCode.INVALID_TXN_STATE),
        (False, ErrorCode.NONE),  # it looks like the retry of an abort whose answer was lost
    ],
)
def test_with_transactions_v2_its_producer_may_abort_after_the_fact(
    producer: TxnProducer, existing: str, committed: bool, code: ErrorCode
) -> None:
    epoch = producer.producer_epoch
    overdue(producer, existing, 12)
    assert producer.describe().producer_epoch == epoch + 1
    assert producer.end(committed=committed) == code
    assert producer.producer_epoch == (epoch if committed else epoch + 1)


@pytest.mark.parametrize("version", [11, 12])
def test_its_producer_may_go_on_with_the_next_epoch(producer: TxnProducer, existing: str, version: int) -> None:
    overdue(producer, existing, version)
    assert producer.init() == 0
    if version < 12:
        assert producer.add_partitions((existing, 0)) == {(existing, 0): 0}
    assert producer.produce(existing, version=version).error_code == 0
    assert producer.end(version=5 if version >= 12 else 4) == 0
    wait_until_stable(producer.wire, existing, 4)
