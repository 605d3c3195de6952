"""Logs come and go: made, configured, deleted, put aside, moved between directories."""

import logging

import pytest

from ottla.common.errors import InconsistentTopicIdError, KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.checkpoints import OffsetCheckpoint
from ottla.log.housekeeping import Housekeeping
from ottla.log.manager import LogManager
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, T0, A, B, Machine, append, batch, offsets_in
from tests.sim.crash_files import CrashPolicy

DELAY_MS = 60_000


def delete_what_is_due(machine: Machine, manager: LogManager, after_ms: int = DELAY_MS) -> None:
    machine.clock.advance_ms(after_ms)
    manager.context.deletions.run_due()


def checkpoint(machine: Machine, directory: str, name: str) -> dict[TopicPartition, int]:
    return OffsetCheckpoint(machine.files, f"{directory}/{name}-checkpoint").read()


def test_a_topic_id_is_written_before_the_first_record_and_never_changes() -> None:
    machine = Machine(A)
    manager = machine.start()
    topic_id = Uuid.random(machine.rng)
    manager.get_or_create_log(T0, topic_id)
    machine.crash()
    manager = machine.start()
    assert manager.logs[T0].topic_id == topic_id
    assert manager.get_or_create_log(T0, topic_id).topic_id == topic_id
    with pytest.raises(InconsistentTopicIdError, match=f"log already contained topic ID {topic_id}"):
        manager.get_or_create_log(T0, Uuid.random(machine.rng))


def test_a_topics_configuration_reaches_its_logs_and_no_others() -> None:
    machine = Machine(A, B, log_retention_ms=1000)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    future = manager.get_or_create_log(T0, is_future=True, directory=B)
    assert log.config.retention_ms == 1000
    machine.overrides["topic"] = {"retention.ms": "5", "segment.ms": "7"}
    run(manager.update_topic_config("other"))
    assert log.config.retention_ms == 1000
    run(manager.update_topic_config("topic"))
    assert [one.config.retention_ms for one in (log, future)] == [5, 5]
    append(log, timestamp=NOW_MS)
    append(log, timestamp=NOW_MS + 8)
    assert log.segments.base_offsets == [0, 1], "the next append goes by the new configuration"
    run(manager.stop())
    assert machine.start().logs[T0].config.segment_ms == 7


def test_a_log_that_is_no_longer_compacted_is_not_cleaned_on() -> None:
    machine = Machine(A)
    machine.overrides["topic"] = {"cleanup.policy": "compact"}
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    aborted = []

    async def abort(topic_partition: TopicPartition) -> None:
        aborted.append(topic_partition)

    manager.cleaner.abort_cleaning = abort  # type: ignore[method-assign]
    run(manager.update_topic_config("topic"))
    assert not aborted
    machine.overrides["topic"] = {"cleanup.policy": "delete"}
    run(manager.update_topic_config("topic"))
    assert aborted == [T0]
    assert not log.config.compact


def test_a_deleted_log_is_renamed_at_once_and_gone_after_the_delay() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 3)
    fetched = log.read(0, 1000)
    assert run(manager.delete_log(T0)) is log
    assert run(manager.delete_log(T0)) is None
    (renamed,) = machine.names(A)
    assert renamed.startswith("topic-0.") and renamed.endswith("-delete")
    append(manager.get_or_create_log(T0), 1)
    assert offsets_in(fetched.read()) == [0, 1, 2], "a fetch that was answered before is still being sent"
    delete_what_is_due(machine, manager, DELAY_MS - 1)
    assert renamed in machine.names(A)
    delete_what_is_due(machine, manager, 1)
    assert machine.names(A) == ["topic-0"]


def test_a_deletion_that_a_stop_interrupts_goes_on_after_the_start() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    run(manager.delete_log(T0))
    run(manager.stop())
    manager = machine.start()
    assert manager.logs == {}
    delete_what_is_due(machine, manager, DELAY_MS - 1)
    assert len(machine.names(A)) == 1
    delete_what_is_due(machine, manager, 1)
    assert machine.names(A) == []


def test_a_new_log_does_not_begin_where_a_deleted_one_of_its_name_did() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 9)
    log.maybe_increment_log_start_offset(8, "client record deletion")
    run(log.flush())
    run(manager.checkpoint_recovery_points())
    run(manager.checkpoint_log_start_offsets())
    run(manager.delete_log(T0))
    log = manager.get_or_create_log(T0)
    append(log, 2)
    run(log.flush())
    machine.crash()
    log = machine.start().logs[T0]
    assert (log.log_start_offset, log.log_end_offset) == (0, 2)


