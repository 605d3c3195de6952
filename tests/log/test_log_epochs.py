"""Leader epochs, truncation and the topic id of a log."""

import pytest

from ottla.common.errors import InconsistentTopicIdError, UnexpectedAppendOffsetError
from ottla.common.uuid import Uuid
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, A, Machine, append, append_transaction, batch, offsets_in
from tests.sim.crash_files import CrashPolicy


def entries(log: Log) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries]


def three_epochs(machine: Machine, config: LogConfig | None = None) -> Log:
    """Epoch 0 from 0, epoch 1 from 2, epoch 4 from 5; a segment each; eight records."""
    log = machine.load(config)
    for epoch, count in ((0, 2), (1, 3), (4, 3)):
        if log.log_end_offset:
            log.roll()
        for _ in range(count):
            append(log, epoch=epoch)
    return log


def test_a_leader_s_first_record_begins_its_epoch() -> None:
    log = three_epochs(Machine(A))
    assert entries(log) == [(0, 0), (1, 2), (4, 5)]
    assert [log.leader_epochs.end_offset_for(epoch, log.log_end_offset) for epoch in (0, 1, 3, 4, 5)] == [
        (0, 2),
        (1, 5),
        (1, 5),
        (4, 8),
        (-1, -1),
    ]


def test_a_follower_takes_epochs_from_the_batches() -> None:
    source = three_epochs(Machine(A))
    log = Machine(A).load()
    for offset in (0, 2, 5):
        log.append_as_follower(source.read(offset, 1 << 20).read(), 4)
    assert entries(log) == entries(source)


def test_a_follower_does_not_take_offsets_twice() -> None:
    log = Machine(A).load()
    log.append_as_follower(batch(2), 0)
    with pytest.raises(UnexpectedAppendOffsetError, match="First offset 1 is less than the next offset 2"):
        log.append_as_follower(batch(2, base_offset=1), 0)
    assert log.append_as_follower(b"", 0).batches == []
    assert log.append_as_follower(batch(1, base_offset=2, epoch=5), 0).batches == [], "not this leader's"
    assert log.log_end_offset == 2


def test_a_new_epoch_survives_a_crash() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log, epoch=0)
    append(log, epoch=3)
    run(log.flush())
    machine.crash()
    assert entries(machine.load(recovery_point=2)) == [(0, 0), (3, 1)]


@pytest.mark.parametrize(
    ("offset", "left"),
    [(8, [(0, 0), (1, 2), (4, 5)]), (6, [(0, 0), (1, 2), (4, 5)]), (5, [(0, 0), (1, 2)]), (2, [(0, 0)]), (0, [])],
)
def test_truncation_from_the_end(offset: int, left: list[tuple[int, int]]) -> None:
    machine = Machine(A)
    log = three_epochs(machine)
    assert log.truncate_to(offset) == (offset < 8)
    assert log.log_end_offset == offset
    assert log.high_watermark == offset
    assert entries(log) == left
    log.append_as_follower(batch(base_offset=offset, epoch=6), 6)
    assert entries(log) == [*left, (6, offset)]
    assert offsets_in(b"".join(log.read(at, 1 << 20).read() for at in range(0, offset + 1) if at in log.segments)) == [
        *range(offset + 1)
    ]
    run(log.flush())
    machine.crash(CrashPolicy.KEEP_ALL)
    log = machine.load(recovery_point=0)
    assert log.log_end_offset == offset + 1
    assert entries(log) == [*left, (6, offset)]


def test_truncation_to_the_end_forgets_an_epoch_that_wrote_nothing() -> None:
    log = three_epochs(Machine(A))
    log.assign_epoch_start_offset(7, 8)
    assert entries(log)[-1] == (7, 8)
    assert not log.truncate_to(8)
    assert entries(log)[-1] == (4, 5)
    append(log, epoch=7)
    assert entries(log)[-1] == (7, 8)


def test_truncation_from_the_start() -> None:
    log = three_epochs(Machine(A), LogConfig(retention_ms=-1))
    log.maybe_increment_log_start_offset(3, "client record deletion")
    assert entries(log) == [(1, 3), (4, 5)]
    log.maybe_increment_log_start_offset(8, "client record deletion")
    assert entries(log) == [(4, 8)]


def test_truncation_below_the_first_segment_begins_anew() -> None:
    log = three_epochs(Machine(A), LogConfig(retention_ms=-1))
    log.maybe_increment_log_start_offset(5, "client record deletion")
    log.delete_old_segments()
    assert log.truncate_to(1)
    assert (log.log_start_offset, log.log_end_offset, log.segments.base_offsets) == (1, 1, [1])
    assert entries(log) == []


