"""``ottla console-consumer`` beside kafka-console-consumer.sh: what is printed, where it ends, how it fails."""

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from tests.cli.streams import Streams, signalled
from tests.cli.terminal import command, run_in_terminal, run_piped
from tests.clients.admin.waiting import attempts
from tests.node import Node

TOPIC = "shown"
COUNT = 6
BASE_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def shown(kafka: Node) -> Iterator[None]:
    """A topic of one partition with keys, nulls, headers and bytes that are no text."""
    made = run_piped("topics", "--create", "--topic", TOPIC, "--partitions", "1", "--config", "retention.ms=-1",
                     "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert made.code == 0, made
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    records: list[tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]] = [
        (b"k", b"v", []),
        (None, b"no key", [("h", b"1"), ("g", None)]),
        (b"tombstone", None, []),
        (b"", b"", [("empty", b"")]),
        ("ü".encode(), "☃".encode(), []),
        (b"\x00\x00\x00\x07", b"\x00\x00\x00\x00\x00\x00\x00\x2a", []),
    ]
    for number, (key, value, headers) in enumerate(records):
        producer.produce(TOPIC, value, key, headers=headers, timestamp=BASE_MS + number)
    assert producer.flush(60) == 0
    yield


@pytest.mark.oracle
@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--from-beginning"],
        ["--from-beginning", *(f"--formatter-property=print.{name}=true" for name in
          ("key", "timestamp", "partition", "offset", "headers", "delivery"))],
        ["--from-beginning", "--formatter-property=print.key=true", "--formatter-property=key.separator= | ",
         "--formatter-property=null.literal=NIL", "--formatter-property=line.separator=;"],
        ["--from-beginning", "--formatter-property=print.value=false", "--formatter-property=print.offset=true"],
        ["--partition", "0", "--offset", "2"],
        ["--partition", "0", "--offset", "earliest"],
        ["--include", "sho.n", "--from-beginning", "--isolation-level", "read_committed"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_same_records(streams: Streams, arguments: list[str]) -> None:
    topic = [] if "--include" in arguments else ["--topic", TOPIC]
    count = str(COUNT - 2 if "2" in arguments else COUNT)
    ours, theirs = streams.both(
        "console-consumer", *topic, *arguments, "--max-messages", count, "--timeout-ms", "20000"
    )
    assert ours.code == 0
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr.splitlines(keepends=True)[-1] == f"Processed a total of {count} messages\n"


@pytest.mark.oracle
@pytest.mark.usefixtures("shown")
def test_the_same_numbers(streams: Streams) -> None:
    deserializers = "org.apache.kafka.common.serialization."
    ours, theirs = streams.both(
        "console-consumer", "--topic", TOPIC, "--partition", "0", "--offset", "5", "--max-messages", "1",
        "--formatter-property", "print.key=true", "--key-deserializer", f"{deserializers}IntegerDeserializer",
        "--value-deserializer", f"{deserializers}LongDeserializer",
    )  # fmt: skip
    assert ours.stdout == theirs.stdout == "7\t42\n"


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Exactly one of the following arguments is required: [topic], [include]", []),
        ("Exactly one of the following", ["--topic", "a", "--include", "b"]),
        ("The topic is required when partition is specified", ["--include", "a", "--partition", "1"]),
        ("The partition is required when offset is specified", ["--topic", "a", "--offset", "1"]),
        (
            "Options from-beginning and offset cannot be specified together",
            ["--topic", "a", "--partition", "0", "--offset", "1", "--from-beginning"],
        ),
        (
            "The provided offset value '-3' is incorrect.",
            ["--topic", "a", "--partition", "0", "--offset=-3"],
        ),
        (
            "Options group and partition cannot be specified together",
            ["--topic", "a", "--partition", "0", "--group", "g"],
        ),
        ("do not match", ["--topic", "a", "--group", "g", "--command-property", "group.id=h"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_same_refusal(streams: Streams, text: str, arguments: list[str]) -> None:
    streams.refused(text, "console-consumer", *arguments)


@pytest.mark.oracle
def test_contradicting_resets(streams: Streams) -> None:
    arguments = ("--topic", "a", "--from-beginning", "--command-property", "auto.offset.reset=latest")
    streams.refused("Can't simultaneously specify --from-beginning and", "console-consumer", *arguments)


@pytest.mark.oracle
@pytest.mark.usefixtures("shown")
def test_the_end_of_patience(streams: Streams) -> None:
    ours, theirs = streams.both("console-consumer", "--topic", TOPIC, "--timeout-ms", "300")
    assert (ours.code, ours.stdout, theirs.stdout) == (0, "", "")
    assert ours.stderr == "Processed a total of 0 messages\n"
    assert theirs.stderr.endswith(ours.stderr)


@pytest.mark.usefixtures("shown")
def test_a_group_goes_on_where_it_was(kafka: Node) -> None:
    seen = []
    for _ in range(2):
        done = run_piped(
            "console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--group", "goes-on",
            "--from-beginning", "--max-messages", "3", "--formatter-property", "print.offset=true",
            "--formatter-property", "print.value=false", "--timeout-ms", "20000",
        )  # fmt: skip
        seen.append(done.stdout.split())
    assert seen == [["Offset:0", "Offset:1", "Offset:2"], ["Offset:3", "Offset:4", "Offset:5"]]


@pytest.mark.usefixtures("shown")
def test_json(kafka: Node) -> None:
    done = run_piped(
        "console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        "--max-messages", str(COUNT), "--json", "--formatter-property", "print.key=true", "--timeout-ms", "20000",
    )  # fmt: skip
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["offset"] for each in documents] == list(range(COUNT))
    assert documents[1]["headers"] == [["h", "1"], ["g", None]]
    assert documents[2]["value"] is None
    assert documents[4]["value"] == "☃"
    assert documents[0]["timestamp"] == BASE_MS
    assert documents[0]["timestamp_type"] == "create_time"


@pytest.mark.usefixtures("shown")
def test_a_record_that_cannot_be_shown(kafka: Node) -> None:
    arguments = (
        "console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--partition", "0",
        "--offset", "4", "--max-messages", "2", "--value-deserializer",
        "org.apache.kafka.common.serialization.LongDeserializer",
    )  # fmt: skip
    failed = run_piped(*arguments)
    assert failed.code == 1
    assert "The record at shown-0:4 cannot be shown" in failed.stderr
    assert "--skip-message-on-error" in failed.stderr
    passed = run_piped(*arguments, "--skip-message-on-error")
    assert (passed.code, passed.stdout) == (0, "42\n")
    assert "The record at shown-0:4 cannot be shown" in passed.stderr


def test_offsets_of_groups(kafka: Node, topic: str) -> None:
    server = ("--bootstrap-server", kafka.bootstrap)
    assert run_piped("console-producer", "--topic", topic, *server, stdin="x\n").code == 0
    read = run_piped("console-consumer", "--topic", topic, *server, "--group", f"{topic}-g", "--from-beginning",
                     "--max-messages", "1", "--timeout-ms", "20000")  # fmt: skip
    assert read.stdout == "x\n"
    for _ in attempts("Reading the offsets"):  # the time for the first record may be over before it comes
        offsets = run_piped(
            "console-consumer", "--topic", "__consumer_offsets", *server, "--from-beginning", "--timeout-ms", "2000",
            "--command-property", "exclude.internal.topics=false",
            "--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
        )  # fmt: skip
        assert offsets.code == 0, offsets.stderr
        if f'"group":"{topic}-g","topic":"{topic}"' in offsets.stdout:
            break


def test_unknown_formatters_and_codes(kafka: Node) -> None:
    done = run_piped("console-consumer", "--topic", "x", "--bootstrap-server", kafka.bootstrap, "--formatter", "a.B")
    assert done.code == 1
    assert "There is no formatter a.B here" in done.stderr


@pytest.mark.usefixtures("shown")
def test_in_a_terminal_until_ctrl_c(kafka: Node) -> None:
    screen = run_in_terminal(
        "console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        "--enable-systest-events", typed=[("☃", b"\x03")],
    )  # fmt: skip
    assert screen.code == 128 + signal.SIGINT  # as a JVM ends
    assert f"Processed a total of {COUNT} messages" in screen.text
    assert "shutdown_complete" in screen.text
    assert "Traceback" not in screen.text


@pytest.mark.usefixtures("shown")
def test_sigint_in_a_pipe(kafka: Node) -> None:
    done = signalled(
        "console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--from-beginning",
        number=signal.SIGINT, after=lambda seen: "no key" in seen,
    )  # fmt: skip
    assert done.code == 130
    assert done.stderr == f"Processed a total of {COUNT} messages\n"


@pytest.mark.usefixtures("shown")
def test_a_reader_that_leaves(kafka: Node) -> None:
    line = command("console-consumer", "--topic", TOPIC, "--bootstrap-server", kafka.bootstrap, "--from-beginning")
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 0
    assert said.startswith("Unable to write to standard out, closing consumer.\n")


def test_no_server() -> None:
    done = run_piped("console-consumer", "--topic", "x", "--bootstrap-server", "localhost:1", "--command-property",
                     "default.api.timeout.ms=1000", "--command-property", "request.timeout.ms=500")  # fmt: skip
    assert done.code == 1
    assert "is the server running" in done.stderr
