"""``ottla console-producer`` beside kafka-console-producer.sh: what lands in the log, and how it fails."""

import json
import signal
from pathlib import Path

import pytest

from ottla.cli.errors import CommandError
from ottla.cli.line_reader import LineReader, LineRecord
from tests.cli.streams import Streams
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node

EVERYTHING = "".join(
    f"{name}=true\n" for name in ("print.key", "print.headers", "print.partition", "print.offset", "print.value")
)


def _contents(streams: Streams, topic: str, count: int, tmp_path: Path) -> list[str]:
    """All that is in the topic, as our consumer shows it, by partition and offset."""
    config = tmp_path / "formatter.properties"
    config.write_text(EVERYTHING)
    done = streams.ours(
        "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", str(count),
        "--formatter-config", str(config), "--timeout-ms", "20000",
    )  # fmt: skip
    assert (done.code, done.stderr) == (0, f"Processed a total of {count} messages\n")
    return sorted(done.stdout.splitlines())


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("stdin", "properties"),
    [
        ("one\ntwo\n\nfour", []),
        ("k1\tv1\nk2\t\n\tv3\nk4\tv\twith\ttabs\n", ["parse.key=true"]),
        ("k1::v1\nNIL::v2\nk3::NIL\n", ["parse.key=true", "key.separator=::", "null.marker=NIL"]),
        ("a:1,b:2\tk\tv\nNIL\tk\tv\na:NIL\tk\tv\n", ["parse.key=true", "parse.headers=true", "null.marker=NIL"]),
        ("no separator\na:1\tv\n", ["parse.headers=true", "ignore.error=true"]),
        (
            "a=1;b=2|v\n",
            ["parse.headers=true", "headers.delimiter=|", "headers.separator=;", "headers.key.separator=="],
        ),
        ("ünïcödé ☃\n", []),
    ],
)
def test_the_same_records(streams: Streams, topic: str, stdin: str, properties: list[str], tmp_path: Path) -> None:
    options = [each for one in properties for each in ("--reader-property", one)]
    count = len(stdin.splitlines())
    found = []
    for side, produce in (("ours", streams.ours), ("theirs", streams.theirs)):
        name = f"{topic}-{side}"
        assert run_piped(
            "topics", "--create", "--topic", name, "--partitions", "1", "--bootstrap-server", streams.bootstrap
        ).code == 0  # fmt: skip
        done = produce("console-producer", "--topic", name, *options, stdin=stdin)
        assert (done[0], done[1]) == (0, "")
        found.append(_contents(streams, name, count, tmp_path))
    assert found[0] == found[1]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('Missing required argument "[topic]"', []),
        (
            "Options --command-config and --producer.config cannot be specified together",
            ["--topic", "x", "--command-config", "a", "--producer.config", "b"],
        ),
        (
            "Options --reader-property and --property cannot be specified together",
            ["--topic", "x", "--reader-property", "a=b", "--property", "a=b"],
        ),
        ("no-such-option", ["--topic", "x", "--no-such-option"]),
    ],
)
def test_the_same_refusal(streams: Streams, text: str, arguments: list[str]) -> None:
    streams.refused(text, "console-producer", *arguments)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments", "stdin"),
    [
        (
            "No key separator found on line number 2: 'nothing'",
            ["--reader-property", "parse.key=true"],
            "k\tv\nnothing\n",
        ),
        ("null.marker and key.separator may not be equal", ["--reader-property", "null.marker=\t"], "x\n"),
        ("blurb", ["--compression-codec", "blurb"], "x\n"),
    ],
)
def test_the_same_failure(streams: Streams, topic: str, text: str, arguments: list[str], stdin: str) -> None:
    ours, theirs = streams.both("console-producer", "--topic", topic, *arguments, stdin=stdin)
    assert ours.code == 1
    assert text in theirs.stderr
    assert text in ours.stderr
    assert ours.stderr.count("\n") == 1


def test_bad_servers(kafka: Node) -> None:
    for servers in ("localhost", "localhost:x", ":1", "a:1,b"):
        done = run_piped("console-producer", "--topic", "x", "--bootstrap-server", servers)
        assert done.code == 1
        assert "Please provide valid host:port like host1:9091,host2:9092" in done.stderr