def test_a_stray_log_is_put_aside_for_somebody_to_look_at(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    stray = run(manager.mark_stray(T0))
    assert stray is not None
    assert manager.logs == {}
    log = manager.get_or_create_log(T0)
    append(log, 9)
    log.maybe_increment_log_start_offset(7, "client record deletion")
    run(manager.stop())
    machine.crash(CrashPolicy.KEEP_ALL)
    machine.files.remove(f"{A}/.kafka_cleanshutdown")
    manager = machine.start()
    assert manager.logs[T0].log_start_offset == 7
    delete_what_is_due(machine, manager)
    assert len(machine.names(A)) == 2
    assert "1 stray directory," in caplog.text


def test_a_stray_log_is_whole_after_a_power_loss_and_can_be_taken_back() -> None:
    machine = Machine(A)
    manager = machine.start()
    append(manager.get_or_create_log(T0), 3)
    stray = run(manager.mark_stray(T0))
    assert stray is not None
    machine.crash()
    run(machine.start().stop())
    machine.files.rename(stray.directory, f"{A}/{T0.topic}-{T0.partition}")
    log = machine.start().logs[T0]
    assert (log.log_start_offset, log.log_end_offset) == (0, 3), "it was on the disk, though no start has recovered it"


def test_stray_logs_cost_a_start_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """They are neither renamed again nor opened, and whoever reads the line knows what to do about them."""
    machine = Machine(A)
    for _ in range(12):
        manager = machine.start()
        append(manager.get_or_create_log(T0), 1)
        run(manager.mark_stray(T0))
        run(manager.stop())
    strays = [name for name in machine.names(A) if name.endswith("-stray")]
    caplog.clear()
    manager = machine.start()
    assert [name for name in machine.names(A) if name.endswith("-stray")] == strays
    assert len(strays) == 12
    (line,) = [record.getMessage() for record in caplog.records if "stray" in record.getMessage()]
    assert line.startswith(f"{A} has 12 stray directories")
    assert line.count("-stray, ") == 10
    assert line.endswith(f"remove each {A}/*-stray whose records nobody needs.")
    assert manager.context.metrics.logs_loaded.value == 0


def test_a_future_log_takes_the_place_of_the_current_one() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    current = manager.get_or_create_log(T0, directory=A)
    append(current, 4)
    current.update_high_watermark(3)
    future = manager.get_or_create_log(T0, is_future=True, directory=B)
    assert future.directory.endswith("-future")
    future.append_as_follower(current.read(0, 1000).read(), 0)
    run(future.flush())
    run(manager.replace_current_with_future(T0))
    assert manager.logs == {T0: future}
    assert manager.future_logs == {}
    assert future.directory == f"{B}/topic-0"
    assert future.high_watermark == 3
    append(future, 1)
    delete_what_is_due(machine, manager)
    assert machine.names(A) == []
    assert checkpoint(machine, A, "recovery-point-offset") == {}
    run(manager.stop())
    manager = machine.start()
    assert manager.logs[T0].directory == f"{B}/topic-0"
    assert manager.logs[T0].log_end_offset == 5


def test_a_future_log_survives_a_restart_with_its_recovery_point(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A, B)
    manager = machine.start()
    manager.get_or_create_log(T0, directory=A)
    future = manager.get_or_create_log(T0, is_future=True, directory=B)
    for offset in (0, 1):
        future.append_as_follower(batch(base_offset=offset), 0)
        future.roll()
    run(future.flush())
    run(manager.checkpoint_recovery_points())
    assert checkpoint(machine, B, "recovery-point-offset") == {T0: 2}
    machine.crash()
    caplog.set_level(logging.INFO)
    manager = machine.start()
    assert manager.future_logs[T0].log_end_offset == 2
    assert "Recovering unflushed segment 0" not in caplog.text
    assert run(manager.delete_log(T0, is_future=True)) is not None
    assert set(manager.logs) == {T0}


def test_what_waits_for_its_deletion_follows_the_directory() -> None:
    machine = Machine(A, B)
    manager = machine.start()
    append(manager.get_or_create_log(T0, directory=A), 1)
    future = manager.get_or_create_log(T0, is_future=True, directory=B)
    for offset in (0, 1):
        future.append_as_follower(batch(base_offset=offset, producer_id=7, sequence=offset), 0)
        future.roll()
    future.update_high_watermark(2)
    future.maybe_increment_log_start_offset(2, "leader offset incremented")
    assert future.delete_old_segments() == 2
    run(manager.replace_current_with_future(T0))
    assert [name for name in machine.names(f"{B}/topic-0") if name.endswith(".deleted")]
    delete_what_is_due(machine, manager)
    assert not [name for name in machine.names(f"{B}/topic-0") if name.endswith(".deleted")]


def test_one_partition_in_two_directories_is_for_the_operator_to_solve() -> None:
    machine = Machine(A, B)
    for directory in (A, B):
        only = Machine(directory)
        only.files, only.runtime = machine.files, machine.runtime
        manager = only.start()
        append(manager.get_or_create_log(T0))
        run(manager.stop())
    with pytest.raises(KafkaStorageError, match=r"Duplicate log directories for topic-0: /data/a/topic-0 and /data/b"):
        machine.start()
    machine.files.remove_tree(f"{B}/topic-0")
    machine.start()


def test_silent_producers_are_forgotten() -> None:
    machine = Machine(A, producer_id_expiration_ms=100)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    log.append_as_leader(batch(producer_id=7, sequence=0), 0)
    machine.clock.advance_ms(99)
    manager.expire_producers()
    assert set(log.producer_state.active_producers) == {7}
    housekeeping = Housekeeping(machine.runtime, manager)
    machine.clock.advance_ms(machine.config.log_initial_task_delay_ms)
    run(housekeeping.run_due())
    assert set(log.producer_state.active_producers) == set()