@pytest.mark.parametrize(("log_start_offset", "expected"), [(None, 20), (12, 12)])
def test_truncation_of_everything(log_start_offset: int | None, expected: int) -> None:
    machine = Machine(A)
    log = three_epochs(machine)
    append_transaction(log, 7, commit=None)
    log.truncate_fully_and_start_at(20, log_start_offset)
    assert (log.log_start_offset, log.log_end_offset) == (expected, 20)
    assert entries(log) == []
    assert log.first_unstable_offset is None
    assert dict(log.producer_state.active_producers) == {}
    log.append_as_follower(batch(base_offset=20, epoch=9), 9)
    assert offsets_in(log.read(20, 1000).read()) == [20]
    log.close()
    assert machine.load(clean=True).log_end_offset == 21


def test_truncation_takes_producers_back() -> None:
    log = Machine(A).load()
    log.append_as_leader(batch(2, producer_id=7, sequence=0), 0)
    log.append_as_leader(batch(2, producer_id=7, sequence=2), 0)
    append_transaction(log, 8, commit=None)
    assert log.first_unstable_offset == 4
    log.truncate_to(2)
    assert log.first_unstable_offset is None
    assert set(log.producer_state.active_producers) == {7}
    log.append_as_leader(batch(2, producer_id=7, sequence=2), 0)
    assert log.log_end_offset == 4


def test_a_truncated_segment_indexes_what_follows() -> None:
    log = Machine(A).load(LogConfig(index_interval_bytes=1))
    for _ in range(6):
        append(log)
    log.truncate_to(3)
    for offset in range(3, 9):
        log.append_as_follower(batch(base_offset=offset), 0)
    assert [offsets_in(log.read(offset, 1).read()) for offset in range(9)] == [[offset] for offset in range(9)]


def test_a_topic_id_is_for_good() -> None:
    machine = Machine(A)
    log = machine.load()
    first, second = Uuid.random(machine.rng), Uuid.random(machine.rng)
    assert log.topic_id is None
    log.assign_topic_id(first)
    log.assign_topic_id(first)
    with pytest.raises(InconsistentTopicIdError, match=f"Tried to assign topic ID {second}"):
        log.assign_topic_id(second)
    machine.crash()
    assert machine.load().topic_id == first


COMPACTED = LogConfig.from_props(
    {"cleanup.policy": "compact", "internal.segment.bytes": 400, "min.cleanable.dirty.ratio": 0}
)


def one_key_an_epoch(machine: Machine, epochs: list[int], *, kept: int) -> Log:
    """A flushed log, one record a batch; compaction leaves the last of each epoch and the one at ``kept``."""
    log = machine.load(COMPACTED)
    for offset, epoch in enumerate(epochs):
        key = b"kept" if offset == kept else b"%d" % epoch
        log.append_as_leader(build_batch([SimpleRecord(NOW_MS, key, bytes(50))]), epoch)
    log.update_high_watermark(log.log_end_offset)
    run(log.flush())
    return log


def compact(machine: Machine, log: Log) -> None:
    cleaner = LogCleaner(machine.runtime, BrokerLogConfig(), {log.topic_partition: log}, [A])
    assert run(cleaner.clean_filthiest()) is not None


def test_recovery_believes_an_epochs_start_although_compaction_took_its_first_batches() -> None:
    """Between the last batch of one epoch and the next that is left there is a gap, and segments that begin in it."""
    machine = Machine(A)
    compact(machine, one_key_an_epoch(machine, [0] * 6 + [1] * 8 + [2], kept=1))
    machine.crash(CrashPolicy.KEEP_ALL)
    recovered = machine.load(COMPACTED)
    left = [batch for segment in recovered.segments.values() for batch in segment.read_batches()]
    assert [batch.partition_leader_epoch for batch in left] == [0, 0, 1, 1, 1, 2]
    assert entries(recovered) == [(0, 0), (1, 6), (2, 14)]


def test_recovery_below_the_start_of_the_log_moves_no_epoch() -> None:
    """The epochs end where the log starts; batches below it, still there, do not contradict those above."""
    machine = Machine(A)
    log = one_key_an_epoch(machine, [0] * 3 + [1] * 8 + [2], kept=0)
    log.maybe_increment_log_start_offset(1, "client record deletion")
    compact(machine, log)
    log.leader_epochs.flush()
    machine.crash(CrashPolicy.KEEP_ALL)
    recovered = load_log(LogContext(machine.runtime), f"{A}/topic-0", COMPACTED, log_start_offset=1)
    assert entries(recovered) == [(0, 1), (1, 3), (2, 11)]
