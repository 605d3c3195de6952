"""The transaction coordinator beside init and end: partitions, timeouts, expiry, markers, loads and lists."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.metrics.instruments import Gauge
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.runtime.completion import Completion
from ottla.transaction.housekeeping import COMPLETION_RETRY_BACKOFF_MS, RESUMED_MAX, TOMBSTONES_MAX
from ottla.transaction.metadata import NO_PARTITIONS, ProducerIdAndEpoch, TransactionMetadata
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.test_init_producer_id_rules import LAST, world_at
from tests.transaction.transaction_world import ID, PARTITION, TIMEOUT_MS, A, B, C, TransactionWorld

S = TransactionState
ME = ProducerIdAndEpoch(7, 3)
ABORT_INTERVAL_MS = TransactionConfig().transaction_abort_timed_out_transaction_cleanup_interval_ms
EXPIRATION_MS = TransactionConfig().transactional_id_expiration_ms
EXPIRATION_INTERVAL_MS = TransactionConfig().transaction_remove_expired_transaction_cleanup_interval_ms


def refused(completion: Completion[None]) -> ErrorCode:
    return ErrorCode.NONE if completion.error is None else ErrorCode(completion.error.code)


# -- partitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_the_first_partition_begins_a_transaction(state: TransactionState) -> None:
    world = world_at(3, state)
    world.advance(9)
    assert refused(world.add(ME, A)) is ErrorCode.NONE
    begun = world.state()
    assert (begun.state, list(begun.topic_partitions), begun.txn_start_timestamp_ms) == (S.ONGOING, [A], world.time_ms)
    world.advance(9)
    world.add(ME, C, B).result()
    assert list(world.state().topic_partitions) == [A, C, B]
    assert world.state().txn_start_timestamp_ms == begun.txn_start_timestamp_ms
    assert world.state().txn_last_update_timestamp_ms == world.time_ms


def test_partitions_that_take_part_already_write_nothing() -> None:
    world = world_at(3, S.ONGOING)
    world.add(ME, A, B).result()
    written = world.log.end_offset
    world.add(ME, B, A).result()
    assert world.log.end_offset == written


@pytest.mark.parametrize("version", [0, 2])
def test_who_may_not_add_partitions(version: int) -> None:
    world = world_at(3, S.ONGOING)
    assert refused(world.add(ProducerIdAndEpoch(8, 3), B, version=version)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for epoch in (2, 4):
        assert refused(world.add(ProducerIdAndEpoch(7, epoch), B, version=version)) is ErrorCode.PRODUCER_FENCED
    assert refused(world.add(ME, transactional_id="?", version=version)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert refused(world.add(ME, transactional_id="", version=version)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_nobody_adds_partitions_while_markers_are_written(state: TransactionState) -> None:
    world = world_at(3, state)
    for producer in (ME, ProducerIdAndEpoch(7, 4), ProducerIdAndEpoch(99, 0)):
        assert refused(world.add(producer, B)) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_which_partitions_are_verified() -> None:
    world = world_at(3, S.ONGOING)
    assert world.verify(ME, A, B) == {A: ErrorCode.NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    assert world.verify(ProducerIdAndEpoch(8, 3), A) == {A: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert world.verify(ProducerIdAndEpoch(7, 2), A, B) == {A: ErrorCode.PRODUCER_FENCED, B: ErrorCode.PRODUCER_FENCED}
    assert world.verify(ME, A, transactional_id="?") == {A: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert world.verify(ME, A, transactional_id="") == {A: ErrorCode.INVALID_REQUEST}
    assert world.records()[1:] == []
    world.end(ME, committed=True).result()
    assert world.verify(ProducerIdAndEpoch(7, 4), A) == {A: ErrorCode.CONCURRENT_TRANSACTIONS}
    world.markers.write()
    assert world.verify(ProducerIdAndEpoch(7, 4), A) == {A: ErrorCode.TRANSACTION_ABORTABLE}


def test_the_offsets_of_a_group_are_a_partition_like_others() -> None:
    world = world_at(3)
    assert world.add_offsets(ME, "four").result().error_code == ErrorCode.NONE
    assert list(world.state().topic_partitions) == [TopicPartition("__consumer_offsets", 4)]
    assert world.state().client_transaction_version is TransactionVersion.TV_0
    fenced = ProducerIdAndEpoch(7, 2)
    assert world.add_offsets(fenced, "four").result().error_code == ErrorCode.PRODUCER_FENCED
    assert world.add_offsets(fenced, "four", api_version=1).result().error_code == ErrorCode.INVALID_PRODUCER_EPOCH


# -- timeouts ---------------------------------------------------------------------------------------------------------


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    world = world_at(3, S.ONGOING)
    world.advance(TIMEOUT_MS)
    assert world.state().state is S.ONGOING
    world.advance(ABORT_INTERVAL_MS)
    aborted = world.state()
    assert (aborted.state, aborted.producer) == (S.PREPARE_ABORT, (7, 4))
    assert refused(world.add(ME, B)) is ErrorCode.CONCURRENT_TRANSACTIONS
    world.markers.write()
    assert world.state().state is S.COMPLETE_ABORT
    assert refused(world.add(ME, B)) is ErrorCode.PRODUCER_FENCED


def test_a_timeout_at_the_last_epoch_rotates_the_producer_id() -> None:
    world = world_at(LAST, S.ONGOING)
    world.no_producer_ids = ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    world.advance(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert world.state().state is S.ONGOING
    world.no_producer_ids = None
    world.advance(ABORT_INTERVAL_MS)
    world.markers.write()
    assert world.state().producer == (1000, 0)


def test_an_abort_that_could_not_be_written_is_tried_again() -> None:
    world = world_at(3, S.ONGOING)
    world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.advance(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert world.state().producer == ME
    world.log.refusal = None
    world.advance(ABORT_INTERVAL_MS)
    assert world.state().producer == (7, 4)
    assert len(world.markers.sent) == 1


def test_after_the_end_nothing_times_out() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True).result()
    world.markers.write()
    world.advance(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert world.state().state is S.COMPLETE_COMMIT


# -- expiry -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_a_transactional_id_that_nobody_uses_is_forgotten(state: TransactionState) -> None:
    world = world_at(3, state)
    world.advance(EXPIRATION_MS - 1)
    world.advance(1)
    assert world.shard.get(ID) is not None
    world.advance(EXPIRATION_INTERVAL_MS)
    assert world.shard.get(ID) is None
    assert world.records()[-1] == (ID, None)
    assert refused(world.add(ME)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.crash().get(ID) is None
    assert world.producer() == (1000, 0)


def test_transactions_under_way_do_not_expire() -> None:
    config = TransactionConfig(transactional_id_expiration_ms=1)
    world = TransactionWorld(config=config)
    for name in ("a", "b", "c"):
        state = TransactionMetadata(
            name, 7, 7, -1, 3, -1, TIMEOUT_MS, S.ONGOING, {A: None}, 0, 0, TransactionVersion.TV_2
        )
        if name == "b":
            state = state._replace(state=S.COMPLETE_COMMIT, topic_partitions=NO_PARTITIONS)
        world.write_state(state._replace(txn_timeout_ms=2**31 - 1))
    world.load()
    world.advance(EXPIRATION_INTERVAL_MS)
    assert [one.transactional_id for one in world.shard] == ["a", "c"]


def test_expiry_forgets_many_in_several_turns() -> None:
    world = TransactionWorld()
    world.load()
    for index in range(TOMBSTONES_MAX + 3):
        world.producer(transactional_id=str(index))
    world.advance(EXPIRATION_MS + EXPIRATION_INTERVAL_MS)
    assert len(list(world.shard)) == 3
    world.advance(1)
    assert list(world.shard) == []


def test_an_expiry_that_could_not_be_written_leaves_everything_as_it_was() -> None:
    world = world_at(3)
    world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.advance(EXPIRATION_MS + EXPIRATION_INTERVAL_MS)
    assert world.state().producer == ME
    world.log.refusal = None
    world.advance(EXPIRATION_INTERVAL_MS)
    assert world.shard.get(ID) is None


# -- markers ----------------------------------------------------------------------------------------------------------


def test_markers_go_out_when_the_outcome_is_committed_and_not_before() -> None:
    world = TransactionWorld(autocommit=False)
    world.load()
    init = world.init()
    world.commit()
    producer = ProducerIdAndEpoch(init.result().producer_id, 0)
    world.add(producer)
    end = world.end(producer, committed=True)
    assert not end.is_done
    assert world.markers.sent == []
    world.commit()
    assert end.result().error_code == ErrorCode.NONE
    assert len(world.markers.pending) == 1


def test_a_prepared_transaction_is_gone_on_with_after_a_load() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True).result()
    (first,) = world.markers.sent
    world.crash()
    assert world.markers.sent[1] == first._replace(coordinator_epoch=world.leader_epoch)
    assert len(world.markers.pending) == 1
    world.markers.write()
    assert world.state().state is S.COMPLETE_COMMIT


def test_many_prepared_transactions_are_gone_on_with_in_several_turns() -> None:
    world = TransactionWorld()
    for index in range(RESUMED_MAX + 1):
        world.write_state(
            TransactionMetadata(
                str(index), index, index, -1, 3, -1, 1, S.PREPARE_ABORT, {A: None}, 0, 0, TransactionVersion.TV_2
            )
        )
    world.load()
    assert len(world.markers.sent) == RESUMED_MAX
    world.advance(1)
    assert len(world.markers.sent) == RESUMED_MAX + 1


def test_markers_of_an_earlier_coordinator_complete_nothing() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True).result()
    ((_, done),) = world.markers.pending
    world.crash()
    done(None)
    assert world.state().state is S.PREPARE_COMMIT


def test_a_completion_that_cannot_be_written_is_tried_again() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True).result()
    gauge = world.registry.get("kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize")
    assert isinstance(gauge, Gauge)
    assert gauge.read() == 0
    world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.markers.write()
    assert gauge.read() == 1
    world.advance(COMPLETION_RETRY_BACKOFF_MS)
    assert gauge.read() == 1
    assert world.state().state is S.PREPARE_COMMIT
    world.log.refusal = None
    world.advance(COMPLETION_RETRY_BACKOFF_MS)
    assert gauge.read() == 0
    assert world.state().state is S.COMPLETE_COMMIT
    assert len(world.markers.sent) == 1


def test_a_coordinator_that_moves_has_no_completions_left_to_try() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True).result()
    world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.markers.write()
    world.runtime.unload(PARTITION)
    gauge = world.registry.get("kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize")
    assert isinstance(gauge, Gauge)
    assert gauge.read() == 0


@pytest.mark.parametrize("hours", [0, 5, -5])
def test_an_outcome_that_nobody_knew_was_committed_is_found_later(hours: int) -> None:
    """Also when the wall clock has been set, by which the transaction was prepared long ago or in the future."""
    world = TransactionWorld(autocommit=False)
    world.load()
    init = world.init()
    world.commit()
    producer = ProducerIdAndEpoch(init.result().producer_id, 0)
    world.add(producer)
    world.commit()
    end = world.end(producer, committed=True)
    world.log.give_up(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    assert end.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.commit()
    assert world.end(producer, committed=True).result().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    world.wall_ahead_ms = hours * 3_600_000
    world.advance(ABORT_INTERVAL_MS)
    assert len(world.markers.sent) == 1
    world.advance(ABORT_INTERVAL_MS)
    assert len(world.markers.sent) == 1, "they are on their way"
    world.markers.write()
    world.commit()
    assert world.end(producer, committed=True).result().error_code == ErrorCode.NONE


def test_markers_are_not_sent_again_when_the_transaction_is_complete_meanwhile() -> None:
    """Before transactions v2 they would end the producer's next transaction, which has the same epoch."""
    world = TransactionWorld(autocommit=False)
    world.load()
    init = world.init()
    world.commit()
    producer = ProducerIdAndEpoch(init.result().producer_id, 0)
    world.add(producer, version=0)
    world.end(producer, committed=True, api_version=4)
    world.commit()
    world.init(transactional_id="another")  # what the look waits for
    world.advance(ABORT_INTERVAL_MS)
    world.markers.write()
    world.commit()
    assert world.state().state is S.COMPLETE_COMMIT
    assert len(world.markers.sent) == 1


