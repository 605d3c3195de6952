"""Offsets in transactions over the wire: they count when the transaction does, and only for members of the group."""

from collections.abc import Mapping
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.server.group_wire import GROUP_PROPERTIES, ClassicMember, commit, fetch_request, ready
from tests.server.txn_wire import TxnProducer, describe_producers
from tests.server.wire import Wire, eventually

VERSIONS = range(6)
_TRANSACTIONS_V2 = 5
_numbers = count()


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return GROUP_PROPERTIES


@pytest.fixture
def group_id(wire: Wire) -> str:
    """A group whose coordinator answers."""
    made = f"group-{next(_numbers)}"
    ready(wire, made)
    return made


def commit_in_transaction(
    producer: TxnProducer, group_id: str, offsets: dict[tuple[str, int], int], version: int, **fields: object
) -> dict[tuple[str, int], int]:
    """With what a producer of that version asks for before."""
    if version < _TRANSACTIONS_V2:
        assert producer.add_offsets(group_id, min(version, 4)) == 0
    return producer.commit_offsets(group_id, offsets, version, **fields)


def committed(wire: Wire, group_id: str, topic: str, *, require_stable: bool = False) -> dict[int, tuple[int, int]]:
    """Offset and error code of each partition."""
    request: OffsetFetchRequest = fetch_request(group_id, {topic: [0, 1]}, 7, require_stable=require_stable)
    (answer,) = wire.ask(request, 7).topics
    return {one.partition_index: (one.committed_offset, one.error_code) for one in answer.partitions}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_committed", [True, False])
def test_offsets_follow_their_transaction(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str, version: int, is_committed: bool
) -> None:
    assert commit(wire, group_id, {(existing, 0): 1}) == {(existing, 0): 0}
    codes = commit_in_transaction(producer, group_id, {(existing, 0): 5, (existing, 1): 6}, version)
    assert codes == {(existing, 0): 0, (existing, 1): 0}
    assert committed(wire, group_id, existing) == {0: (1, 0), 1: (-1, 0)}
    unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert committed(wire, group_id, existing, require_stable=True) == {0: unstable, 1: unstable}
    (topic,) = producer.describe().topics
    assert topic.topic == "__consumer_offsets"
    assert producer.end(committed=is_committed, version=version) == 0
    producer.wait_for("CompleteCommit" if is_committed else "CompleteAbort")
    expected = {0: (5, 0), 1: (6, 0)} if is_committed else {0: (1, 0), 1: (-1, 0)}
    assert committed(wire, group_id, existing, require_stable=True) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_that_were_not_added(producer: TxnProducer, group_id: str, existing: str, version: int) -> None:
    codes = producer.commit_offsets(group_id, {(existing, 0): 5}, version)
    expected = {4: ErrorCode.TRANSACTION_ABORTABLE, 5: ErrorCode.NONE}.get(version, ErrorCode.INVALID_TXN_STATE)
    assert codes == {(existing, 0): expected}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_that_does_not_exist_has_its_error(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str, version: int
) -> None:
    offsets = {("nowhere", 0): 1, (existing, 9): 2, (existing, 0): 3}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit_in_transaction(producer, group_id, offsets, version) == {
        ("nowhere", 0): unknown,
        (existing, 9): unknown,
        (existing, 0): 0,
    }
    codes = producer.commit_offsets(group_id, {("nowhere", 0): 1}, version)
    assert codes == {("nowhere", 0): unknown}, "the coordinator is not asked"
    assert producer.end(version=version) == 0
    producer.wait_for("CompleteCommit")
    assert committed(wire, group_id, existing)[0] == (3, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fenced_producer_commits_nothing(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str, version: int
) -> None:
    zombie = producer.clone()
    assert producer.init() == 0
    codes = zombie.commit_offsets(group_id, {(existing, 0): 5}, version)
    assert codes == {(existing, 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    assert committed(wire, group_id, existing, require_stable=True)[0] == (-1, 0)


def test_another_producers_id(producer: TxnProducer, group_id: str, existing: str) -> None:
    producer.producer_id += 1000
    codes = producer.commit_offsets(group_id, {(existing, 0): 5})
    assert codes == {(existing, 0): ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_an_empty_group_id(producer: TxnProducer, existing: str) -> None:
    codes = producer.commit_offsets("", {(existing, 0): 5})
    assert codes == {(existing, 0): ErrorCode.INVALID_GROUP_ID}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_only_members_of_the_generation_commit(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str, version: int
) -> None:
    member = ClassicMember(wire, group_id)
    member.become_stable()
    offsets = {(existing, 0): 5}

    def code(**fields: object) -> int:
        (found,) = commit_in_transaction(producer, group_id, offsets, version, **fields).values()
        return found

    known = {"member_id": member.member_id, "generation_id": member.generation_id}
    assert code(**known | {"member_id": "stranger"}) == ErrorCode.UNKNOWN_MEMBER_ID
    assert code(**known | {"generation_id": member.generation_id + 1}) == ErrorCode.ILLEGAL_GENERATION
    assert code(**known | {"group_instance_id": "nobody"}) == ErrorCode.UNKNOWN_MEMBER_ID
    assert code(**known) == 0
    assert code() == 0, "a producer that says nothing of members is believed"
    assert producer.end(version=version) == 0
    producer.wait_for("CompleteCommit")
    assert committed(wire, group_id, existing)[0] == (5, 0)


def test_a_group_without_members_knows_no_generation(producer: TxnProducer, group_id: str, existing: str) -> None:
    fields = {"member_id": "member", "generation_id": 3}
    codes = producer.commit_offsets(group_id, {(existing, 0): 5}, **fields)  # type: ignore[arg-type]
    assert codes == {(existing, 0): ErrorCode.ILLEGAL_GENERATION}


def test_records_and_offsets_in_one_transaction(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str
) -> None:
    for number in range(3):
        assert producer.produce(existing, b"out").error_code == 0
        codes = producer.commit_offsets(group_id, {(existing, 1): number + 1})
        assert codes == {(existing, 1): 0}
        assert producer.end() == 0
    producer.wait_for("CompleteCommit")
    for _ in eventually():
        if committed(wire, group_id, existing, require_stable=True)[1] == (3, 0):
            break
    (state,) = describe_producers(wire, existing)[0].active_producers
    assert (state.producer_epoch, state.current_txn_start_offset) == (producer.producer_epoch, -1)


def test_offsets_that_are_committed_meanwhile_lose_to_the_transaction(
    wire: Wire, producer: TxnProducer, group_id: str, existing: str
) -> None:
    assert producer.commit_offsets(group_id, {(existing, 0): 5}) == {(existing, 0): 0}
    assert commit(wire, group_id, {(existing, 0): 9}) == {(existing, 0): 0}
    assert committed(wire, group_id, existing)[0] == (9, 0)
    assert producer.end() == 0
    producer.wait_for("CompleteCommit")
    assert committed(wire, group_id, existing)[0] == (9, 0), "the later in the log wins"
