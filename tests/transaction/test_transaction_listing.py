"""DescribeTransactions and ListTransactions."""

from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.transaction.metadata import NO_PARTITIONS, ProducerIdAndEpoch, TransactionMetadata
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.test_init_producer_id_rules import world_at
from tests.transaction.transaction_world import ID, TIMEOUT_MS, A, B, C, TransactionWorld

S = TransactionState
ME = ProducerIdAndEpoch(7, 3)


def test_a_transaction_is_described() -> None:
    world = world_at(3, S.ONGOING)
    world.add(ME, C, B).result()
    described = world.coordinator.describe_transaction(ID).result()
    assert described.error_code == ErrorCode.NONE
    assert described.transactional_id == ID
    assert described.transaction_state == "Ongoing"
    assert (described.producer_id, described.producer_epoch) == ME
    assert described.transaction_timeout_ms == TIMEOUT_MS
    assert described.transaction_start_time_ms == 1_000_000
    assert [(topic.topic, list(topic.partitions)) for topic in described.topics] == [("t", [0, 1]), ("u", [0])]
    unknown = world.coordinator.describe_transaction("?").result()
    assert (unknown.transactional_id, unknown.error_code) == ("?", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    assert world.coordinator.describe_transaction("").result().error_code == ErrorCode.INVALID_REQUEST


@pytest.fixture
def several() -> TransactionWorld:
    world = TransactionWorld()
    for index, state in enumerate((S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_ABORT)):
        start_ms = -1 if state is S.EMPTY else world.time_ms - 1000 * index
        partitions = {A: None} if state in (S.ONGOING, S.PREPARE_COMMIT) else NO_PARTITIONS
        world.write_state(
            TransactionMetadata(
                f"tx-{index}",
                index,
                index,
                -1,
                0,
                -1,
                1,
                state,
                partitions,
                start_ms,
                world.time_ms,
                TransactionVersion.TV_2,
            )
        )
    world.load()
    return world


@pytest.mark.parametrize(
    ("wanted", "found", "unknown"),
    [
        ({}, [0, 1, 2, 3], []),
        ({"state_filters": ["Ongoing", "CompleteAbort"]}, [1, 3], []),
        ({"state_filters": ["Ongoing", "Sleeping", "Sleeping"]}, [1], ["Sleeping"]),
        ({"state_filters": ["Sleeping"]}, [], ["Sleeping"]),
        ({"producer_id_filters": [2, 0, 9]}, [0, 2], []),
        ({"duration_filter": 0}, [0, 1, 2, 3], []),
        ({"duration_filter": 1000}, [0, 2, 3], []),
        ({"duration_filter": 2999}, [0, 3], []),
        ({"transactional_id_pattern": "tx-[12]"}, [1, 2], []),
        ({"transactional_id_pattern": "tx"}, [], []),
        ({"transactional_id_pattern": ""}, [0, 1, 2, 3], []),
        ({"transactional_id_pattern": ".*", "state_filters": ["Empty"], "producer_id_filters": [1]}, [], []),
    ],
)
def test_transactions_are_listed(
    several: TransactionWorld, wanted: dict[str, Any], found: list[int], unknown: list[str]
) -> None:
    response = several.coordinator.list_transactions(ListTransactionsRequest(**wanted)).result()
    assert response.error_code == ErrorCode.NONE
    assert response.unknown_state_filters == unknown
    assert [one.producer_id for one in response.transaction_states] == found
    assert all(one.transactional_id == f"tx-{one.producer_id}" for one in response.transaction_states)


@pytest.mark.parametrize("pattern", ["(", "a**(", r"(?=x)"])
def test_a_pattern_that_re2_does_not_know_is_refused(several: TransactionWorld, pattern: str) -> None:
    request = ListTransactionsRequest(transactional_id_pattern=pattern)
    response = several.coordinator.list_transactions(request).result()
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
