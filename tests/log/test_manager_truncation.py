"""Truncation by the log manager: a crash at any moment leaves a sound log."""

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.log.checkpoints import OffsetCheckpoint
from ottla.runtime.inline import run
from tests.log.log_machine import T0, T1, A, Machine, append, batch, offsets_in


def checkpoint(machine: Machine, directory: str, name: str) -> dict[TopicPartition, int]:
    return OffsetCheckpoint(machine.files, f"{directory}/{name}-checkpoint").read()


@pytest.mark.uncompiled
@pytest.mark.parametrize("fully", [False, True])
def test_a_truncation_lowers_the_checkpoints_before_it_begins(fully: bool) -> None:
    machine = Machine(A)
    manager = machine.start()
    other = manager.get_or_create_log(T1)
    append(other, 3)
    log = manager.get_or_create_log(T0)
    for _ in range(6):
        append(log)
    log.maybe_increment_log_start_offset(4, "client record deletion")
    run(manager.flush([log, other]))
    run(manager.checkpoint_recovery_points())
    run(manager.checkpoint_log_start_offsets())
    assert checkpoint(machine, A, "recovery-point-offset") == {T0: 6, T1: 3}
    seen = []

    def look(offset: int, _start: int | None = None) -> bool:
        names = ("recovery-point-offset", "log-start-offset")
        seen.extend([offset, *(checkpoint(machine, A, name) for name in names)])
        return True

    if fully:
        log.truncate_fully_and_start_at = look  # type: ignore[method-assign, assignment]
        run(manager.truncate_fully_and_start_at(T0, 2))
        assert seen == [2, {T0: 0, T1: 3}, {T0: 2}]
    else:
        log.truncate_to = look  # type: ignore[method-assign]
        assert run(manager.truncate_to(T0, 3))
        assert seen == [3, {T0: 3, T1: 3}, {T0: 3}]


def test_a_truncation_above_the_recovery_point_writes_nothing() -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 1)
    run(log.flush())
    append(log, 1)
    before = len(machine.files.journal)
    assert run(manager.truncate_to(T0, 1))
    assert not [operation for operation in machine.files.journal[before:] if "checkpoint" in operation.path]


@pytest.mark.parametrize("offset", [0, 2, 5])
def test_a_log_truncated_below_its_start_is_sound_after_a_crash(offset: int) -> None:
    machine = Machine(A)
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    for _ in range(6):
        append(log)
    log.maybe_increment_log_start_offset(4, "client record deletion")
    run(manager.flush([log]))
    run(manager.checkpoint_log_start_offsets())
    run(manager.truncate_fully_and_start_at(T0, offset))
    log.append_as_follower(batch(3, base_offset=offset), 0)
    run(log.flush())
    machine.crash()
    log = machine.start().logs[T0]
    assert log.log_end_offset == offset + 3
    assert offsets_in(log.read(max(offset, log.log_start_offset), 1000).read())[-1] == offset + 2
