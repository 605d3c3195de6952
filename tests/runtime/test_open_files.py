"""The budget of descriptors: who may still have one, and what is said to the others."""

import os
import resource

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, ResourceShortageError
from ottla.runtime import open_files
from ottla.runtime.inline import ManualClock
from ottla.runtime.open_files import PROMISE_MS, SAMPLE_MS, OpenFiles, open_files_in_use, open_files_limit


class Process:
    """What the system would tell."""

    def __init__(self, limit: int, in_use: int) -> None:
        self.limit, self.in_use, self.looks = limit, in_use, 0
        self.clock = ManualClock()
        self.budget = OpenFiles(self.clock, lambda: self.limit, self._look)

    def _look(self) -> int:
        self.looks += 1
        return self.in_use


@pytest.mark.parametrize(("limit", "reserve"), [(64, 16), (400, 40), (1_000, 100), (20_000, 256)])
def test_connections_leave_the_reserve_to_files(limit: int, reserve: int) -> None:
    process = Process(limit, limit - reserve - 1)
    assert process.budget.may_connect()
    process.in_use += 1
    assert not process.budget.may_connect()
    assert process.budget.may_connect(is_internal=True), "a controller's connection goes before a client's"
    process.in_use = limit - reserve // 2
    assert not process.budget.may_connect(is_internal=True)
    process.in_use = 0
    process.clock.advance_ms(SAMPLE_MS)
    assert process.budget.may_connect()


def test_it_looks_seldom_while_there_is_plenty_and_at_each_step_near_the_end() -> None:
    process = Process(20_000, 100)
    for _ in range(1_000):
        assert process.budget.may_connect()
        process.budget.connected()
    assert process.looks == 1
    process.clock.advance_ms(SAMPLE_MS)
    process.in_use = 20_000 - 256 - 3
    accepted = 0
    while process.budget.may_connect():
        process.budget.connected()
        process.in_use += 1
        accepted += 1
    assert accepted == 3


def test_partitions_leave_twice_the_reserve() -> None:
    process = Process(1_000, 600)
    process.budget.require_room(200)
    with pytest.raises(
        ApiError, match=r"201 more partitions.*600 of 1000 open files are in use, and 200 are"
    ) as refused:
        process.budget.require_room(201)
    assert refused.value.code == ErrorCode.POLICY_VIOLATION
    assert "ulimit -n" in str(refused.value)


def test_what_was_promised_counts_until_it_is_open_or_forgotten() -> None:
    process = Process(1_000, 600)
    budget = process.budget
    budget.require_room(150)
    budget.promise(150)
    with pytest.raises(ApiError, match="150 are promised to others"):
        budget.require_room(51)
    for _ in range(150):
        process.in_use += 1
        budget.opened_partition()
    with pytest.raises(ApiError, match="750 of 1000 open files are in use, and"):
        budget.require_room(51)
    budget.require_room(50)
    budget.promise(50)
    process.clock.advance_ms(PROMISE_MS)
    budget.require_room(50)


def test_a_start_needs_a_file_for_each_segment_and_some_to_work_with() -> None:
    process = Process(1_000, 20)
    process.budget.require_for_start(900)
    with pytest.raises(ResourceShortageError, match=r"about 1185 .*, 965 of them for segments, but the limit is 1000"):
        process.budget.require_for_start(965)


def test_it_knows_this_process() -> None:
    before = open_files_in_use()
    if not before:
        pytest.skip("the system does not tell")
    descriptors = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]
    assert open_files_in_use() == before + 5
    for descriptor in descriptors:
        os.close(descriptor)
    assert open_files_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_it_counts_where_the_system_does_not_tell_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older Linux, and macOS; without either directory nothing is known, and nothing is refused."""
    if not os.path.isdir("/dev/fd"):
        pytest.skip("the system does not tell")
    known = open_files_in_use()
    monkeypatch.setattr(open_files, "_PROC", "/nowhere")
    assert abs(open_files_in_use() - known) <= 1, "the listing itself has one open"
    monkeypatch.setattr(open_files, "_DEV", "/nowhere")
    assert open_files_in_use() == 0
