from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.source.task_planner import DEFAULT_MAX_RECORDS, PlanSettings, plan_tasks, size_of

MINE = PlanSettings()


@st.composite
def range_lists(draw: st.DrawFn) -> list[OffsetRange]:
    sizes = draw(st.lists(st.integers(-2, 400) | st.integers(0, 10_000_000), max_size=12))
    starts = draw(st.lists(st.integers(0, 10**12), min_size=len(sizes), max_size=len(sizes)))
    return [
        OffsetRange(f"t{index % 2}", index, start, start + size)
        for index, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]


settings = st.builds(
    PlanSettings,
    min_tasks=st.integers(1, 40),
    max_records=st.none() | st.integers(1, 500).map(lambda n: n * 20_000),
    min_records=st.integers(1, 1_000_000),
)


@given(range_lists(), settings)
def test_every_offset_is_read_once_and_bounds_are_kept(ranges: list[OffsetRange], settings: PlanSettings) -> None:
    tasks = plan_tasks(ranges, settings)
    pieces: dict[tuple[str, int], list[OffsetRange]] = {}
    for task in tasks:
        assert task, "no task is empty"
        for piece in task:
            assert size_of(piece) > 0
            pieces.setdefault((piece.topic, piece.partition), []).append(piece)
    for each in ranges:
        of_partition = sorted(pieces.pop((each.topic, each.partition), []))
        if size_of(each) <= 0:
            assert not of_partition
            continue
        assert of_partition[0].start_offset == each.start_offset
        assert of_partition[-1].end_offset == each.end_offset
        assert all(before.end_offset == after.start_offset for before, after in pairwise(of_partition))
    assert not pieces
    most = settings.max_records or DEFAULT_MAX_RECORDS
    assert all(sum(map(size_of, task)) <= most for task in tasks)


@given(range_lists(), settings)
def test_a_plan_is_always_the_same(ranges: list[OffsetRange], settings: PlanSettings) -> None:
    assert plan_tasks(ranges, settings) == plan_tasks(list(reversed(ranges)), settings)


@given(range_lists(), st.integers(1, 30))
def test_there_are_about_as_many_tasks_as_the_user_wants_at_least(ranges: list[OffsetRange], wanted: int) -> None:
    tasks = plan_tasks(ranges, PlanSettings(min_tasks=wanted))
    offsets = sum(max(size_of(each), 0) for each in ranges)
    # Rounding of the shares may cost each range half a task, as in the stock connector.
    assert len(tasks) >= min(wanted, offsets) - len(ranges) / 2 - 1


def test_a_small_batch_is_one_task() -> None:
    ranges = [OffsetRange("t", index, 0, 1000) for index in range(8)]
    assert plan_tasks(ranges, MINE) == [tuple(ranges)]


def test_tasks_grow_in_number_with_the_batch_up_to_one_a_partition() -> None:
    def tasks_of(records: int) -> int:
        return len(plan_tasks([OffsetRange("t", index, 0, records) for index in range(8)], MINE))

    assert [tasks_of(n) for n in (1, 8_192, 8_193, 20_000, 65_536, 1_000_000)] == [1, 1, 2, 3, 8, 8]


def test_a_large_range_is_divided_within_its_partition() -> None:
    (first, *_, last) = tasks = plan_tasks([OffsetRange("t", 0, 100, 5_000_100)], MINE)
    assert len(tasks) == 3
    assert first == (OffsetRange("t", 0, 100, 1_666_766),)
    assert last[0].end_offset == 5_000_100


def test_min_partitions_divides_in_proportion_and_leaves_small_ranges_whole() -> None:
    # What KafkaOffsetRangeCalculator makes of the same: 1 + 3 pieces.
    tasks = plan_tasks([OffsetRange("t", 0, 0, 10), OffsetRange("t", 1, 0, 3000)], PlanSettings(min_tasks=4))
    assert tasks == [
        (OffsetRange("t", 0, 0, 10),),
        (OffsetRange("t", 1, 0, 1000),),
        (OffsetRange("t", 1, 1000, 2000),),
        (OffsetRange("t", 1, 2000, 3000),),
    ]


def test_a_task_that_has_no_room_for_a_range_gets_another_beside_it() -> None:
    ranges = [OffsetRange("t", index, 0, 60) for index in range(3)]
    assert plan_tasks(ranges, PlanSettings(max_records=100)) == [(each,) for each in ranges]
    assert plan_tasks(ranges, PlanSettings(max_records=120)) == [(ranges[0], ranges[2]), (ranges[1],)]


def test_one_record_a_task_can_be_had_as_the_stock_connector_has_one_range() -> None:
    ranges = [OffsetRange("t", index, 0, 5) for index in range(3)]
    assert plan_tasks(ranges, PlanSettings(min_records=1)) == [(each,) for each in ranges]


def test_nothing_to_read_is_no_task() -> None:
    assert plan_tasks([], MINE) == []
    assert plan_tasks([OffsetRange("t", 0, 7, 7), OffsetRange("t", 1, 7, 3)], PlanSettings(min_tasks=5)) == []
