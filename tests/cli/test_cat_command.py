"""``ottla cat``: kcat's modes, offsets, formats and delimiters, on both Kafkas."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.cli.cat_consume import Place
from ottla.cli.cat_format import compile_format, kcat_json, unescape
from ottla.cli.cat_unpack import compile_pack
from ottla.cli.errors import UsageError
from ottla.clients import ConsumerRecord
from ottla.records.batch import TimestampType
from ottla.records.record import Header
from tests.cli.streams import signalled
from tests.cli.terminal import Piped, run_in_terminal, run_piped
from tests.node import Node

TOPIC = "catted"
BASE_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def catted(kafka: Node) -> Iterator[None]:
    """Two partitions with five and no records, one second apart."""
    made = run_piped("topics", "--create", "--topic", TOPIC, "--partitions", "2", "--config", "retention.ms=-1",
                     "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert made.code == 0, made
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(5):
        headers: list[tuple[str, str | bytes | None]] = [("n", str(number).encode())]
        producer.produce(TOPIC, f"v{number}", f"k{number}", 0, timestamp=BASE_MS + number * 1000, headers=headers)
    assert producer.flush(60) == 0
    yield


def _cat(kafka: Node, *arguments: str, stdin: str = "") -> Piped:
    return run_piped("cat", "-b", kafka.bootstrap, *arguments, stdin=stdin)


@pytest.mark.usefixtures("catted")
class TestConsuming:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ([], "v0\nv1\nv2\nv3\nv4\n"),
            (["-K", "="], "k0=v0\nk1=v1\nk2=v2\nk3=v3\nk4=v4\n"),
            (["-D", "\\x7c", "-c", "2"], "v0|v1|"),
            (["-o", "3"], "v3\nv4\n"),
            (["-o", "-2", "-p", "0"], "v3\nv4\n"),
            (["-o", "end"], ""),
            (["-o", f"s@{BASE_MS + 1500}"], "v2\nv3\nv4\n"),
            (["-o", f"s@{BASE_MS + 1000}", "-o", f"e@{BASE_MS + 3000}"], "v1\nv2\n"),
            (["-f", "%t [%p] %o %k/%K %s/%S %T %h%%\\n", "-c", "1"], f"catted [0] 0 k0/2 v0/2 {BASE_MS} n=0%\n"),
            (["-p", "1"], ""),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_what_is_printed(self, kafka: Node, arguments: list[str], expected: str) -> None:
        done = _cat(kafka, "-C", "-t", TOPIC, "-e", *arguments)
        assert (done.code, done.stdout) == (0, expected), done

    def test_records_come_through_a_pipe_while_it_waits_for_more(
        self, kafka: Node, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
        done = signalled(
            "cat", "-b", kafka.bootstrap, "-C", "-t", TOPIC, "-o", "4", number=signal.SIGINT, after="v4\n".__eq__
        )
        assert (done.code, done.stdout) == (130, "v4\n"), done

    def test_ends_are_told_unless_quiet(self, kafka: Node) -> None:
        done = _cat(kafka, "-C", "-t", TOPIC, "-e")
        assert done.stderr.splitlines() == [
            "% Reached end of topic catted [1] at offset 0",
            "% Reached end of topic catted [0] at offset 5: exiting",
        ]
        assert _cat(kafka, "-C", "-t", TOPIC, "-e", "-q").stderr == ""

    def test_json(self, kafka: Node) -> None:
        document = json.loads(_cat(kafka, "-C", "-t", TOPIC, "-e", "-q", "-J", "-c", "1").stdout)
        assert document == {
            "topic": TOPIC, "partition": 0, "offset": 0, "tstype": "create", "ts": BASE_MS, "headers": ["n", "0"],
            "key": "k0", "payload": "v0",
        }  # fmt: skip

    def test_a_group_goes_on(self, kafka: Node) -> None:
        first = _cat(kafka, "-G", "cats", TOPIC, "-c", "2")
        assert first.stdout == "v0\nv1\n"
        assert "% Group cats rebalanced: assigned: catted [0], catted [1]" in first.stderr
        assert _cat(kafka, "-G", "cats", "^catt", "-e", "-q") == (0, "v2\nv3\nv4\n", "")

    def test_stored_offsets(self, kafka: Node) -> None:
        assert _cat(kafka, "-G", "stored", TOPIC, "-c", "4", "-q").code == 0
        done = _cat(kafka, "-C", "-t", TOPIC, "-o", "stored", "-X", "group.id=stored", "-e", "-q")
        assert done.stdout == "v4\n"

    def test_queries(self, kafka: Node) -> None:
        done = _cat(kafka, "-Q", "-t", f"{TOPIC}:0:{BASE_MS + 2500}", "-t", f"{TOPIC}:0:{BASE_MS + 9000}")
        assert done.stdout.splitlines() == [f"{TOPIC} [0] offset -1"]
        asked = _cat(kafka, "-Q", "-t", f"{TOPIC}:0:{BASE_MS + 2500}", "-t", f"{TOPIC}:1:0")
        assert asked.stdout.splitlines() == [f"{TOPIC} [0] offset 3", f"{TOPIC} [1] offset -1"]

    def test_metadata(self, kafka: Node) -> None:
        lines = _cat(kafka, "-L", "-t", TOPIC).stdout.splitlines()
        assert lines[0] == f"Metadata for {TOPIC} (from broker 1: {kafka.bootstrap}/1):"
        assert f"  broker 1 at {kafka.bootstrap} (controller)" in lines
        assert lines[-2:] == [
            "    partition 0, leader 1, replicas: 1, isrs: 1",
            "    partition 1, leader 1, replicas: 1, isrs: 1",
        ]
        document = json.loads(_cat(kafka, "-L", "-J").stdout)
        assert TOPIC in {topic["topic"] for topic in document["topics"]}

    def test_in_a_terminal_until_ctrl_c(self, kafka: Node) -> None:
        arguments = ("cat", "-b", kafka.bootstrap, "-t", TOPIC)  # a terminal reads
        screen = run_in_terminal(*arguments, typed=[("v4", b"\x03")])
        assert screen.code == 128 + signal.SIGINT
        assert screen.text.replace("^C", "").split() == ["v0", "v1", "v2", "v3", "v4"]

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("-t topic missing", ["-C"]),
            ("Invalid offset never", ["-C", "-t", TOPIC, "-o", "never"]),
            ("There is no topic not-there", ["-C", "-t", "not-there"]),
            ("has no partition 9", ["-C", "-t", TOPIC, "-p", "9"]),
            ("Unsupported formatter: %x", ["-C", "-t", TOPIC, "-f", "%x"]),
            ("-Q wants -t TOPIC:PARTITION:TIMESTAMP", ["-Q", "-t", TOPIC]),
            ("-G GROUP needs topics", ["-G", "g"]),
        ],
    )
    def test_failures(self, kafka: Node, text: str, arguments: list[str]) -> None:
        done = _cat(kafka, *arguments)
        assert done.code == 1
        assert text in done.stderr
        assert done.stderr.count("\n") == 1


def test_producing(kafka: Node, topic: str, tmp_path: Path) -> None:
    assert _cat(kafka, "-P", "-t", topic, "-p", "0", "-K", ":", "-Z", stdin="k:v\n:x\nk2:\n") == (0, "", "")
    assert (
        _cat(kafka, "-t", topic, "-p", "0", "-k", "key", "-H", "a=b", "-T", "-z", "gzip", stdin="y\n\nz").stdout
        == "y\nz\n"
    )
    for number, name in enumerate(("one", "two")):
        (tmp_path / name).write_text(f"whole\nfile {number}")
    files = [str(tmp_path / name) for name in ("one", "two")]
    assert _cat(kafka, "-P", "-t", topic, "-p", "0", *files).code == 0
    assert _cat(kafka, "-P", "-t", topic, "-p", "0", "-l", "-c", "1", files[0]).code == 0
    read = _cat(kafka, "-C", "-t", topic, "-p", "0", "-e", "-q", "-Z", "-f", "%k|%s|%h;")
    assert read.stdout.split(";") == [
        "k|v|", "NULL|x|", "k2|NULL|", "key|y|a=b", "key|z|a=b", "NULL|whole\nfile 0|", "NULL|whole\nfile 1|",
        "NULL|whole|", "",
    ]  # fmt: skip


def test_numbers(kafka: Node, topic: str) -> None:
    sent = "\0\0\0\x07:\0\x01\x7fhey|\0\0\0\x08:x|"
    assert _cat(kafka, "-P", "-t", topic, "-p", "0", "-K", ":", "-D", "|", stdin=sent).code == 0
    line = ("-C", "-t", topic, "-p", "0", "-e", "-q", "-s", "key=i$", "-s", "value=hB s")
    done = _cat(kafka, *line, "-f", "%k=%s;")
    assert (done.code, done.stdout) == (1, "7=1127 hey;")
    assert "at offset 1 is not what -s says: truncated, expected 2 bytes to unpack h but only 1 bytes" in done.stderr
    done = _cat(kafka, *line, "-J", "-E")
    assert (done.code, json.loads(done.stdout)["payload"]) == (0, "1127 hey")
    assert done.stderr.startswith("% The message in ")


def test_pack_strings() -> None:
    assert compile_pack("<h>h bB")(b"\x01\0\0\x01\xff\xff") == b"11 -1255"
    assert compile_pack("cI$")(b"a\xff\xff\xff\xff") == b"a4294967295"
    assert compile_pack("s")(b"text") == b"text"
    for pack, data in (("$", b"x"), ("q", b"short"), ("c", b"")):
        with pytest.raises(ValueError):
            compile_pack(pack)(data)
    for pack in ("avro", "z"):
        with pytest.raises(UsageError):
            compile_pack(pack)


def test_one_transaction(kafka: Node, topic: str) -> None:
    line = ("-P", "-t", topic, "-p", "0", "-X", f"transactional.id={topic}")
    committed = ("-C", "-t", topic, "-p", "0", "-e", "-q", "-X", "isolation.level=read_committed")
    assert _cat(kafka, *line, stdin="1\n2\n") == (0, "", "")
    assert _cat(kafka, *committed).stdout == "1\n2\n"
    shrunk = run_piped("configs", "--alter", "--topic", topic, "--add-config", "max.message.bytes=100",
                       "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert shrunk.code == 0, shrunk
    assert _cat(kafka, *line, stdin=f"3\n{'x' * 1000}\n").code == 1
    assert _cat(kafka, *committed).stdout == "1\n2\n"


def test_habits(kafka: Node) -> None:
    assert run_piped("cat", "-V").stdout.startswith("ottla ")
    assert _cat(kafka, "-L", "-v", "-O", "-E", "-m", "30").code == 0
    assert "within 1000 ms" in run_piped("cat", "-b", "127.0.0.1:1", "-L", "-m", "1").stderr
    assert json.loads(_cat(kafka, "-L", "-J").stdout)["originating_broker"] == {
        "id": 1, "name": f"{kafka.bootstrap}/1",
    }  # fmt: skip


def test_a_message_that_is_refused(kafka: Node, topic: str) -> None:
    made = run_piped("topics", "--create", "--topic", topic, "--config", "max.message.bytes=100",
                     "--bootstrap-server", kafka.bootstrap)  # fmt: skip
    assert made.code == 0
    done = _cat(kafka, "-P", "-t", topic, stdin="x" * 1000 + "\n")
    assert done.code == 1
    assert done.stderr.startswith("% Delivery failed for message: ")


def test_settings_by_librdkafkas_names(kafka: Node, tmp_path: Path) -> None:
    config = tmp_path / "kcat.conf"
    config.write_text(f"metadata.broker.list={kafka.bootstrap}\nsecurity.protocol=plaintext\n")
    assert run_piped("cat", "-F", str(config), "-L").code == 0
    assert run_piped("cat", "-L", environment={"KCAT_CONFIG": str(config)}).code == 0
    assert run_piped("cat", "-L").stderr == "ottla cat: -b broker missing; `ottla cat --help` tells more\n"


def test_formats() -> None:
    record: ConsumerRecord[bytes, bytes] = ConsumerRecord(
        "t", 1, 2, 3, TimestampType.LOG_APPEND_TIME, None, b"\xff", (Header("a", b"1"), Header("b", None))
    )
    assert compile_format("%k %s %R%h\\t\\x41\\q", show_null=False)(record) == b" \xff \x00\x00\x00\x01a=1,b=NULL\tAq"
    assert compile_format("%k %K", show_null=True)(record) == b"NULL -1"
    assert json.loads(kcat_json(record))["payload"] == {"base64": "/w=="}
    assert json.loads(kcat_json(record))["tstype"] == "logappend"
    assert unescape("a\\n%s") == b"a\n%s"


def test_places() -> None:
    assert Place.parse(["-5"]) == Place("tail", 5)
    assert Place.parse(["5"]) == Place("at", 5)
    assert Place.parse(["s@1", "e@2"]) == Place("since", 0, 1, 2)
    with pytest.raises(UsageError):
        Place.parse(["s@x"])
