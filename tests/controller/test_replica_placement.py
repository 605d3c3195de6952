"""Where replicas go: evenly, over racks, and with a leader that is up."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.placement import UsableBroker, place


def brokers(*specs: tuple[int, str | None, bool]) -> list[UsableBroker]:
    return [UsableBroker(*spec) for spec in specs]


clusters = st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9).map(
    lambda specs: [UsableBroker(number, rack, fenced) for number, (rack, fenced) in enumerate(specs)]
)


@given(clusters, st.integers(1, 9), st.integers(1, 40), st.integers(0, 99))
def test_every_partition_has_distinct_replicas_and_a_leader_that_is_up(
    cluster: list[UsableBroker], factor: int, count: int, seed: int
) -> None:
    unfenced = {broker.id for broker in cluster if not broker.fenced}
    if factor > len(cluster) or not unfenced:
        with pytest.raises(ApiError):
            place(count, factor, cluster, Random(seed))
        return
    placements = place(count, factor, cluster, Random(seed))
    assert len(placements) == count
    for replicas in placements:
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in unfenced


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 99))
def test_leaders_take_turns(count: int, rounds: int, seed: int) -> None:
    cluster = [UsableBroker(number, None, fenced=False) for number in range(count)]
    placements = place(count * rounds, min(2, count), cluster, Random(seed))
    leaders = Counter(replicas[0] for replicas in placements)
    assert set(leaders.values()) == {rounds}


@given(st.integers(0, 99))
def test_replicas_are_spread_over_racks(seed: int) -> None:
    cluster = brokers(*((number, "abc"[number % 3], False) for number in range(9)))
    for replicas in place(12, 3, cluster, Random(seed)):
        assert {"abc"[broker % 3] for broker in replicas} == set("abc")


@given(st.integers(0, 99))
def test_fenced_brokers_get_replicas_only_where_no_others_are_left(seed: int) -> None:
    cluster = brokers((1, None, False), (2, None, False), (3, None, True))
    assert all(3 not in replicas for replicas in place(6, 2, cluster, Random(seed)))
    assert all(replicas[-1] == 3 for replicas in place(6, 3, cluster, Random(seed)))


@pytest.mark.parametrize(
    ("factor", "cluster", "message"),
    [
        (0, brokers((1, None, False)), "Invalid replication factor 0: the replication factor must be positive."),
        (1, brokers((1, None, True)), "All brokers are currently fenced, or have all their log directories cordoned."),
        (
            2,
            brokers((1, None, False)),
            "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some "
            "brokers have all their log directories cordoned.",
        ),
    ],
)
def test_what_cannot_be_placed_says_why(factor: int, cluster: list[UsableBroker], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        place(1, factor, cluster, Random(1))
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert str(refused.value) == message
