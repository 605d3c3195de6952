"""Transactions over the wire: every version's form, and who is told what when something is wrong."""

from collections.abc import Callable, Mapping
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.server.txn_wire import TRANSACTION_PROPERTIES, TxnProducer, fetch, topic_codes, wait_until_stable
from tests.server.wire import Wire

_numbers = count()


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return TRANSACTION_PROPERTIES


@pytest.fixture
def producer(wire: Wire) -> TxnProducer:
    """A transactional id that nobody has used; not initialized."""
    return TxnProducer(wire, f"txn-{next(_numbers)}")


# -- whole transactions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
def test_transactions_v2_add_their_partitions_on_the_way(
    wire: Wire, producer: TxnProducer, existing: str, committed: bool
) -> None:
    assert producer.init() == 0
    first = (producer.producer_id, producer.producer_epoch)
    assert producer.produce(existing, b"a", b"b").error_code == 0
    state = producer.describe()
    assert (state.error_code, state.transaction_state) == (0, "Ongoing")
    assert [(topic.topic, list(topic.partitions)) for topic in state.topics] == [(existing, [0])]
    assert (state.producer_id, state.producer_epoch, state.transaction_timeout_ms) == (*first, 60_000)
    assert fetch(wire, existing, committed=True).last_stable_offset == 0
    assert producer.end(committed=committed) == 0
    assert (producer.producer_id, producer.producer_epoch) == (first[0], first[1] + 1)
    wait_until_stable(wire, existing, 3)
    answer = fetch(wire, existing, committed=True)
    aborted = [(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()]
    assert aborted == ([] if committed else [(first[0], 0)])
    producer.wait_for("CompleteCommit" if committed else "CompleteAbort")
    assert producer.produce(existing, b"c").error_code == 0
    assert producer.end() == 0


@pytest.mark.parametrize("version", range(4))
def test_transactions_v1_add_partitions_first(wire: Wire, producer: TxnProducer, existing: str, version: int) -> None:
    assert producer.init(version) == 0
    assert producer.add_partitions((existing, 0), (existing, 1), version=version) == {
        (existing, 0): 0,
        (existing, 1): 0,
    }
    assert producer.produce(existing, version=11).error_code == 0
    assert producer.end(version=version) == 0
    wait_until_stable(wire, existing, 2)
    producer.wait_for("CompleteCommit")
    assert producer.end(version=version) == 0, "a retry is told the same"
    assert producer.end(version=version, committed=False) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("version", "code"), [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_a_partition_that_was_not_added(producer: TxnProducer, existing: str, version: int, code: ErrorCode) -> None:
    assert producer.init() == 0
    assert producer.add_partitions((existing, 1)) == {(existing, 1): 0}
    assert producer.produce(existing, version=version).error_code == code


def test_an_abort_without_a_transaction(producer: TxnProducer) -> None:
    assert producer.init() == 0
    epoch = producer.producer_epoch
    assert producer.end(committed=True, version=4) == ErrorCode.INVALID_TXN_STATE
    assert producer.end(committed=True) == ErrorCode.INVALID_TXN_STATE
    assert producer.end(committed=False) == 0, "a producer of transactions v2 may not know whether it has begun"
    assert producer.producer_epoch == epoch + 1
    producer.wait_for("CompleteAbort")


# -- InitProducerId ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_an_idempotent_producer(wire: Wire, version: int) -> None:
    ids = set()
    for _ in range(2):
        answer = wire.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), version)
        assert (answer.error_code, answer.producer_epoch) == (0, 0)
        ids.add(answer.producer_id)
    assert len(ids) == 2


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_and_fences_the_last(producer: TxnProducer, version: int) -> None:
    assert producer.init(version) == 0
    assert producer.producer_epoch == 0
    first = producer.producer_id
    assert producer.init(version) == 0
    assert (producer.producer_id, producer.producer_epoch) == (first, 1)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"timeout_ms": -1}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_a_producer_may_not_ask_for(producer: TxnProducer, fields: dict[str, int], code: ErrorCode) -> None:
    assert producer.init(**fields) == code
    assert producer.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_an_empty_transactional_id(wire: Wire) -> None:
    answer = wire.ask(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000), 5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)])
def test_a_producer_that_goes_on_where_another_has_begun(producer: TxnProducer, version: int, code: ErrorCode) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.init() == 0
    assert producer.init() == 0
    known = {"producer_id": zombie.producer_id, "producer_epoch": zombie.producer_epoch}
    assert zombie.init(version, **known) == code
    known = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
    assert producer.init(version, **known) == 0
    assert producer.producer_epoch == 3


