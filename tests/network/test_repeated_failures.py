"""Equal failures are told with back-off, and with how many there were."""

from itertools import pairwise

from ottla.network.repeated_failures import INTERVAL_MAX_MS, REASONS_MAX, RepeatedFailures


def test_an_equal_failure_is_told_now_and_then() -> None:
    failures = RepeatedFailures()
    lines = [(ms, line) for ms in range(0, 71_000, 1000) if (line := failures.failed("refused", ms)) is not None]
    assert lines == [
        (0, "refused"),
        (10_000, "refused (10 times since it was said last)"),
        (30_000, "refused (20 times since it was said last)"),
        (70_000, "refused (40 times since it was said last)"),
    ]


def test_another_reason_is_news_and_so_is_a_failure_after_a_success() -> None:
    failures = RepeatedFailures()
    assert failures.failed("refused", 0) == "refused"
    assert failures.failed("no route", 1) == "no route"
    assert failures.failed("refused", 2) is None
    failures.succeeded()
    assert failures.failed("refused", 3) == "refused"


def test_it_goes_on_to_be_told() -> None:
    failures = RepeatedFailures()
    told = [ms for ms in range(0, 40 * INTERVAL_MAX_MS, 10_000) if failures.failed("refused", ms)]
    assert {later - earlier for earlier, later in pairwise(told[10:])} == {INTERVAL_MAX_MS}


def test_the_reasons_are_bounded() -> None:
    failures = RepeatedFailures()
    for number in range(2 * REASONS_MAX):
        failures.failed(f"refused {number}", 0)
    assert len(failures._told) == REASONS_MAX
