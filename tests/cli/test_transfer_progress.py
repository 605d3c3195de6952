"""A transfer to or from a file is counted on standard error, if that is a terminal; nowhere else."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from ottla.cli import progress
from tests.cli.terminal import command, run_in_terminal, run_inside, run_piped
from tests.node import Node

COUNT = re.compile(r"[\d,]+ records (?:read|sent), [\d,]+ a second")
READ = {
    "console-consumer": "--topic TOPIC --from-beginning --max-messages 3 --bootstrap-server SERVER",
    "cat": "-C -t TOPIC -c 3 -b SERVER",
    "verifiable-consumer": "--topic TOPIC --group-id TOPIC --max-messages 3 --bootstrap-server SERVER",
    "consumer-perf-test": "--topic TOPIC --num-records 3 --bootstrap-server SERVER",
}
SENT = {
    "console-producer": "--topic TOPIC --bootstrap-server SERVER",
    "cat": "-P -t TOPIC -b SERVER",
}


@pytest.fixture
def shell(kafka: Node, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Run a command as in a shell at a terminal, with a redirection; what is on the screen."""
    sent = run_inside("verifiable-producer", "--topic", topic, "--max-messages", "3",
                      "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert sent.code == 0

    def run(line: str, redirection: str) -> str:
        words = line.replace("TOPIC", topic).replace("SERVER", kafka.bootstrap).split()
        monkeypatch.setattr(
            "tests.cli.terminal.command",
            lambda *arguments: ["sh", "-c", f"{shlex.join(command(*arguments))} {redirection}"],
        )
        screen = run_in_terminal(*words, directory=tmp_path)
        assert screen.code == 0, screen.text
        return screen.text

    return run


@pytest.mark.parametrize("name", READ)
def test_what_goes_to_a_file_is_counted(shell: Callable[[str, str], str], tmp_path: Path, name: str) -> None:
    assert COUNT.search(shell(f"{name} {READ[name]}", "> out")) is not None
    assert COUNT.search((tmp_path / "out").read_text()) is None


@pytest.mark.parametrize("name", ["console-consumer", "cat"])
def test_what_is_seen_is_not_counted(shell: Callable[[str, str], str], name: str) -> None:
    assert COUNT.search(shell(f"{name} {READ[name]}", "")) is None


@pytest.mark.parametrize("name", SENT)
def test_what_comes_from_a_file_is_counted(shell: Callable[[str, str], str], tmp_path: Path, name: str) -> None:
    (tmp_path / "in").write_text("1\n2\n3\n")
    assert COUNT.search(shell(f"{name} {SENT[name]}", "< in")) is not None


def test_what_a_test_writes_is_counted(shell: Callable[[str, str], str]) -> None:
    line = "verifiable-producer --topic TOPIC --max-messages 3 --bootstrap-server SERVER"
    assert COUNT.search(shell(line, "> out")) is not None


def test_nothing_is_counted_in_a_script(kafka: Node, topic: str) -> None:
    done = run_piped("console-producer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, stdin="1\n")
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_the_rate_is_that_of_the_last_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("ottla.cli.progress.time", SimpleNamespace(monotonic=lambda: now))
    count = progress._Count("read")
    count.advance(3000)
    assert count.__rich__() == "3,000 records read, 0 a second"
    now += 2
    assert count.__rich__() == "3,000 records read, 1,500 a second"
    now += 1
    assert count.__rich__() == "3,000 records read, 0 a second"
