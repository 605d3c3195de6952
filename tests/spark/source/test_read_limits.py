from hypothesis import given
from hypothesis import strategies as st

from ottla.common.topic_partition import TopicPartition
from ottla.spark.source.offset_json import Offsets
from ottla.spark.source.read_limits import HoldBack, prorated

A, B, C = (TopicPartition("t", index) for index in range(3))
partitions = st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.integers(0, 5))
offset_maps = st.dictionaries(partitions, st.integers(0, 10**9), max_size=8)


@given(offset_maps, offset_maps, st.integers(1, 10**7))
def test_a_limited_batch_lies_between_start_and_end(start: Offsets, end: Offsets, limit: int) -> None:
    limited = prorated(limit, start, end)
    assert limited.keys() == end.keys()
    taken = 0
    for each, offset in limited.items():
        if each not in start or end[each] <= start[each]:
            assert offset == end[each]  # nothing to limit: data loss is told of elsewhere
        else:
            assert start[each] < offset <= end[each], "every partition gets on"
            taken += offset - start[each]
    assert taken <= limit + len(end)


@given(offset_maps, offset_maps, st.integers(1, 10**7))
def test_a_limited_stream_gets_to_the_end(start: Offsets, end: Offsets, limit: int) -> None:
    position = {each: start.get(each, 0) for each in end}
    target = {each: max(end[each], position[each]) for each in end}
    backlog = sum(target[each] - position[each] for each in target)
    limit = max(limit, backlog // 50)
    for _ in range(400):
        if position == target:
            break
        position = prorated(limit, position, target)
    assert position == target


def test_the_limit_is_divided_in_proportion() -> None:
    assert prorated(100, {A: 0, B: 100, C: 5}, {A: 300, B: 200, C: 5}) == {A: 75, B: 125, C: 5}


def test_a_small_partition_does_not_starve() -> None:
    assert prorated(10, {A: 0, B: 0}, {A: 1_000_000, B: 1}) == {A: 9, B: 1}


def test_a_batch_is_held_back_until_there_is_enough() -> None:
    hold_back = HoldBack(min_offsets=10, max_delay_ms=1000)
    assert not hold_back.holds({A: 0}, {A: 1}, 5)  # the first of a run goes
    assert hold_back.holds({A: 1}, {A: 10}, 6)
    assert not hold_back.holds({A: 1}, {A: 11}, 7)
    assert hold_back.holds({A: 11}, {A: 12, B: 8}, 8)
    assert not hold_back.holds({A: 11}, {A: 12, B: 9}, 9)  # a partition that is new counts from its beginning


def test_a_batch_is_held_back_for_so_long_and_no_longer() -> None:
    hold_back = HoldBack(min_offsets=10, max_delay_ms=1000)
    hold_back.holds({A: 0}, {A: 1}, 5)
    assert hold_back.holds({A: 1}, {A: 2}, 1004)
    assert not hold_back.holds({A: 1}, {A: 2}, 1005)
    assert hold_back.holds({A: 2}, {A: 3}, 2004)
