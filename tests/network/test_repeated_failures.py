"""Equal failures are told with back-off, and with how many there were."""

from itertools import pairwise

from ottla.network.repeated_failures import INTERVAL_MAX_MS, TOLD_MAX, RepeatedFailures


def test_an_equal_failure_is_told_now_and_then() -> None:
    failures = RepeatedFailures()
    said = [(ms, times) for ms in range(0, 71_000, 1000) if (times := failures.failed("a", "refused", ms)) is not None]
    assert said == [
        (0, ""),
        (10_000, " (10 times since it was said last)"),
        (30_000, " (20 times since it was said last)"),
        (70_000, " (40 times since it was said last)"),
    ]


def test_another_reason_is_news_and_so_is_a_failure_after_a_success() -> None:
    failures = RepeatedFailures()
    assert failures.failed("a", "refused", 0) == ""
    assert failures.failed("a", "no route", 1) == ""
    assert failures.failed("b", "refused", 1) == ""
    assert failures.failed("a", "refused", 2) is None
    failures.succeeded("a")
    assert failures.failed("a", "refused", 3) == ""
    assert failures.failed("b", "refused", 3) is None


def test_it_goes_on_to_be_told() -> None:
    failures = RepeatedFailures()
    told = [ms for ms in range(0, 40 * INTERVAL_MAX_MS, 10_000) if failures.failed("a", "refused", ms) is not None]
    assert {later - earlier for earlier, later in pairwise(told[10:])} == {INTERVAL_MAX_MS}


def test_what_is_remembered_is_bounded() -> None:
    failures = RepeatedFailures()
    for number in range(2 * TOLD_MAX):
        failures.failed("a", f"refused {number}", 0)
    assert len(failures._told) == TOLD_MAX
