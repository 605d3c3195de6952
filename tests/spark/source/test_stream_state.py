import pytest

from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.source.batch_ranges import clipped, ranges_between
from ottla.spark.source.offset_bound import EARLIEST, LATEST, OffsetBound, resolved
from ottla.spark.source.read_limits import HoldBack
from ottla.spark.source.stream_state import StreamState

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_query_that_begins_at_the_end_logs_that_end_first() -> None:
    state = StreamState(None, None)
    state.begin({A: 10}, {A})
    assert state.end_of_batch({A: 10}, {A: 15}, {}, 0, is_limited=False) == {A: 10}
    assert state.end_of_batch({A: 10}, {A: 15}, {}, 0, is_limited=False) == {A: 15}
    assert state.ranges({A: 10}, {A: 15}, {}).ranges == [OffsetRange("t", 0, 10, 15)]


def test_the_next_run_takes_over_an_unfinished_first_batch_and_loses_nothing() -> None:
    # Spark has logged {A: 10} for batch 0; records 10 to 14, and a partition, came while nothing ran.
    state = StreamState(None, None)
    state.begin({A: 15, B: 3}, {A, B})
    assert state.ranges({A: 15, B: 3}, {A: 10}, {}) == ([], [])
    end = state.end_of_batch({A: 10}, {A: 16, B: 4}, {B: 0}, 0, is_limited=False)
    assert end == {A: 16, B: 4}
    assert state.ranges({A: 10}, end, {B: 0}).ranges == [OffsetRange("t", 0, 10, 16), OffsetRange("t", 1, 0, 4)]


def test_a_first_batch_from_a_given_offset_is_taken_over_as_it_was() -> None:
    state = StreamState(None, None)
    state.begin({A: 5, B: 9}, {B})  # startingOffsets: A at 5, B at its end
    assert state.ranges({A: 5, B: 9}, {A: 12, B: 7}, {}) == ([OffsetRange("t", 0, 5, 12)], [])


def test_only_what_begins_at_the_end_is_left_out_of_the_first_batch() -> None:
    state = StreamState(None, None)
    state.begin({A: 5, B: 9}, {B})
    assert state.end_of_batch({A: 5, B: 9}, {A: 20, B: 20}, {}, 0, is_limited=False) == {A: 20, B: 9}


def test_offsets_that_went_back_are_a_loss_after_the_first_batch() -> None:
    state = StreamState(None, None)
    state.begin({A: 10}, {A})
    state.end_of_batch({A: 10}, {A: 10}, {}, 0, is_limited=False)
    assert state.ranges({A: 10}, {A: 3}, {}).losses == ["t-0 ends with offset 3 now, and was read up to 10"]


def test_a_run_with_a_target_holds_nothing_back() -> None:
    state = StreamState(None, HoldBack(100, 10**9))
    assert state.end_of_batch({A: 0}, {A: 10}, {}, 0, is_limited=True) == {A: 10}  # the first one goes in any case
    assert state.end_of_batch({A: 10}, {A: 20}, {}, 1, is_limited=True) == {A: 10}
    state.target = {A: 20}
    assert state.end_of_batch({A: 10}, {A: 20}, {}, 1, is_limited=True) == {A: 20}


def test_the_limit_counts_a_new_partition_from_its_beginning() -> None:
    state = StreamState(10, None)
    assert state.end_of_batch({A: 0}, {A: 10, B: 110}, {B: 100}, 0, is_limited=True) == {A: 5, B: 105}
    assert state.end_of_batch({A: 0}, {A: 10, B: 110}, {B: 100}, 0, is_limited=False) == {A: 10, B: 110}


@pytest.mark.parametrize(
    ("start", "end", "first_of_new", "loss"),
    [
        ({A: 5, B: 5}, {A: 7}, {}, "t-1 is gone"),
        ({}, {A: 7}, {}, "t-0 came and went before it was read"),
        ({}, {A: 7}, {A: 3}, "t-0 is new and begins with offset 3, not 0"),
        ({A: 7}, {A: 6}, {}, "t-0 ends with offset 6 now, and was read up to 7"),
    ],
)
def test_what_is_lost_between_two_batches(
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    first_of_new: dict[TopicPartition, int],
    loss: str,
) -> None:
    assert ranges_between(start, end, first_of_new).losses == [loss]


def test_nothing_is_lost_when_nothing_changes() -> None:
    assert ranges_between({A: 5}, {A: 5}, {}) == ([], [])


def test_a_batch_query_is_cut_to_what_is_there() -> None:
    ranges, losses = clipped({A: 0, B: 4}, {A: 10, B: 30}, {A: 5, B: 0}, {A: 20, B: 20})
    assert ranges == [OffsetRange("t", 0, 5, 10), OffsetRange("t", 1, 4, 20)]
    assert losses == [
        "t-0 begins with offset 5, and 0 is asked for",
        "t-1 ends with offset 20, and 30 is asked for",
    ]


def test_a_partition_that_goes_while_a_batch_is_planned_is_a_loss() -> None:
    assert clipped({A: 0, B: 0}, {A: 5}, {A: 0}, {A: 5}) == (
        [OffsetRange("t", 0, 0, 5)],
        ["t-1 went while it was looked at"],
    )
    bound = OffsetBound(everywhere=EARLIEST)
    assert resolved(bound, [A, B], {A: 3}, {}) == {A: 3}
    assert resolved(OffsetBound(offsets={A: 7, B: LATEST}), [A, B], {}, {}) == {A: 7}


def test_a_batch_query_that_starts_after_the_end_is_refused_as_by_the_stock_connector() -> None:
    with pytest.raises(InvalidConfigError, match=r"t-0 is after its ending offset: 30 > 20 .*offsets 3 to 20 now"):
        clipped({A: 30}, {A: 20}, {A: 3}, {A: 20})
    assert clipped({A: 20}, {A: 20}, {A: 0}, {A: 20}) == ([], [])
