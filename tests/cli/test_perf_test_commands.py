"""``ottla producer-perf-test``, ``consumer-perf-test`` and ``e2e-latency`` beside Apache's: the same lines."""

import json
import re
from collections.abc import Callable

import pytest

from ottla.cli.e2e_latency import named_arguments
from ottla.cli.errors import UsageError
from ottla.cli.perf_stats import LatencyStats, java_date, metric_lines, total_line, window_line
from tests.cli.streams import Streams
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node

_NUMBER = re.compile(r"(?:\d+-\d+-\d+ \d+:\d+:\d+:\d+|NaN|-?[\d.]*\d)")


def _shape(output: str) -> list[str]:
    """Lines with every number as N: what a script that reads them sees."""
    return [_NUMBER.sub("N", line) for line in output.splitlines()]


def _load(kafka_or_streams: str, topic: str, count: int = 500) -> None:
    done = run_piped("producer-perf-test", "--bootstrap-server", kafka_or_streams, "--topic", topic, "--num-records",
                     str(count), "--record-size", "20", "--throughput", "-1")  # fmt: skip
    assert done.code == 0, done


@pytest.mark.oracle
@pytest.mark.parametrize(
    "arguments",
    [
        ["--record-size", "100"],
        ["--payload-monotonic", "--warmup-records", "50", "--command-property", "acks=1", "linger.ms=1"],
        ["--record-size", "10", "--transaction-duration-ms", "100"],
    ],
    ids=" ".join,
)
def test_producing_prints_the_same_lines(streams: Streams, topic: str, arguments: list[str]) -> None:
    line = ("--topic", topic, "--num-records", "200", "--throughput", "-1", *arguments)
    ours, theirs = streams.both("producer-perf-test", *line)
    assert ours.code == 0
    assert ours.stderr == ""
    assert _shape(ours.stdout) == _shape(theirs.stdout)
    assert "\n200 records sent, " in "\n" + ours.stdout


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("--num-records should be greater than zero", ["--num-records", "0", "--record-size", "1"]),
        ("--record-size should be greater than zero", ["--num-records", "1", "--record-size", "0"]),
        (
            "--warmup-records must be strictly fewer",
            ["--num-records", "1", "--record-size", "1", "--warmup-records", "1"],
        ),
        ("--reporting-interval should be", ["--num-records", "1", "--record-size", "1", "--reporting-interval", "0"]),
        ("Invalid property: x", ["--num-records", "1", "--record-size", "1", "--command-property", "x"]),
        ("payload-monotonic", ["--num-records", "1"]),
        ("num-records", ["--record-size", "1"]),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_producing_is_refused_the_same(streams: Streams, text: str, arguments: list[str]) -> None:
    ours, theirs = streams.both("producer-perf-test", "--topic", "t", "--throughput", "-1", *arguments)
    assert ours.code == 1
    assert text in " ".join(theirs.stderr.split())
    assert text in ours.stderr
    assert ours.stderr.count("\n") == 1


def test_producing_what_a_file_has(kafka: Node, topic: str, written: Callable[[str, str], str]) -> None:
    path = written("payloads", "one,two,three")
    line = ("producer-perf-test", "--bootstrap-server", kafka.bootstrap, "--topic", topic, "--throughput", "-1")
    done = run_piped(*line, "--num-records", "20", "--payload-file", path, "--payload-delimiter", ",")
    assert done.stdout.startswith(f"Reading payloads from: {path}\nNumber of records read: 3\n20 records sent, ")
    read = run_piped("cat", "-b", kafka.bootstrap, "-t", topic, "-C", "-e", "-q")
    assert set(read.stdout.split()) <= {"one", "two", "three"}
    assert len(read.stdout.split()) == 20
    assert run_piped(*line, "--num-records", "1", "--payload-file", "/no/such").code == 1


def test_producing_in_a_terminal_with_reports(kafka: Node, topic: str) -> None:
    line = ("producer-perf-test", "--bootstrap-server", kafka.bootstrap, "--topic", topic, "--num-records", "300")
    screen = run_in_terminal(
        *line, "--record-size", "10", "--throughput", "1000", "--reporting-interval", "50", "--print-metrics"
    )
    assert screen.code == 0
    assert re.search(r"\d+ records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, ", screen.text)
    assert "producer-metrics:record-send-total:{client-id=perf-producer-client}" in screen.text
    document = json.loads(
        run_piped(*line, "--record-size", "10", "--throughput", "-1", "--json").stdout.splitlines()[-1]
    )
    assert document["records"] == 300


def test_producing_by_the_batch(kafka: Node, topic: str) -> None:
    line = ("producer-perf-test", "--bootstrap-server", kafka.bootstrap, "--topic", topic, "--throughput", "-1")
    done = run_piped(*line, "--num-records", "2500", "--payload-monotonic", "--batch-records", "1000")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith("2500 records sent, ")
    read = run_piped("cat", "-b", kafka.bootstrap, "-t", topic, "-C", "-e", "-q")
    assert sorted(map(int, read.stdout.split())) == list(range(2500))
    refused = run_piped(*line, "--num-records", "2", "--record-size", "1", "--batch-records", "0")
    assert (refused.code, refused.stderr.count("\n")) == (1, 1)


def test_records_that_are_refused(kafka: Node) -> None:
    done = run_piped("producer-perf-test", "--bootstrap-server", kafka.bootstrap, "--topic", "bad topic",
                     "--num-records", "2", "--record-size", "10", "--throughput", "-1")  # fmt: skip
    assert done.code == 1
    assert done.stdout.startswith("0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max")
    assert done.stderr.count("A record was not delivered: ") == 2


