"""The oracle for every test that asks for it, and a loud word when it cannot be had."""

import os
import resource
from collections.abc import Iterator

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from tests.oracle import Oracle, OracleUnavailableError

_TRUE = ("1", "true", "yes")

# The same examples in every run, and no opinion on how long they take: the machine may be busy. OTTLA_LONG=1 explores.
settings.register_profile(
    "ottla", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("long" if os.environ.get("OTTLA_LONG") == "1" else "ottla")

# Tests that leave a log as a crash would leave its files open, too: some thousand in a whole run.
_OPEN_FILES = 16_384
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if _soft < _OPEN_FILES and _soft != resource.RLIM_INFINITY:
    _most = _OPEN_FILES if _hard == resource.RLIM_INFINITY else min(_OPEN_FILES, _hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_most, _hard))


def _oracle_required() -> bool:
    return any(os.environ.get(name, "").lower() in _TRUE for name in ("CI", "OTTLA_REQUIRE_ORACLE"))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the oracle, and keep it on one worker of pytest-xdist: one JVM, one broker at a time."""
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """Apache Kafka 4.3.1 (tests/oracle.py). Without it the test is skipped, or fails where the oracle is required."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(message: str) -> None:
        with capture.global_and_fixture_disabled():
            os.write(2, f"\n[oracle] {message}\n".encode())

    try:
        oracle = Oracle(say)
    except OracleUnavailableError as error:
        if _oracle_required():
            pytest.fail(f"the oracle is required here and cannot be had: {error}", pytrace=False)
        pytest.skip(f"no oracle: {error}")
    yield oracle
    oracle.close()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Name every test that did not run for want of its oracle, and why."""
    skipped = [report for report in terminalreporter.getreports("skipped") if "oracle" in report.keywords]
    if not skipped:
        return
    terminalreporter.section("NOT COMPARED WITH APACHE KAFKA", sep="!", red=True, bold=True)
    terminalreporter.write_line(f"{len(skipped)} tests need Apache Kafka, which could not be had here:")
    for report in skipped:
        terminalreporter.write_line(f"  {report.nodeid}")
    reason = skipped[0].longrepr
    terminalreporter.write_line(str(reason[2] if isinstance(reason, tuple) else reason))
