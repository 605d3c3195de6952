"""``ottla topics`` beside kafka-topics.sh, in a terminal, and as JSON."""

import re
from collections.abc import Iterator

import pytest

from ottla.cli.errors import CommandError
from ottla.cli.topic_filter import TopicFilter
from ottla.cli.topics import replica_assignment, topic_configs
from tests.cli.beside import Beside, one_line_error
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node


@pytest.fixture(scope="module")
def made(kafka: Node) -> Iterator[None]:
    """Topics to look at."""
    for name, partitions, *configs in (
        ("orders", "3", "retention.ms=3600000", "cleanup.policy=delete"),
        ("orders-old", "1"),
        ("payments", "2", "segment.bytes=2097152"),
    ):
        settings = [each for config in configs for each in ("--config", config)]
        done = run_piped(
            "topics", "--create", "--topic", name, "--partitions", partitions, *settings,
            "--bootstrap-server", kafka.bootstrap,
        )  # fmt: skip
        assert (done.code, done.stdout, done.stderr) == (0, f"Created topic {name}.\n", "")
    yield


def _configs_sorted(output: str) -> list[str]:
    """Lines with the settings of a topic in order, and in order: Apache's are in that of a hash table."""
    return sorted(
        re.sub(r"Configs: (.*)", lambda match: "Configs: " + ",".join(sorted(match[1].split(","))), line)
        for line in output.splitlines()
    )