@pytest.mark.oracle
@pytest.mark.parametrize(
    "arguments", [["--num-records", "500"], ["--num-records", "500", "--hide-header", "--date-format", "HH:mm"]]
)
def test_consuming_prints_the_same_lines(streams: Streams, topic: str, arguments: list[str]) -> None:
    _load(streams.bootstrap, topic)
    ours, theirs = streams.both("consumer-perf-test", "--topic", topic, *arguments)
    assert ours.code == 0
    assert _shape(ours.stdout) == _shape(theirs.stdout)
    assert ", 500, " in ours.stdout.splitlines()[-1]


@pytest.mark.oracle
def test_fewer_records_than_wanted(streams: Streams, topic: str) -> None:
    _load(streams.bootstrap, topic, 10)
    ours, theirs = streams.both("consumer-perf-test", "--topic", topic, "--num-records", "11", "--timeout", "800")
    assert ours.code == 0
    assert _shape(ours.stdout) == _shape(theirs.stdout)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Exactly one of the following arguments is required: [topic], [include]", ["--num-records", "1"]),
        ("Exactly one of the following arguments is required: [messages], [num-records]", ["--topic", "x"]),
    ],
)
def test_consuming_is_refused_the_same(streams: Streams, text: str, arguments: list[str]) -> None:
    streams.refused(text, "consumer-perf-test", *arguments)


@pytest.mark.parametrize("options", [[], ["--arrow"]])
def test_consuming_with_reports(kafka: Node, topic: str, options: list[str]) -> None:
    if options:
        pytest.importorskip("pyarrow")
    _load(kafka.bootstrap, topic, 2000)
    line = ("consumer-perf-test", "--bootstrap-server", kafka.bootstrap, "--topic", topic, "--num-records", "2000")
    screen = run_in_terminal(*line, "--show-detailed-stats", "--reporting-interval", "1", "--print-metrics", *options)
    assert screen.code == 0, screen.text
    assert screen.text.startswith("time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, reb")
    assert "consumer-metrics:" in screen.text
    document = json.loads(run_piped(*line, "--json", *options).stdout)
    assert document["records"] == 2000
    assert document["mb"] == pytest.approx(2000 * 20 / 2**20)


@pytest.mark.oracle
def test_latency_prints_the_same_lines(streams: Streams, topic: str) -> None:
    shapes = []
    for side, run in (("ours", streams.ours), ("theirs", streams.theirs)):
        done = run("e2e-latency", "--topic", f"{topic}-{side}", "--num-records", "3", "--producer-acks", "all",
                   "--record-size", "10", "--num-headers", "2", "--record-header-key-size", "3")  # fmt: skip
        assert done[0] == 0, done
        shapes.append([line.replace(f"-{side}", "") for line in _shape(done[1])])
    assert shapes[0] == shapes[1]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('Missing required argument "[record-size]"', ["--topic", "x", "--num-records", "1", "--producer-acks", "1"]),
        (
            "Invalid value for --producer-acks",
            ["--topic", "x", "--num-records", "1", "--producer-acks", "0", "--record-size", "1"],
        ),
        (
            "Value for --num-records must be a positive integer",
            ["--topic", "x", "--num-records", "0", "--producer-acks", "1", "--record-size", "1"],
        ),
    ],
)
def test_latency_is_refused_the_same(streams: Streams, text: str, arguments: list[str]) -> None:
    streams.refused(text, "e2e-latency", *arguments)


def test_latency_in_a_terminal_and_as_json(kafka: Node, topic: str) -> None:
    line = ("--topic", topic, "--num-records", "2", "--producer-acks", "1", "--record-size", "5")
    screen = run_in_terminal("e2e-latency", "--bootstrap-server", kafka.bootstrap, *line)
    assert screen.code == 0
    assert "Percentiles: 50th = " in screen.text
    document = json.loads(run_piped("e2e-latency", "--bootstrap-server", kafka.bootstrap, *line, "--json").stdout)
    assert set(document["percentiles_ms"]) == {"50th", "99th", "99.9th"}


def test_the_old_form_of_latency(capsys: pytest.CaptureFixture[str]) -> None:
    old = ["host:1", "topic", "3", "all", "10"]
    assert named_arguments(old)[:4] == ["--bootstrap-server", "host:1", "--topic", "topic"]
    assert "deprecated" in capsys.readouterr().err
    assert named_arguments(["--topic", "x"]) == ["--topic", "x"]
    with pytest.raises(UsageError, match="Expected 5 or 6"):
        named_arguments(["a", "b"])


def test_figures() -> None:
    stats = LatencyStats(4, 1000.0)
    for latency_ms in (1, 2, 3, 10):
        stats.record(latency_ms, 1 << 20)
    assert window_line(stats.window(2000.0)) == (
        "4 records sent, 4.0 records/sec (4.00 MB/sec), 4.0 ms avg latency, 10.0 ms max latency."
    )
    assert total_line(stats.total(3000.0)) == (
        "4 records sent, 2.000000 records/sec (2.00 MB/sec), 4.00 ms avg latency, 10.00 ms max latency, 3 ms 50th, "
        "10 ms 95th, 10 ms 99th, 10 ms 99.9th."
    )
    assert metric_lines({"b": 1, "a": 2.5}, "g", "c")[1:] == [
        "Metric Name         Value",
        "g:a:{client-id=c} : 2.500",
        "g:b:{client-id=c} : 1.000",
    ]
    assert len(java_date("yyyy-MM-dd HH:mm:ss:SSS", 0)) == 23
    assert java_date("SSS", 1_234) == "234"


def test_latencies_are_bounded() -> None:
    stats = LatencyStats(2_000_000, 0.0)
    for _ in range(1000):
        stats.record(1, 1)
    assert len(stats._latencies) == 250
