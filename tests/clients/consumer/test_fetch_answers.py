"""What each kind of answer does to a partition."""

import pytest

from ottla.clients.consumer.fetch_answers import PASSING_CODES, STALE_METADATA_CODES, AnswerSummary, FetchAnswers
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetch_session import PartitionFetch
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.offset_reset_policy import EARLIEST, NONE, OffsetResetPolicy
from ottla.clients.consumer.partition_state import FetchState
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.consumer.record_errors import CorruptFetchError, PositionOutOfRangeError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import RecordTooLargeError, TopicAuthorizationError
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID
from ottla.protocol.messages.fetch import AbortedTransaction, PartitionData
from tests.clients.consumer.simulated_log import SimulatedLog, Step

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


class World:
    def __init__(self, policy: OffsetResetPolicy = EARLIEST, *, committed: bool = False) -> None:
        self.subscription = SubscriptionState(policy)
        self.subscription.assign([P, Q])
        self.subscription.seek(P, 0)
        self.subscription.seek(Q, 0)
        self.buffer = FetchBuffer(self.subscription, RecordDecoder())
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        self.answers = FetchAnswers(
            self.subscription, self.buffer, isolation=isolation, check_crcs=True, replica_lease_ms=1000
        )
        self.state = self.subscription.state(P)

    def answer(self, data: PartitionData, offset: int = 0, partition: TopicPartition = P) -> AnswerSummary:
        return self.answers.apply(1, {partition: PartitionFetch(ZERO_UUID, offset, 0, 100)}, {partition: data}, 50)


def written(*steps: Step) -> bytes:
    return b"".join(data for _, _, data in SimulatedLog(P, list(steps)).batches)


def test_records_go_to_the_buffer_with_what_is_known_of_the_log() -> None:
    world = World()
    records = memoryview(written(Step(0, 3)))
    data = PartitionData(records=records, high_watermark=9, last_stable_offset=8, log_start_offset=1)
    summary = world.answer(data)
    assert summary == AnswerSummary([], False, [], len(records), True)
    assert (world.state.high_watermark, world.state.last_stable_offset, world.state.log_start_offset) == (9, 8, 1)
    assert len(world.buffer.take(9)) == 3
    assert not world.answer(data, offset=0).has_data, "asked for before what was handed out"


def test_bytes_of_several_partitions_are_parted() -> None:
    world = World()
    frame = memoryview(bytearray(written(Step(0, 3)) * 2))
    half = len(frame) // 2
    asked = dict.fromkeys((P, Q), PartitionFetch(ZERO_UUID, 0, 0, 100))
    answered = {P: PartitionData(records=frame[:half]), Q: PartitionData(records=frame[half:])}
    assert world.answers.apply(1, asked, answered, 0).has_data
    frame[:] = bytes(len(frame))  # nobody holds on to it
    assert len(world.buffer.take(9)) == 6


def test_aborted_transactions_are_left_out() -> None:
    world = World(committed=True)
    records = written(Step(5, 3), Step(5, end=False), Step(0, 2))
    aborted = [AbortedTransaction(producer_id=5, first_offset=0)]
    assert world.answer(PartitionData(records=records, aborted_transactions=aborted)).has_data
    assert [record.offset for record in world.buffer.take(9)] == [4, 5]


@pytest.mark.parametrize("code", sorted(STALE_METADATA_CODES | PASSING_CODES))
def test_passing_errors_are_asked_again_later(code: int) -> None:
    world = World()
    world.state.preferred_read_replica = 2
    summary = world.answer(PartitionData(error_code=code))
    assert summary == AnswerSummary([], code in STALE_METADATA_CODES, [P], 0, False)
    assert world.answers.last_codes == {P: code}
    assert world.state.preferred_read_replica == -1
    world.answer(PartitionData())
    assert world.answers.last_codes == {}


def test_out_of_range() -> None:
    data = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    world = World()
    world.state.preferred_read_replica = 2
    assert world.answer(data) == AnswerSummary([], False, [], 0, False), "the leader is asked"
    assert world.state.has_valid_position
    assert world.answer(data, offset=7).back_off == [P], "fetched ahead: what waits comes first"
    assert world.state.has_valid_position
    assert world.answer(data).errors == []
    assert world.state.fetch_state is FetchState.AWAIT_RESET
    world = World(NONE)
    summary = world.answer(data)
    assert [type(error) for error in summary.errors] == [PositionOutOfRangeError]
    assert summary.back_off == [P]


def test_errors_for_the_user() -> None:
    world = World()
    summary = world.answer(PartitionData(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert [type(error) for error in summary.errors] == [TopicAuthorizationError]
    cut = PartitionData(records=written(Step(0, 3))[:70])
    assert [type(error) for error in world.answer(cut).errors] == [RecordTooLargeError]
    garbage = PartitionData(records=bytes(100))
    assert [type(error) for error in world.answer(garbage).errors] == [CorruptFetchError]


def test_a_preferred_replica_is_noted() -> None:
    world = World()
    world.answer(PartitionData(preferred_read_replica=3))
    assert (world.state.preferred_read_replica, world.state.preferred_until_ms) == (3, 1050)