@pytest.mark.usefixtures("made")
class TestLooking:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--list"],
            ["--list", "--exclude-internal"],
            ["--list", "--topic", "orders.*"],
            ["--list", "--topic", "orders,payments"],
            ["--list", "--topic", "nothing-like-this"],
            ["--describe", "--topic", "orders"],
            ["--describe", "--topic", "orders.*|payments"],
            ["--describe", "--exclude-internal"],
            ["--describe", "--topic", "orders", "--partition-size-limit-per-response", "1"],
            ["--describe", "--topic", "nothing", "--if-exists"],
            ["--describe", "--topics-with-overrides", "--exclude-internal"],
            ["--describe", "--under-replicated-partitions"],
            ["--describe", "--unavailable-partitions"],
            ["--describe", "--under-min-isr-partitions"],
            ["--describe", "--at-min-isr-partitions", "--topic", "orders"],
        ],
        ids=" ".join,
    )
    def test_the_same_lines(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("topics", *arguments, normal=_configs_sorted)

    def test_by_id(self, beside: Beside) -> None:
        topics = {each["name"]: each for each in beside.document("topics", "--list")}
        printed = beside.same(
            "topics", "--describe", "--topic-id", topics["orders"]["topic_id"], normal=_configs_sorted
        )
        assert printed.startswith("Topic: orders\t")

    def test_json(self, beside: Beside) -> None:
        listed = beside.document("topics", "--list", "--exclude-internal")
        assert {"orders", "orders-old", "payments"} <= {each["name"] for each in listed}
        assert all(set(each) == {"name", "topic_id", "internal"} for each in listed)
        (orders,) = beside.document("topics", "--describe", "--topic", "orders")
        assert (orders["topic"], orders["partition_count"], orders["replication_factor"]) == ("orders", 3, 1)
        assert orders["configs"]["retention.ms"] == "3600000"
        assert orders["partitions"][2] == {
            "partition": 2, "leader": 1, "replicas": [1], "isr": [1], "adding_replicas": [], "removing_replicas": [],
            "elr": [], "last_known_elr": [],
        }  # fmt: skip
        assert beside.document("topics", "--describe", "--under-replicated-partitions") == []

    def test_in_a_terminal(self, kafka: Node) -> None:
        server = ("--bootstrap-server", kafka.bootstrap)
        screen = run_in_terminal("topics", "--describe", "--topic", "orders", *server)
        assert screen.code == 0
        assert "orders (" in screen.text
        assert "retention.ms=3600000" in screen.text
        rows = [line.split() for line in screen.text.splitlines() if re.match(r"\s+[012] ", line)]
        assert [row[:4] for row in rows] == [[str(partition), "1", "1", "1"] for partition in range(3)]
        listing = run_in_terminal("topics", "--list", "--topic", "orders.*", *server)
        assert (listing.code, listing.text) == (0, "orders\norders-old\n")
        overrides = run_in_terminal("topics", "--describe", "--topics-with-overrides", *server)
        assert re.search(r"payments +segment.bytes +2097152", overrides.text)
        narrow = run_in_terminal("topics", "--describe", "--topic", "orders", *server, columns=40)
        assert narrow.code == 0


@pytest.mark.usefixtures("made")
class TestFailing:
    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("Command must include exactly one action", []),
            ("Command must include exactly one action", ["--list", "--describe"]),
            ('Missing required argument "[topic]"', ["--create"]),
            ('Missing required argument "[topic]"', ["--delete"]),
            ('Missing required argument "[partitions]"', ["--alter", "--topic", "orders"]),
            ("[config]", ["--alter", "--topic", "orders", "--config", "retention.ms=1", "--partitions", "9"]),
            (
                'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
                ["--create", "--topic", "x", "--partitions", "1", "--replica-assignment", "1"],
            ),
            (
                'Option "[partitions]" can\'t be used with option "[describe]"',
                ["--describe", "--topic", "x", "--partitions", "1"],
            ),
            (
                'Option "[if-not-exists]" can\'t be used with option "[delete]"',
                ["--delete", "--topic", "x", "--if-not-exists"],
            ),
            ("--topic or --topic-id is required to describe a topic", ["--describe", "--if-exists"]),
            ("Topic 'orders' already exists", ["--create", "--topic", "orders"]),
            ("Topic 'nothing' does not exist as expected", ["--describe", "--topic", "nothing"]),
            ("Topic 'nothing' does not exist as expected", ["--delete", "--topic", "nothing"]),
            ("Topic 'nothing' does not exist as expected", ["--alter", "--topic", "nothing", "--partitions", "3"]),
            (
                "TopicId 'AAAAAAAAAAAAAAAAAAAAAg' does not exist as expected",
                ["--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAg"],
            ),
            ("The partitions must be greater than 0", ["--create", "--topic", "x", "--partitions", "0"]),
            (
                "The replication factor must be between 1 and 32767 inclusive",
                ["--create", "--topic", "x", "--replication-factor", "0"],
            ),
            (
                "The target replication factor of 3 cannot be reached",
                ["--create", "--topic", "x", "--replication-factor", "3"],
            ),
            ("Unknown topic config name: no.such", ["--create", "--topic", "x", "--config", "no.such=1"]),
            (
                "Invalid value -5 for configuration retention.ms: Value must be at least -1",
                ["--create", "--topic", "x", "--config", "retention.ms=-5"],
            ),
            ("all configs to be added must be in the format", ["--create", "--topic", "x", "--config", "retention.ms"]),
            ("Topic name is invalid", ["--create", "--topic", "a b"]),
            ("is an invalid regex", ["--list", "--topic", "["]),
            (
                "Partition replica lists may not contain duplicate entries: 1",
                ["--create", "--topic", "x", "--replica-assignment", "1:1"],
            ),
            (
                "Partition 1 has different replication factor",
                ["--create", "--topic", "x", "--replica-assignment", "1,1:2"],
            ),
            (
                "The topic orders currently has 3 partition(s); 2 would not be an increase",
                ["--alter", "--topic", "orders", "--partitions", "2"],
            ),
            ("Found multiple arguments for option topic", ["--delete", "--topic", "a", "--topic", "b"]),
            ("no-such-option", ["--no-such-option"]),
        ],
    )
    def test_the_same_failure(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "topics", *arguments)

    def test_no_server(self, beside: Beside, hasty: str) -> None:
        line = beside.same_failure(
            "", "topics", "--list", "--bootstrap-server", "localhost:1", "--command-config", hasty
        )
        assert "is the server running" in line

    def test_the_failure_in_a_terminal(self, kafka: Node) -> None:
        screen = run_in_terminal("topics", "--create", "--topic", "orders", "--bootstrap-server", kafka.bootstrap)
        assert screen.code == 1
        assert screen.text.startswith("ottla topics: Topic 'orders' already exists; ")
        assert screen.text.count("\n") == 1

    def test_no_file_of_properties(self, beside: Beside) -> None:
        ours = beside.ours("topics", "--list", "--command-config", "/no/such/file")
        assert ours.code == beside.theirs("topics", "--list", "--command-config", "/no/such/file").returncode == 1
        assert "/no/such/file" in one_line_error("topics", ours)


