"""``preallocate``: the active segment's file has its full size, a sealed or closed one what it holds."""

import pytest

from ottla.config.topic import LogConfig
from ottla.runtime.inline import run
from tests.log.log_machine import A, Machine, append, batch, offsets_in
from tests.sim.crash_files import CrashPolicy

CONFIG = LogConfig(preallocate=True, segment_bytes=4096)
SIZE = len(batch())


def file_sizes(machine: Machine) -> list[int]:
    names = [name for name in machine.names(f"{A}/topic-0") if name.endswith(".log")]
    return [machine.files.size(f"{A}/topic-0/{name}") for name in names]


def test_the_active_file_is_large_and_a_sealed_one_trimmed() -> None:
    machine = Machine(A)
    log = machine.load(CONFIG)
    assert file_sizes(machine) == [4096]
    append(log)
    append(log)
    assert file_sizes(machine) == [4096]
    assert log.size_in_bytes == 2 * SIZE
    log.roll()
    append(log)
    assert file_sizes(machine) == [2 * SIZE, 4096]
    log.close()
    assert file_sizes(machine) == [2 * SIZE, SIZE]


def test_a_log_without_it_grows() -> None:
    machine = Machine(A)
    append(machine.load(LogConfig(segment_bytes=4096)))
    assert file_sizes(machine) == [SIZE]


def test_a_reader_sees_no_zeros() -> None:
    log = Machine(A).load(CONFIG)
    append(log, 3)
    assert len(log.read(0, 4096).read()) == log.size_in_bytes
    assert log.read(3, 4096).records is None


def test_it_is_full_when_the_records_fill_it() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(preallocate=True, segment_bytes=2 * SIZE))
    for _ in range(3):
        append(log)
    assert log.segments.base_offsets == [0, 2]
    assert file_sizes(machine) == [2 * SIZE, 2 * SIZE]


@pytest.mark.parametrize("records", [0, 1, 5])
@pytest.mark.parametrize("policy", [CrashPolicy.KEEP_ALL, CrashPolicy.DROP_UNSYNCED])
def test_recovery_cuts_the_zeros(records: int, policy: CrashPolicy) -> None:
    machine = Machine(A)
    log = machine.load(CONFIG)
    for _ in range(records):
        append(log)
    run(log.flush())
    machine.files.sync_all()
    machine.crash(policy)
    log = machine.load(CONFIG)
    assert log.log_end_offset == records
    assert file_sizes(machine) == [records * SIZE]
    append(log)
    assert offsets_in(log.read(0, 4096).read()) == list(range(records + 1))


def test_a_truncated_log_goes_on() -> None:
    machine = Machine(A)
    log = machine.load(CONFIG)
    for _ in range(3):
        append(log)
    log.truncate_to(1)
    log.append_as_follower(batch(base_offset=1), 0)
    assert offsets_in(log.read(0, 4096).read()) == [0, 1]
    log.truncate_fully_and_start_at(7)
    assert file_sizes(machine)[-1] == 4096
