"""DescribeTransactions, ListTransactions and DescribeProducers over the wire."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from tests.server.txn_wire import TRANSACTION_PROPERTIES, TxnProducer, describe_producers, wait_until_stable
from tests.server.wire import Wire


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return TRANSACTION_PROPERTIES


def test_transactions_are_described_each_on_its_own(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert producer.produce(existing, partition=1).error_code == 0
    request = DescribeTransactionsRequest(transactional_ids=[producer.transactional_id, "nobody"])
    known, unknown = wire.ask(request, 0).transaction_states
    assert (known.transactional_id, known.error_code, known.transaction_state) == (
        producer.transactional_id,
        0,
        "Ongoing",
    )
    assert known.transaction_start_time_ms > 0
    assert (unknown.transactional_id, unknown.error_code) == ("nobody", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    assert producer.end() == 0


def test_transactions_are_listed_by_what_one_looks_for(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert producer.produce(existing).error_code == 0
    idle = TxnProducer(wire, producer.transactional_id + "-idle")
    assert idle.init() == 0

    def listed(version: int, **fields: object) -> list[tuple[str, str]]:
        answer = wire.ask(ListTransactionsRequest(**fields), version)  # type: ignore[arg-type]
        assert answer.error_code == 0
        mine = (producer.transactional_id, idle.transactional_id)
        found = [one for one in answer.transaction_states if one.transactional_id in mine]
        return sorted((one.transactional_id, one.transaction_state) for one in found)

    ongoing, empty = (producer.transactional_id, "Ongoing"), (idle.transactional_id, "Empty")
    for version in range(3):
        assert listed(version) == [ongoing, empty]
        assert listed(version, state_filters=["Ongoing"]) == [ongoing]
        assert listed(version, state_filters=["Ongoing", "Empty"]) == [ongoing, empty]
        assert listed(version, producer_id_filters=[idle.producer_id]) == [empty]
        assert listed(version, producer_id_filters=[idle.producer_id], state_filters=["Ongoing"]) == []
    assert listed(1, duration_filter=3_600_000) == [empty], "what never began counts as long ago"
    assert listed(2, transactional_id_pattern=".*-idle") == [empty]
    assert listed(2, transactional_id_pattern="idle") == []
    assert producer.end() == 0


def test_listing_by_a_state_or_a_pattern_that_is_none(wire: Wire, producer: TxnProducer) -> None:
    answer = wire.ask(ListTransactionsRequest(state_filters=["Nonsense", "Empty"]), 2)
    assert list(answer.unknown_state_filters) == ["Nonsense"]
    assert producer.transactional_id in [one.transactional_id for one in answer.transaction_states]
    answer = wire.ask(ListTransactionsRequest(state_filters=["Nonsense"]), 2)
    assert (list(answer.unknown_state_filters), list(answer.transaction_states)) == (["Nonsense"], [])
    answer = wire.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_producers_are_described_with_their_open_transaction(wire: Wire, producer: TxnProducer, existing: str) -> None:
    assert producer.produce(existing, b"a", b"b", b"c").error_code == 0
    open_here, empty, missing = describe_producers(wire, existing, 0, 1, 9)
    (state,) = open_here.active_producers
    assert (state.producer_id, state.producer_epoch) == (producer.producer_id, producer.producer_epoch)
    assert (state.last_sequence, state.coordinator_epoch, state.current_txn_start_offset) == (2, -1, 0)
    assert (empty.error_code, list(empty.active_producers)) == (0, [])
    assert (missing.error_code, missing.error_message) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    assert producer.end() == 0
    wait_until_stable(wire, existing, 4)
    (state,) = describe_producers(wire, existing)[0].active_producers
    assert (state.producer_epoch, state.current_txn_start_offset) == (producer.producer_epoch, -1)
    assert state.coordinator_epoch >= 0
    (unknown,) = describe_producers(wire, "nowhere")
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.error_message == "This server does not host this topic-partition."
    (invalid,) = describe_producers(wire, "no topic")
    assert invalid.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
