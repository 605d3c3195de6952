"""WriteTxnMarkers over the wire: what coordinators and administrators send."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from tests.server.txn_wire import TRANSACTION_PROPERTIES, TxnProducer, fetch, write_marker
from tests.server.wire import Wire


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return TRANSACTION_PROPERTIES


@pytest.mark.parametrize("version", [1, 2])
def test_an_administrator_ends_a_hanging_transaction(
    wire: Wire, producer: TxnProducer, existing: str, version: int
) -> None:
    assert producer.produce(existing).error_code == 0
    codes = write_marker(
        wire, producer, (existing, 0), (existing, 9), ("nowhere", 0), version=version, coordinator_epoch=0
    )
    assert codes == {
        (existing, 0): 0,
        (existing, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    answer = fetch(wire, existing, committed=True)
    assert answer.last_stable_offset == 2
    assert [one.first_offset for one in answer.aborted_transactions] == [0]


def test_markers_of_the_past_are_refused(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert write_marker(wire, producer, (existing, 0), coordinator_epoch=5, producer_epoch=3) == {(existing, 0): 0}
    fenced = write_marker(wire, producer, (existing, 0), coordinator_epoch=4, producer_epoch=3)
    assert fenced == {(existing, 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    stale = write_marker(wire, producer, (existing, 0), coordinator_epoch=5, producer_epoch=2)
    assert stale == {(existing, 0): ErrorCode.INVALID_PRODUCER_EPOCH}


def test_with_transactions_v2_a_marker_is_above_its_data(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert producer.produce(existing).error_code == 0
    epoch = producer.producer_epoch

    def mark(producer_epoch: int) -> int:
        codes = write_marker(
            wire, producer, (existing, 0), version=2, producer_epoch=producer_epoch, transaction_version=2
        )
        return int(codes[existing, 0])

    assert mark(epoch) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert mark(epoch + 1) == 0
    assert mark(epoch + 1) == 0, "a retry"


def test_no_markers(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert write_marker(wire, producer) == {}
    assert fetch(wire, existing, committed=True).high_watermark == 0


@pytest.mark.parametrize("nobodys", [{"producer_id": -1}, {"producer_epoch": -1}, {"producer_id": -(1 << 63)}])
@pytest.mark.parametrize("topic_of_offsets", [False, True])
def test_a_marker_for_nobody_is_refused(
    wire: Wire, producer: TxnProducer, existing: str, nobodys: Mapping[str, int], topic_of_offsets: bool
) -> None:
    name = "__consumer_offsets" if topic_of_offsets else existing
    assert write_marker(wire, producer, (name, 0), **nobodys) == {(name, 0): ErrorCode.INVALID_REQUEST}
    assert fetch(wire, existing, committed=True).high_watermark == 0
