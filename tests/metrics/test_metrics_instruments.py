"""Histograms against sorted lists; counters, meters and the registry."""

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metrics import Histogram, Meter, Registry
from ottla.metrics.histogram import QUANTILES, bucket_bounds, bucket_of
from ottla.metrics.instruments import RecentRate
from ottla.metrics.registry import ROTATION_MS

_values = st.integers(0, 20) | st.integers(0, 5000) | st.integers(0, 2**63 - 1)


@given(value=_values)
def test_a_bucket_holds_its_value_and_is_narrow(value: int) -> None:
    first, last = bucket_bounds(bucket_of(value))
    assert first <= value <= last
    assert last - first <= value / 8


def test_buckets_follow_one_another_without_gaps() -> None:
    bounds = [bucket_bounds(bucket) for bucket in range(488)]
    assert bounds[0][0] == 0
    assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(bounds))
    assert bounds[-1][1] == 2**63 - 1


@given(values=st.lists(_values, min_size=1, max_size=200))
def test_quantiles_lie_in_the_bucket_of_the_true_one(values: list[int]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    values.sort()
    assert (histogram.count, histogram.sum, histogram.max) == (len(values), sum(values), values[-1])
    for q, answer in zip(QUANTILES, histogram.percentiles(QUANTILES), strict=True):
        rank = next(rank for rank in range(1, len(values) + 1) if rank >= q * len(values))
        first, last = bucket_bounds(bucket_of(values[rank - 1]))
        assert first <= answer <= last
        assert answer == histogram.percentile(q)


def test_negative_values_count_as_zero_and_huge_ones_in_the_last_bucket() -> None:
    histogram = Histogram()
    histogram.record(-5)
    assert (histogram.count, histogram.sum, histogram.max, histogram.percentile(0.99)) == (1, 0, 0, 0.0)
    histogram.record(2**80)
    assert (histogram.count, histogram.max) == (2, 2**80)


def test_an_empty_histogram_answers_zero() -> None:
    assert Histogram().percentiles(QUANTILES) == [0.0] * 6


def test_quantiles_forget_what_is_two_rotations_old_and_counts_do_not() -> None:
    histogram = Histogram()
    for _ in range(100):
        histogram.record(5000)
    histogram.rotate()
    histogram.record(3)
    assert histogram.percentile(0.5) > 4000
    histogram.rotate()
    assert histogram.percentile(0.999) == 3
    assert (histogram.count, histogram.max) == (101, 5000)
    histogram.rotate()
    assert histogram.percentile(0.999) == 0
    histogram.record(1_000_000)
    assert histogram.percentile(0.5) > 900_000


def test_a_meter_tells_the_late_rate() -> None:
    meter = Meter(now_ms=1000)
    assert meter.rate_per_sec(1000) == 0
    meter.mark(50)
    assert meter.rate_per_sec(11_000) == 5
    meter.rotate(11_000)
    meter.rotate(21_000)
    meter.mark()
    assert meter.value == 51
    assert meter.rate_per_sec(31_000) == pytest.approx(0.05)


def test_a_recent_rate_looks_back_one_to_two_windows() -> None:
    rate = RecentRate(10, 100)
    assert rate.read(0, 100) == 0
    assert rate.read(50, 105) == 10
    assert rate.read(60, 110) == 6
    assert rate.read(80, 120) == pytest.approx(2), "since the window before"
    assert rate.read(80, 145) == 0


def test_asking_twice_answers_the_same_metric() -> None:
    registry = Registry()
    assert registry.counter("a", "A.", x="1", y="2") is registry.counter("a", "A.", y="2", x="1")
    assert registry.counter("a", "A.", x="1") is not registry.counter("a", "A.", x="2")
    assert registry.get("a", x="1") is registry.counter("a", "A.", x="1")
    assert registry.get("b") is None


def test_one_name_has_one_kind() -> None:
    registry = Registry()
    registry.counter("a", "A.")
    with pytest.raises(AssertionError, match="a is a Counter, not a Histogram"):
        registry.histogram("a", "A.", x="1")


def test_a_gauge_registered_again_has_the_new_reader() -> None:
    registry = Registry()
    registry.gauge("a", "A.", lambda: 1)
    gauge = registry.gauge("a", "A.", lambda: 2)
    assert registry.get("a") is gauge


def test_removed_metrics_are_gone_and_the_family_with_the_last() -> None:
    registry = Registry()
    registry.counter("a", "A.", x="1")
    registry.counter("a", "A.", x="2")
    registry.remove("a", x="1")
    registry.remove("a", x="1")
    assert [list(family.metrics) for family in registry.collect(0)] == [[(("x", "2"),)]]
    registry.remove("a", x="2")
    assert list(registry.collect(0)) == []


def test_collecting_rotates_when_the_interval_is_over() -> None:
    registry = Registry()
    histogram = registry.histogram("a", "A.")
    histogram.record(7)
    registry.collect(ROTATION_MS - 1)
    registry.collect(ROTATION_MS)
    registry.collect(ROTATION_MS + 1)
    assert histogram.percentile(0.5) == 7
    registry.collect(2 * ROTATION_MS)
    assert histogram.percentile(0.5) == 0


def test_showing_metrics_imports_no_prometheus_client() -> None:
    """Importing it takes a tenth of a second, which would be the reactor's."""
    program = (
        "import sys, ottla.metrics, ottla.metrics.request_metrics, ottla.metrics.exposition as e;"
        "r = ottla.metrics.Registry(); r.counter('a', 'A.'); list(e.render(r, 0));"
        "assert 'prometheus_client' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
