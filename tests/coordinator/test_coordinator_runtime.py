"""The runtime of coordinators: nothing is answered before it is committed, nothing is left of what failed."""

from functools import partial
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.shard_context import TIMER_RETRY_BACKOFF_MS, CoordinatorState, TransactionalAppend
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.protocol.message import STRING, Message, field
from ottla.records.batch import RecordBatch
from ottla.runtime.completion import Completion
from tests.coordinator.coordinator_world import PARTITION, EntryKey, TableShard, World, entry, run


def code(completion: Completion[Any]) -> ErrorCode:
    assert completion.error is not None
    return ErrorCode(completion.error.code)


def test_a_write_is_in_the_log_and_in_the_shard() -> None:
    world = World()
    world.load()
    assert world.put("a", "1").result() is None
    assert world.put("a", "2").result() == "1"
    assert world.get("a").result() == "2"
    assert [RecordBatch(batch).base_sequence for batch in world.partition.batches] == [0, 0]


def test_answers_wait_for_the_high_watermark_in_order() -> None:
    world = World(autocommit=False)
    world.load()
    first, read, second = world.put("a", "1"), world.get("a"), world.put("a", "2")
    nothing = world.runtime.write(PARTITION, lambda _shard, _now_ms: NOTHING)
    assert [one.is_done for one in (first, read, second, nothing)] == [False] * 4
    world.partition.commit(1)
    assert first.result() is None
    assert read.result() == "1"
    assert not second.is_done
    assert not nothing.is_done
    world.partition.commit(2)
    assert second.result() == "1"
    assert nothing.is_done


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_failed_append_leaves_no_trace(refused: ErrorCode, told: ErrorCode) -> None:
    world = World()
    shard = world.load()
    fates: list[KafkaError | None] = []
    world.partition.refusal = ApiError(refused, "no")
    failed = world.runtime.write(
        PARTITION, lambda _shard, _now_ms: CoordinatorResult([entry("a", "1")], "x", on_committed=fates.append)
    )
    assert code(failed) is told
    assert [fate.code for fate in fates if fate is not None] == [told]
    assert shard.entries == {}
    world.partition.refusal = None
    assert world.put("a", "2").result() is None