def test_markers_are_not_sent_again_while_only_the_completion_is_to_be_written() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=True, api_version=4).result()
    world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.markers.write()
    world.advance(ABORT_INTERVAL_MS)
    world.advance(ABORT_INTERVAL_MS)
    assert len(world.markers.sent) == 1


def test_markers_that_a_partition_refuses_for_good_leave_the_transaction_prepared() -> None:
    world = world_at(3, S.ONGOING)
    world.end(ME, committed=False).result()
    world.markers.write(error=ApiError(ErrorCode.INVALID_PRODUCER_EPOCH))
    assert world.state().state is S.PREPARE_ABORT
    world.advance(ABORT_INTERVAL_MS)
    assert len(world.markers.pending) == 1


# -- availability -----------------------------------------------------------------------------------------------------


def test_before_it_starts_and_after_it_stops_the_coordinator_is_not_available() -> None:
    world = world_at(3, S.ONGOING)
    world.coordinator.shutdown()
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.init().result().error_code == unavailable
    assert refused(world.add(ME)) is unavailable
    assert world.verify(ME, A) == {A: unavailable}
    assert world.end(ME, committed=True).result().error_code == unavailable
    assert world.coordinator.describe_transaction(ID).result().error_code == unavailable
    assert world.coordinator.list_transactions(ListTransactionsRequest()).result().error_code == unavailable
    world.advance(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert world.state().state is S.ONGOING


def test_while_it_loads_and_where_it_is_not() -> None:
    world = TransactionWorld()
    listed = world.coordinator.list_transactions(ListTransactionsRequest())
    assert listed.result().error_code == ErrorCode.NONE
    assert world.init().result().error_code == ErrorCode.NOT_COORDINATOR
    assert world.coordinator.describe_transaction(ID).result().error_code == ErrorCode.NOT_COORDINATOR
    world.runtime.load(PARTITION, 1)
    assert world.init().result().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    listed = world.coordinator.list_transactions(ListTransactionsRequest())
    assert listed.result().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_whoever_waits_for_a_commit_is_told_when_the_coordinator_moves() -> None:
    world = TransactionWorld(autocommit=False)
    world.load()
    waiting = world.init()
    world.runtime.unload(PARTITION)
    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
