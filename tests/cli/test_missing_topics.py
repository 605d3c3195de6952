"""A topic or partition that there is not: each command says so, with the exit code of Apache's tool."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import Broker
from tests.cli.terminal import Piped, run_inside, run_piped

NO_TOPIC = "The cluster has no topic nope"
NO_PARTITION = "The cluster has no partition there-99"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A broker that makes no topics by itself, with one of a single partition."""
    with Broker(auto_create_topics_enable=False) as broker:
        made = run_inside("topics", "--create", "--topic", "there", "--partitions", "1",
                          "--bootstrap-server", broker.bootstrap_servers)  # fmt: skip
        assert made.code == 0
        yield broker.bootstrap_servers


def _run(server: str, line: str, stdin: str = "") -> Piped:
    words = line.split()
    return run_piped(*words, "-b" if words[0] == "cat" else "--bootstrap-server", server, stdin=stdin)


@pytest.mark.parametrize(
    ("line", "notice"),
    [
        ("console-consumer --topic nope --from-beginning --timeout-ms 500", NO_TOPIC),
        ("console-consumer --topic nope --from-beginning --timeout-ms 2500", NO_TOPIC),
        ("console-consumer --topic there --partition 99 --offset earliest --timeout-ms 500", NO_PARTITION),
        ("console-consumer --include no.* --timeout-ms 500", "The cluster has no topic that matches no.*"),
        ("consumer-perf-test --topic nope --num-records 1 --timeout 500", NO_TOPIC),
    ],
)
def test_who_waits_in_vain_is_told_why(server: str, line: str, notice: str) -> None:
    done = _run(server, line)
    assert done.code == 0  # as Apache's, when the time is up: a topic may come yet
    told = [each for each in done.stderr.splitlines() if each.startswith("% ")]
    assert len(told) == 1, done.stderr
    assert notice in told[0]
    assert notice not in done.stdout


def test_who_finds_something_is_told_nothing(server: str) -> None:
    assert _run(server, "console-producer --topic there", "x\n").code == 0
    done = _run(server, "console-consumer --topic there --from-beginning --timeout-ms 2500")
    assert done == Piped(0, "x\n", "Processed a total of 1 messages\n")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("cat -C -t nope -e", "There is no topic nope"),
        ("cat -C -t there -p 99 -e", "Topic there has no partition 99"),
        ("cat -P -t there -p 99", "Topic there has no partition 99"),
        ("cat -Q -t nope:0:1", "There is no topic nope"),
        ("cat -Q -t there:99:1", "Topic there has no partition 99"),
        ("get-offsets --topic nope", "Could not match any topic-partitions with the specified filters"),
        ("get-offsets --topic-partitions there:99", "Could not match any topic-partitions with the specified filters"),
        ("topics --describe --topic nope", "Topic 'nope' does not exist as expected"),
        ("explain topic nope", "There is no topic nope"),
    ],
)
def test_who_cannot_go_on_says_so(server: str, line: str, sentence: str) -> None:
    done = _run(server, line, "x\n")
    assert done.code == 1
    assert sentence in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@pytest.mark.parametrize(
    "line",
    [
        "console-producer --topic nope --max-block-ms 3500",
        "producer-perf-test --topic nope --num-records 1 --throughput 1 --record-size 1 "
        "--command-property max.block.ms=3500",
        "cat -P -t nope -m 4",
    ],
)
def test_who_sends_in_vain_is_told_meanwhile(server: str, line: str) -> None:
    done = _run(server, line, "x\n")
    assert done.code == 1
    first, last = done.stderr.splitlines()[0], done.stderr.splitlines()[-1]
    assert first.startswith("% Topic nope not present in metadata: ")
    assert first.endswith("s more")
    assert "Topic nope not present in metadata" in last


def test_records_of_what_there_is_not(server: str, tmp_path: Path) -> None:
    """Apache's tool ends with 0 and a line for each."""
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": [{"topic": t, "partition": p, "offset": 0} for t, p in
                                               (("there", 99), ("nope", 0))]}))  # fmt: skip
    done = _run(server, f"delete-records --offset-json-file {path}")
    assert done.code == 0
    assert "partition: nope-0\terror: " in done.stdout
    assert "partition: there-99\terror: " in done.stdout
