"""Every command that runs until it is stopped, told to stop: what it printed is what the cluster has of it."""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ottla.cli.main import COMMANDS
from tests.cli.streams import signalled
from tests.cli.terminal import Piped, heed_ctrl_c, run_inside
from tests.node import Node

END_AT_ONCE = {
    *("storage", "topics", "configs", "get-offsets", "delete-records", "log-dirs", "dump-log", "metadata-shell"),
    *("groups", "consumer-groups", "transactions", "cluster", "features", "metadata-quorum", "broker-api-versions"),
    *("doctor", "explain", "completion", "help"),
}
OWN_TESTS = {"server", "demo", "pipeline"}
"""Which do more than let go when they are told to stop: tests/cli/test_server_command.py, tests/spark/pipeline."""
OWN_LOOPS = {"stop_signals.py", "server.py"}
INPUT = "1\n2\n3\n"
"""What readers find, and what writers of lines are given."""


class Case(NamedTuple):
    """The arguments of a command; ``count`` is how many records its output says that it read or wrote.

    ``shows`` is what a reader prints when it has read something.
    """

    arguments: str
    count: Callable[[str], int] = len
    shows: str = "^[0-2]$"


def _lines(printed: str) -> int:
    return len(printed.splitlines())


def _acked(printed: str) -> int:
    return int(json.loads(printed.splitlines()[-1])["acked"])


def _sent_in_all(printed: str) -> int:
    found = re.match(r"(\d+) records sent", printed.splitlines()[-1])
    assert found is not None, printed
    return int(found[1])


def _consumed(printed: str) -> int:
    events = [json.loads(line) for line in printed.splitlines()]
    assert [event["name"] for event in events[-1:]] == ["shutdown_complete"]
    return sum(event["count"] for event in events if event["name"] == "records_consumed")


def _read_in_all(printed: str) -> int:
    return int(printed.splitlines()[-1].split(", ")[4])


MANY = "1000000"
READERS = {
    "console-consumer": Case("--topic TOPIC --group GROUP --from-beginning", _lines),
    "cat -C": Case("-t TOPIC -u", _lines),
    "cat -G": Case("GROUP TOPIC -u", _lines),
    "verifiable-consumer": Case("--topic TOPIC --group-id GROUP", _consumed, "records_consumed"),
    "consumer-perf-test": Case(
        f"--topic TOPIC --group GROUP --num-records {MANY} --timeout 600000 --show-detailed-stats "
        "--reporting-interval 1",
        _read_in_all,
        ", 0, ",
    ),
}
WRITERS = {
    "console-producer": Case("--topic TOPIC --json", _lines),
    "cat -P": Case("-t TOPIC -T", _lines),
    "verifiable-producer": Case("--topic TOPIC --throughput 200", _acked),
    "producer-perf-test": Case(f"--topic TOPIC --num-records {MANY} --record-size 9 --throughput 200", _sent_in_all),
    "e2e-latency": Case(f"--topic TOPIC --num-records {MANY} --producer-acks 1 --record-size 9", lambda _: -1),
}
"""The last does not say how many it has sent."""


def test_every_command_is_tried() -> None:
    tried = {name.split()[0] for name in [*READERS, *WRITERS]}
    assert tried | END_AT_ONCE | OWN_TESTS == set(COMMANDS)


def test_every_loop_heeds_signals() -> None:
    for path in (Path(__file__).parents[2] / "src" / "ottla" / "cli").glob("*.py"):
        assert path.name in OWN_LOOPS or "asyncio.run(" not in path.read_text(), path


def _stop(
    kafka: Node,
    name: str,
    case: Case,
    topic: str,
    number: signal.Signals,
    *,
    after: Callable[[str], bool],
    prepare: Callable[[], object] = heed_ctrl_c,
) -> Piped:
    """Run the command, and send it the signal when it is at work."""
    values = {"TOPIC": topic, "GROUP": f"{topic}-g"}
    arguments = [values.get(each, each) for each in case.arguments.split()]
    server = "-b" if name.startswith("cat") else "--bootstrap-server"
    return signalled(
        *name.split(), *arguments, server, kafka.bootstrap, number=number, after=after,
        stdin=INPUT, prepare=prepare,
    )  # fmt: skip


def _end(kafka: Node, topic: str) -> int:
    """How many records the topic has."""
    done = run_inside("get-offsets", "--topic", topic, "--bootstrap-server", kafka.bootstrap)
    return sum(int(line.rpartition(":")[2]) for line in done.stdout.splitlines()) if done.code == 0 else 0


def _group(kafka: Node, topic: str, *arguments: str) -> list[str]:
    """The lines that describe the group."""
    done = run_inside(
        "consumer-groups", "--describe", "--group", f"{topic}-g", *arguments, "--bootstrap-server", kafka.bootstrap
    )
    return [line for line in done.stdout.splitlines() if line.startswith(f"{topic}-g")] if done.code == 0 else []


def _committed(kafka: Node, topic: str) -> int:
    offsets = [line.split()[3] for line in _group(kafka, topic)]
    return sum(int(offset) for offset in offsets if offset.isdigit())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", READERS)
def test_what_was_read_is_committed(kafka: Node, topic: str, name: str, number: signal.Signals) -> None:
    sent = run_inside("verifiable-producer", "--topic", topic, "--max-messages", "3",
                      "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert sent.code == 0, sent
    case = READERS[name]

    def has_read(seen: str) -> bool:
        return re.search(case.shows, seen, re.MULTILINE) is not None

    done = _stop(kafka, name, case, topic, number, after=has_read)
    assert done.code == 128 + number, done
    assert "Traceback" not in done.stderr
    if "GROUP" in case.arguments:
        assert case.count(done.stdout) == _committed(kafka, topic)
        assert not _group(kafka, topic, "--members")  # it has left: the next one need not wait for its session's end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", WRITERS)
def test_what_was_acknowledged_is_there(kafka: Node, topic: str, name: str, number: signal.Signals) -> None:
    case = WRITERS[name]
    done = _stop(kafka, name, case, topic, number, after=lambda _: _end(kafka, topic) >= 3)
    assert done.code == 128 + number, done
    assert "Traceback" not in done.stderr
    assert case.count(done.stdout) in (_end(kafka, topic), -1)


def _in_background() -> None:
    """As a script starts `command &`: it does not hear of Ctrl-C, but of SIGHUP, whoever has started the tests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_in_the_background_of_a_script(kafka: Node, topic: str, number: signal.Signals) -> None:
    name = "verifiable-producer"
    done = _stop(kafka, name, WRITERS[name], topic, number, after=lambda _: _end(kafka, topic) >= 3,
                 prepare=_in_background)  # fmt: skip
    assert done.code == 128 + number
    assert _acked(done.stdout) == _end(kafka, topic)