@pytest.mark.parametrize("options", [[], ["--sync"]])
def test_a_record_that_is_refused_fails_the_command(kafka: Node, topic: str, options: list[str]) -> None:
    server = ("--bootstrap-server", kafka.bootstrap)
    config = ("--config", "max.message.bytes=100")
    assert run_piped("topics", "--create", "--topic", topic, *config, *server).code == 0
    done = run_piped("console-producer", "--topic", topic, *server, *options, stdin="x" * 1000 + "\n")
    assert done.code == 1
    assert done.stderr.startswith("ottla console-producer: ")
    assert "Traceback" not in done.stderr


def test_a_cluster_is_looked_for_as_long_as_a_record_may_wait() -> None:
    line = ("--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--request-timeout-ms", "100", "--max-block-ms", "600")
    done = run_piped("console-producer", *line, stdin="a\n")
    assert done.code == 1
    assert "within 600 ms" in done.stderr
    assert done.stderr.count("\n") == 1


def test_where_records_went(kafka: Node, topic: str) -> None:
    done = run_piped(
        "console-producer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, "--json", stdin="a\nb\n"
    )
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.code == 0
    assert sorted(each["offset"] for each in documents) in ([0, 0], [0, 1])
    assert {each["topic"] for each in documents} == {topic}


def test_a_file_as_standard_input(kafka: Node, topic: str, tmp_path: Path) -> None:
    import subprocess

    from tests.cli.terminal import command

    path = tmp_path / "lines"
    path.write_text("".join(f"{number}\n" for number in range(50_000)))
    with path.open() as stream:
        line = command("console-producer", "--topic", topic, "--bootstrap-server", kafka.bootstrap)
        assert subprocess.run(line, stdin=stream, check=False, timeout=60).returncode == 0
    read = run_piped(
        "console-consumer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        "--max-messages", "50000", "--timeout-ms", "20000",
    )  # fmt: skip
    assert sorted(map(int, read.stdout.split())) == list(range(50_000))


def test_typing_at_a_terminal(kafka: Node, topic: str) -> None:
    screen = run_in_terminal(
        "console-producer", "--topic", topic, "--bootstrap-server", kafka.bootstrap,
        typed=[(">", b"typed by hand\n"), ("typed by hand\n>", b"\x04")],
    )  # fmt: skip
    assert screen.code == 0
    assert screen.text.startswith(">")
    read = run_piped(
        "console-consumer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        "--max-messages", "1", "--timeout-ms", "20000",
    )  # fmt: skip
    assert read.stdout == "typed by hand\n"


def test_ctrl_c_is_quiet_and_loses_nothing(kafka: Node, topic: str) -> None:
    typed = [(">", b"first\n"), ("first\n>", b"\x03")]
    screen = run_in_terminal("console-producer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, typed=typed)
    assert screen.code == 128 + signal.SIGINT
    assert "Traceback" not in screen.text
    read = run_piped(
        "console-consumer", "--topic", topic, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        "--max-messages", "1", "--timeout-ms", "20000",
    )  # fmt: skip
    assert read.stdout == "first\n"


def test_reading_lines() -> None:
    reader = LineReader({"parse.key": "TRUE ", "parse.headers": "true", "null.marker": "-"})
    assert reader.read(b"a:1,b:-\tk\tv\r") == LineRecord(b"k", b"v", [("a", b"1"), ("b", None)])
    assert reader.read(b"-\t-\t-") == LineRecord(None, None, None)
    with pytest.raises(CommandError, match="No headers delimiter found on line number 3"):
        reader.read(b"x")
    with pytest.raises(CommandError, match="No header key separator found in pair 'a' on line number 4"):
        reader.read(b"a\tk\tv")
    with pytest.raises(CommandError, match="can't be null"):
        reader.read(b"-:1\tk\tv")
    assert LineReader({}).read(b"\xff\xfe") == LineRecord(None, b"\xff\xfe", None)
    for properties in ({"headers.delimiter": ","}, {"key.separator": ""}, {"headers.separator": "["}):
        with pytest.raises(CommandError):
            LineReader(properties)
