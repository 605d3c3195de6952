"""Output that nobody takes: a reader that has left, a closed stream, a full disk. None of it is a traceback."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.terminal import BOUND_S, Piped, command, run_inside
from tests.node import Node

LINES = {
    "topics": ["--list"],
    "get-offsets": [],
    "console-consumer": ["--topic", "TOPIC", "--from-beginning", "--timeout-ms", "60000"],
    "cat": ["-C", "-t", "TOPIC", "-u"],
    "verifiable-consumer": ["--topic", "TOPIC", "--group-id", "TOPIC", "--verbose"],
    "verifiable-producer": ["--topic", "TOPIC", "--max-messages", "5000"],
    "console-producer": ["--topic", "TOPIC", "--json"],
    "producer-perf-test": ["--topic", "TOPIC", "--num-records", "3000", "--throughput", "1000", "--record-size", "9",
                           "--reporting-interval", "1"],
    "consumer-perf-test": ["--topic", "TOPIC", "--num-records", "300", "--show-detailed-stats",
                           "--reporting-interval", "1"],
    "broker-api-versions": [],
}  # fmt: skip
INPUT = b"".join(b"%d\n" % number for number in range(5000))


@pytest.fixture
def line(kafka: Node, topic: str) -> Callable[[str], list[str]]:
    """The command line of a command; its topic has records."""
    sent = run_inside("verifiable-producer", "--topic", topic, "--max-messages", "300",
                      "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert sent.code == 0, sent

    def make(name: str) -> list[str]:
        arguments = [topic if each == "TOPIC" else each for each in LINES[name]]
        return command(name, *arguments, "-b" if name == "cat" else "--bootstrap-server", kafka.bootstrap)

    return make


def _run(line: list[str], stdout: int | None, prepare: Callable[[], object] | None = None) -> Piped:
    done = subprocess.run(
        line, input=INPUT, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=prepare, check=False, timeout=BOUND_S
    )
    return Piped(done.returncode, "", done.stderr.decode())


@pytest.mark.parametrize("name", LINES)
def test_a_reader_that_has_left(line: Callable[[str], list[str]], name: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = _run(line(name), write_end)
    finally:
        os.close(write_end)
    assert done.code == 0
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr


@pytest.mark.parametrize("name", LINES)
def test_a_full_disk(line: Callable[[str], list[str]], name: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = _run(line(name), full.fileno())
    assert done.code == 1
    *before, last = done.stderr.splitlines()
    assert last == f"ottla {name}: No space left on device"
    assert all(each.startswith("Processed a total of ") for each in before)


def test_standard_output_is_closed(line: Callable[[str], list[str]]) -> None:
    """As after ``>&-``: a socket must not come to be where the output goes."""
    done = _run(line("topics"), None, lambda: os.close(1))
    assert done == Piped(0, "", "")


def test_all_streams_are_closed(line: Callable[[str], list[str]]) -> None:
    done = subprocess.run(line("topics"), preexec_fn=lambda: os.closerange(0, 3), check=False, timeout=BOUND_S)
    assert done.returncode == 0