def test_an_ongoing_transaction_is_aborted_by_the_next_producer(
    wire: Wire, producer: TxnProducer, existing: str
) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.produce(existing).error_code == 0
    request = InitProducerIdRequest(transactional_id=producer.transactional_id, transaction_timeout_ms=60_000)
    assert wire.ask(request, 5).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.init() == 0
    assert producer.producer_epoch > zombie.producer_epoch
    wait_until_stable(wire, existing, 2)
    assert len(fetch(wire, existing, committed=True).aborted_transactions) == 1
    assert zombie.produce(existing, sequence=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


# -- fenced producers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_a_fenced_producer_cannot_end(producer: TxnProducer, version: int) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.init() == 0
    code = ErrorCode.INVALID_PRODUCER_EPOCH if version < 2 else ErrorCode.PRODUCER_FENCED
    assert zombie.end(version=version) == code
    assert zombie.end(version=version, committed=False) == code


@pytest.mark.parametrize("version", range(4))
def test_a_fenced_producer_cannot_add_partitions(producer: TxnProducer, existing: str, version: int) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.init() == 0
    code = ErrorCode.INVALID_PRODUCER_EPOCH if version < 2 else ErrorCode.PRODUCER_FENCED
    assert zombie.add_partitions((existing, 0), version=version) == {(existing, 0): code}


@pytest.mark.parametrize("version", range(5))
def test_a_fenced_producer_cannot_add_offsets(producer: TxnProducer, version: int) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.init() == 0
    code = ErrorCode.INVALID_PRODUCER_EPOCH if version < 2 else ErrorCode.PRODUCER_FENCED
    assert zombie.add_offsets("group", version) == code
    assert producer.add_offsets("group", version) == 0


@pytest.mark.parametrize("version", [10, 11, 12])
def test_a_fenced_producer_cannot_write(producer: TxnProducer, existing: str, version: int) -> None:
    assert producer.init() == 0
    zombie = producer.clone()
    assert producer.init() == 0
    assert zombie.produce(existing, version=version).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_another_producers_id(producer: TxnProducer, existing: str) -> None:
    assert producer.init() == 0
    other = producer.clone()
    other.producer_id += 1000
    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert other.end() == code
    assert other.end(version=4) == code
    assert other.add_partitions((existing, 0)) == {(existing, 0): code}
    assert other.add_offsets("group") == code
    assert other.produce(existing).error_code == code


def test_a_transactional_id_that_nobody_knows(producer: TxnProducer, existing: str) -> None:
    producer.producer_id, producer.producer_epoch = 5, 0
    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.end() == code
    assert producer.add_partitions((existing, 0)) == {(existing, 0): code}
    assert producer.add_offsets("group") == code


def test_requests_with_an_empty_transactional_id(wire: Wire, existing: str) -> None:
    producer = TxnProducer(wire, "not-empty")
    producer.transactional_id = ""
    assert producer.end() == ErrorCode.INVALID_REQUEST
    assert producer.add_partitions((existing, 0)) == {(existing, 0): ErrorCode.INVALID_REQUEST}
    assert producer.add_offsets("group") == ErrorCode.INVALID_REQUEST
    assert producer.describe().error_code == ErrorCode.INVALID_REQUEST


# -- AddPartitionsToTxn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
def test_one_bad_partition_keeps_the_others_out(producer: TxnProducer, existing: str, version: int) -> None:
    assert producer.init() == 0
    assert producer.add_partitions((existing, 0), (existing, 9), ("nowhere", 0), version=version) == {
        (existing, 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        (existing, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert producer.describe().transaction_state == "Empty"


def test_clients_do_not_add_internal_topics(producer: TxnProducer, existing: str) -> None:
    assert producer.init() == 0
    assert producer.add_partitions((existing, 0), ("__transaction_state", 0)) == {
        (existing, 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("__transaction_state", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_ask_for_many_transactions_at_once(
    wire: Wire, producer: TxnProducer, existing: str, version: int
) -> None:
    other = TxnProducer(wire, producer.transactional_id + "-other")
    zombie = TxnProducer(wire, producer.transactional_id + "-zombie")
    for one in (producer, other, zombie):
        assert one.init() == 0
    zombie.producer_epoch -= 1
    request = AddPartitionsToTxnRequest(
        transactions=[
            producer.transaction((existing, 0)),
            other.transaction((existing, 0), verify_only=True),
            zombie.transaction((existing, 0), ("nowhere", 0)),
        ]
    )
    answer = wire.ask(request, version)
    assert answer.error_code == 0
    results = {one.transactional_id: topic_codes(one.topic_results) for one in answer.results_by_transaction}
    assert results == {
        producer.transactional_id: {(existing, 0): 0},
        other.transactional_id: {(existing, 0): ErrorCode.TRANSACTION_ABORTABLE},
        zombie.transactional_id: {
            (existing, 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
            ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
    }
    request = AddPartitionsToTxnRequest(
        transactions=[
            producer.transaction((existing, 0), (existing, 1), verify_only=True),
            zombie.transaction((existing, 0), verify_only=True),
        ]
    )
    answer = wire.ask(request, version)
    results = {one.transactional_id: topic_codes(one.topic_results) for one in answer.results_by_transaction}
    assert results == {
        producer.transactional_id: {(existing, 0): 0, (existing, 1): ErrorCode.TRANSACTION_ABORTABLE},
        zombie.transactional_id: {(existing, 0): ErrorCode.PRODUCER_FENCED},
    }


# -- connections ------------------------------------------------------------------------------------------------------


def test_every_request_of_one_producer_may_come_by_its_own_connection(
    connect: Callable[[], Wire], producer: TxnProducer, existing: str
) -> None:
    assert producer.init() == 0
    for number in range(5):
        producer.wire = connect()
        assert producer.produce(existing, sequence=number).error_code == 0
    producer.wire = connect()
    assert producer.end() == 0
    wait_until_stable(producer.wire, existing, 6)