def test_create_alter_delete(beside: Beside, topic: str) -> None:
    topic = topic.replace("_", "-")
    created = beside.ours("topics", "--create", "--topic", topic, "--partitions", "2")
    assert (created.code, created.stdout) == (0, f"Created topic {topic}.\n")
    for command in (beside.ours, beside.theirs):
        again = command("topics", "--create", "--topic", topic, "--if-not-exists")
        assert (again[0], again[1]) == (0, "")
    assert beside.ours("topics", "--alter", "--topic", topic, "--partitions", "4") == (0, "", "")
    assert "PartitionCount: 4\t" in beside.same("topics", "--describe", "--topic", topic, normal=_configs_sorted)
    assert beside.ours("topics", "--delete", "--topic", topic) == (0, "", "")
    assert beside.same("topics", "--list", "--topic", topic) == "\n"
    assert beside.ours("topics", "--delete", "--topic", topic, "--if-exists") == (0, "", "")


def test_created_with_brokers_and_a_colliding_name(beside: Beside) -> None:
    ours = beside.ours("topics", "--create", "--topic", "with_a.dot", "--replica-assignment", "1,1")
    theirs = beside.theirs("topics", "--create", "--topic", "with_a.dot2", "--replica-assignment", "1,1")
    assert (ours.code, theirs.returncode) == (0, 0)
    assert ours.stdout.splitlines()[0] == theirs.stdout.splitlines()[0]
    assert ours.stdout.splitlines()[0].startswith("WARNING: Due to limitations in metric names")
    assert ours.stdout.splitlines()[1] == "Created topic with_a.dot."
    assert len(beside.document("topics", "--describe", "--topic", "with_a.dot")[0]["partitions"]) == 2


def test_json_of_changes(beside: Beside, topic: str) -> None:
    assert beside.document("topics", "--create", "--topic", topic) == {"created": [topic]}
    assert beside.document("topics", "--create", "--topic", topic, "--if-not-exists") == {"created": []}
    assert beside.document("topics", "--alter", "--topic", topic, "--partitions", "7") == {"altered": [topic]}
    assert beside.document("topics", "--delete", "--topic", topic) == {"deleted": [topic]}


def test_settings_of_a_new_topic() -> None:
    assert topic_configs(["a.b=1", " c = d ", "e = f"]) == {"a.b": "1", "c": "d", "e": "f"}
    for bad in ("a", "a=", "a=b=c", "="):
        with pytest.raises(CommandError):
            topic_configs([bad])


def test_brokers_of_a_new_topic() -> None:
    assert replica_assignment("1:2,2: 3") == {0: [1, 2], 1: [2, 3]}
    for bad in ("a", "1:1", "1,2:3", ""):
        with pytest.raises(CommandError):
            replica_assignment(bad)


def test_patterns() -> None:
    assert TopicFilter("a,b c").allows("bc")
    assert TopicFilter("'x.*'").allows("xyz")
    assert not TopicFilter("x").allows("xx")
    assert not TopicFilter(".*").allows("__consumer_offsets", exclude_internal=True)