def test_an_operation_that_refuses_writes_nothing() -> None:
    world = World()
    world.load()

    def refuse(_shard: TableShard, _now_ms: int) -> CoordinatorResult[None]:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    assert code(world.runtime.write(PARTITION, refuse)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.partition.batches == []


def test_an_append_that_times_out_is_answered_so_and_stays_in_the_log() -> None:
    world = World(autocommit=False)
    world.load()
    late, read = world.put("a", "1"), world.get("a")
    world.partition.give_up(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    assert code(late) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code(read) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    later = world.get("a")
    assert not later.is_done, "it is in the log, and may yet be lost with its leader"
    world.partition.commit(1)
    assert later.result() == "1"
    assert world.get("a").result() == "1"


def test_records_that_follow_the_operations_own_state_are_not_replayed() -> None:
    world = World()
    shard = world.load()
    world.runtime.write(PARTITION, lambda _shard, _now_ms: CoordinatorResult([entry("a", "1")], None, replay=False))
    assert shard.entries == {}
    world.runtime.unload(PARTITION)
    assert world.load(2).entries == {"a": "1"}


def test_records_that_need_not_stay_together_fill_as_many_batches_as_it_takes() -> None:
    world = World()
    shard = world.load()
    world.partition.max_bytes = 600
    records = [entry(f"name-{index}", "x" * 50) for index in range(20)]
    together = world.runtime.write(PARTITION, lambda _shard, _now_ms: CoordinatorResult(records, None))
    assert code(together) is ErrorCode.UNKNOWN_SERVER_ERROR
    apart = world.runtime.write(PARTITION, lambda _shard, _now_ms: CoordinatorResult(records, "ok", is_atomic=False))
    assert apart.result() == "ok"
    assert len(world.partition.batches) > 2
    assert shard.offsets == list(range(20))


def test_requests_while_loading_and_where_nothing_is_hosted() -> None:
    world = World()
    assert code(world.put("a", "1")) is ErrorCode.NOT_COORDINATOR
    assert code(world.get("a")) is ErrorCode.NOT_COORDINATOR
    world.runtime.load(PARTITION, 1)
    assert code(world.put("a", "1")) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert code(world.get("a")) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    marker = partial(world.runtime.complete_transaction, PARTITION, 5, 0, 1, committed=True, transaction_version=2)
    assert code(marker()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    run(world.runtime.load_next())
    assert world.put("a", "1").result() is None


def test_unloading_answers_everything_that_waits() -> None:
    world = World(autocommit=False)
    shard = world.load()
    fates: list[KafkaError | None] = []
    waiting: list[Completion[Any]] = [
        world.put("a", "1"),
        world.get("a"),
        world.runtime.write(
            PARTITION, lambda _shard, _now_ms: CoordinatorResult([entry("b", "1")], None, on_committed=fates.append)
        ),
    ]
    shard.timers.schedule("late", 10, lambda _now_ms: pytest.fail("a timer of an unloaded shard"))
    world.runtime.unload(PARTITION, 2)
    assert [code(one) for one in waiting] == [ErrorCode.NOT_COORDINATOR] * 3
    assert len(fates) == 1
    assert shard.is_unloaded
    world.partition.commit(5)  # what comes too late changes nothing
    assert world.runtime.tick(world.time_ms + 100) is None


def test_only_a_later_epoch_loads_again_and_only_a_later_one_unloads() -> None:
    world = World()
    first = world.load(5)
    world.runtime.load(PARTITION, 4)
    world.runtime.load(PARTITION, 5)
    assert not world.runtime.is_loading
    world.runtime.unload(PARTITION, 5)
    assert world.shard is first
    second = world.load(6)
    assert second is not first
    assert first.is_unloaded
    assert second.leader_epoch == 6
    world.runtime.unload(PARTITION)
    assert world.runtime.states == {}


# -- loading -----------------------------------------------------------------------------------------------------------


def test_loading_replays_tombstones_transactions_and_offsets() -> None:
    world = World()
    world.load()
    world.put("a", "1")
    world.put("b", "1")
    world.put("a", None)
    for producer_id, committed in ((7, True), (8, False)):
        world.runtime.write(
            PARTITION,
            lambda shard, now_ms, name=f"t{producer_id}": shard.put(name, "x", now_ms),  # type: ignore[misc]
            TransactionalAppend(producer_id, 0),
        )
        world.runtime.complete_transaction(PARTITION, producer_id, 0, 1, committed=committed, transaction_version=2)
    world.runtime.write(PARTITION, lambda shard, now_ms: shard.put("open", "x", now_ms), TransactionalAppend(9, 0))
    live = world.shard
    loaded = world.load(2)
    assert loaded.entries == live.entries == {"b": "1", "t7": "x"}
    assert loaded.pending == live.pending == {9: {"open": "x"}}
    assert loaded.offsets == live.offsets
    assert loaded.is_loaded


def test_loading_gives_others_their_turn_and_reads_in_pieces() -> None:
    world = World(buffer_bytes=4_000)
    world.load()
    for index in range(100):
        world.put(f"name-{index}", "x" * 40)
    refused: list[ErrorCode] = []
    world.on_pause = lambda: refused.append(code(world.put("meanwhile", "x")))
    assert len(world.load(2).entries) == 100
    assert world.pauses > 3  # every look at the clock of this world takes 100 us
    assert world.partition.reads > 2
    assert set(refused) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


def test_unloading_ends_a_load() -> None:
    world = World()
    world.load()
    for index in range(200):
        world.put(f"name-{index}", "x")
    world.on_pause = lambda: world.runtime.unload(PARTITION)
    world.runtime.load(PARTITION, 2)
    run(world.runtime.load_next())
    assert world.pauses == 1
    assert world.runtime.states == {}
    assert world.metrics.partitions == {"loading": 0, "active": 0, "failed": 0}


class _OtherKey(Message, api_key=99, versions="0", flexible="none"):
    name: str = field(STRING, "0", default="")


def test_records_of_unknown_types_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.load()
    other = CoordinatorRecord(_OtherKey(name="future"), None)
    world.runtime.write(PARTITION, lambda _shard, _now_ms: CoordinatorResult([other], None, replay=False))
    world.put("a", "1")
    assert world.load(2).entries == {"a": "1"}
    assert "Unknown record type 99" in caplog.text


def test_a_partition_that_cannot_be_read_fails_alone_until_the_next_epoch(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.load()
    broken = CoordinatorRecord(EntryKey(name="a"), EntryKey(name="a value that is a key"), 0)
    world.runtime.write(PARTITION, lambda _shard, _now_ms: CoordinatorResult([broken], None, replay=False))
    value = world.partition.batches[-1]
    world.partition.batches[-1] = value.replace(b"a value that is a key", b"a value that is a k\xff\xff")
    world.runtime.load(PARTITION, 2)
    run(world.runtime.load_next())
    assert world.runtime.states == {PARTITION: CoordinatorState.FAILED}
    assert code(world.put("a", "1")) is ErrorCode.NOT_COORDINATOR
    assert "Failed to load" in caplog.text
    assert world.metrics.partitions["failed"] == 1
    world.partition.batches.clear()
    world.load(3)
    assert world.put("a", "1").result() is None


def test_what_was_loaded_beyond_the_high_watermark_is_not_shown_before_it_is_committed() -> None:
    world = World(autocommit=False)
    world.load()
    world.put("a", "1")
    world.runtime.unload(PARTITION)
    world.partition.waiting.clear()
    world.runtime.load(PARTITION, 2)
    run(world.runtime.load_next())
    read = world.get("a")
    assert not read.is_done
    world.partition.commit(1)
    assert read.result() == "1"


# -- timers and metadata -----------------------------------------------------------------------------------------------


def test_a_timer_writes_when_it_is_due() -> None:
    world = World()
    shard = world.load()
    shard.timers.schedule("t", 100, lambda now_ms: CoordinatorResult([entry("t", str(now_ms))], None))
    assert world.deadlines == [world.time_ms + 100]
    assert world.runtime.tick(world.time_ms + 99) == world.time_ms + 100
    world.time_ms += 100
    assert world.runtime.tick(world.time_ms) is None
    assert world.get("t").result() == str(world.time_ms)


def test_a_timer_that_cannot_write_is_tried_again() -> None:
    world = World()
    shard = world.load()
    shard.timers.schedule("t", 0, lambda _now_ms: CoordinatorResult([entry("t", "x")], None))
    world.partition.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert world.runtime.tick(world.time_ms) == world.time_ms + TIMER_RETRY_BACKOFF_MS
    assert shard.entries == {}
    world.partition.refusal = None
    world.time_ms += TIMER_RETRY_BACKOFF_MS
    world.runtime.tick(world.time_ms)
    assert shard.entries == {"t": "x"}


def test_a_timer_that_breaks_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    shard = world.load()

    def broken(_now_ms: int) -> CoordinatorResult[None]:
        raise ZeroDivisionError

    shard.timers.schedule("a", 0, broken)
    shard.timers.schedule("b", 0, lambda _now_ms: CoordinatorResult([entry("b", "x")], None))
    world.runtime.tick(world.time_ms)
    assert shard.entries == {"b": "x"}
    assert "The timer a of" in caplog.text


@pytest.mark.parametrize("step_ms", [5 * 3_600_000, -5 * 3_600_000])
def test_a_wall_clock_that_is_set_moves_no_deadline(step_ms: int) -> None:
    world = World()
    shard = world.load()
    shard.timers.schedule("t", 100, lambda _now_ms: CoordinatorResult([entry("t", "x")], None))
    world.wall_ahead_ms = step_ms
    shard.timers.schedule("u", 200, lambda now_ms: CoordinatorResult([entry("u", str(now_ms))], None))
    assert world.runtime.tick(world.time_ms + 99) == world.time_ms + 100
    assert shard.entries == {}
    world.runtime.tick(world.time_ms + 100)
    assert shard.entries == {"t": "x"}
    world.time_ms += 200
    world.runtime.tick(world.time_ms)
    assert shard.entries["u"] == str(world.time_ms + step_ms), "operations are told the wall clock's time"


def test_metadata_reaches_active_shards_now_and_others_when_they_are_loaded() -> None:
    world = World()
    shard = world.load()
    image = MetadataImage()
    world.runtime.on_metadata(MetadataDelta(image), image)
    assert shard.images[-1] is image
    assert world.load(2).images == [image]


def test_all_shards_are_asked_and_those_that_load_refuse() -> None:
    world = World()
    world.load()
    assert [one.result() for one in world.runtime.read_all(lambda shard, _now_ms: shard.leader_epoch)] == [1]
    assert [one.result() for one in world.runtime.write_all(lambda shard, now_ms: shard.put("a", "1", now_ms))] == [
        None
    ]
    world.runtime.load(PARTITION, 2)
    assert [code(one) for one in world.runtime.read_all(lambda shard, _now_ms: 0)] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ]


def test_the_metrics_move() -> None:
    world = World(autocommit=False)
    world.load()
    metrics = world.metrics
    assert metrics.partitions == {"loading": 0, "active": 1, "failed": 0}
    assert metrics.partition_load.count == 1
    world.put("a", "1")
    assert metrics.event_processing.count == 1
    assert metrics.flush.count == 1
    assert metrics.event_purgatory.count == 0
    world.partition.commit(1)
    assert metrics.event_purgatory.count == 1
    world.runtime.close()
    assert metrics.partitions == {"loading": 0, "active": 0, "failed": 0}
