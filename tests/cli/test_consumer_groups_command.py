"""``ottla consumer-groups`` and ``ottla groups`` beside Apache's tools: living, empty and missing groups."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.cli.errors import CommandError, UsageError
from ottla.cli.reset_offsets import csv_text, parse_partitions, read_plan, shifted
from ottla.cli.times import parse_datetime_ms, parse_duration_ms
from ottla.common.topic_partition import TopicPartition as Partition
from tests.cli.beside import Beside, one_line_error, sorted_lines
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node

BOUND_S = 60
TOPIC = "grouped"
LONG_TOPIC = "a-topic-whose-name-is-longer-than-24"
BASE_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def grouped(kafka: Node) -> Iterator[None]:
    """A topic of two partitions with five and three records, one second apart, and groups with offsets in it."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for topic in (TOPIC, LONG_TOPIC):
        made = ("--topic", topic, "--partitions", "2", "--config", "retention.ms=-1")
        created = run_piped("topics", "--create", *made, "--bootstrap-server", kafka.bootstrap)
        assert created.code == 0, created
        for partition, count in ((0, 5), (1, 3)):
            for number in range(count):
                producer.produce(topic, b"x", partition=partition, timestamp=BASE_MS + number * 1000)
    assert producer.flush(BOUND_S) == 0
    for group in ("idle", "idle-too"):
        _commit(kafka.bootstrap, group, {(TOPIC, 0): 2, (TOPIC, 1): 3})
    _commit(kafka.bootstrap, "long", {(LONG_TOPIC, 0): 1})
    yield


def _commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(
        offsets=[TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()],
        asynchronous=False,
    )
    consumer.close()


@contextmanager
def members(bootstrap: str, group: str, count: int, **configs: Any) -> Iterator[None]:
    """Members that are alive and have their partitions."""
    stop = threading.Event()
    ready = [threading.Event() for _ in range(count)]

    def live(number: int) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": f"client-{number}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **{key: f"{value}-{number}" if key == "group.instance.id" else value for key, value in configs.items()},
            }
        )
        consumer.subscribe([TOPIC])
        while not stop.is_set():
            consumer.poll(0.1)
            if len(consumer.assignment()) == 2 // count:
                ready[number].set()
        consumer.close()

    threads = [threading.Thread(target=live, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        assert all(each.wait(BOUND_S) for each in ready)
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(BOUND_S)


@pytest.mark.usefixtures("grouped")
class TestListing:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--list"],
            ["--list", "--state"],
            ["--list", "--type"],
            ["--list", "--state", "--type"],
            ["--list", "--state", "stable,EMPTY"],
            ["--list", "--type", "classic"],
            ["--list", "--type", "consumer"],
            ["--list", "--state", "dead"],
        ],
        ids=" ".join,
    )
    def test_the_same_lines(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("consumer-groups", *arguments, normal=sorted_lines)

    @pytest.mark.parametrize(
        "arguments",
        [["--list"], ["--list", "--consumer"], ["--list", "--share"], ["--list", "--group-type", "classic"],
         ["--list", "--protocol", "consumer"], ["--list", "--streams"]],
        ids=" ".join,
    )  # fmt: skip
    def test_groups_of_all_kinds(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("groups", *arguments, normal=sorted_lines)

    def test_json_and_terminal(self, beside: Beside) -> None:
        listed = {each["group"]: each for each in beside.document("consumer-groups", "--list")}
        assert listed["idle"] == {"group": "idle", "type": "Classic", "state": "Empty"}
        of_all = {each["group"]: each for each in beside.document("groups", "--list")}
        assert of_all["idle"] == {"group": "idle", "type": "Classic", "protocol": "", "state": "Empty"}
        assert re.search(r"idle +Empty", beside.screen("consumer-groups", "--list", "--state").text)
        assert "idle\n" in beside.screen("consumer-groups", "--list").text
        assert re.search(r"idle +Classic", beside.screen("groups", "--list").text)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("Command must include exactly one action: --list", ["--consumer"]),
            ("--group-type must be a valid group type", ["--list", "--group-type", "odd"]),
            ('Option "[consumer]" can\'t be used with option "[share]"', ["--list", "--consumer", "--share"]),
        ],
    )
    def test_failures_of_groups(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "groups", *arguments)

    def test_no_server(self, beside: Beside, hasty: str) -> None:
        nobody = ("--list", "--bootstrap-server", "localhost:1", "--command-config", hasty)
        assert "is the server running" in beside.same_failure("", "groups", *nobody)
        timely = (*nobody, "--timeout", "1500")
        assert "is the server running" in beside.same_failure("", "consumer-groups", *timely)
        assert beside.ours("consumer-groups", *timely, "--json").code == 1


def _ids(output: str) -> list[str]:
    """Lines with one blank between columns, in order; the same members give the same ids."""
    return sorted(" ".join(line.split()) for line in output.splitlines())


@pytest.mark.usefixtures("grouped")
class TestDescribing:
    @pytest.mark.parametrize(
        "more",
        [
            [],
            ["--offsets"],
            ["--offsets", "--verbose"],
            ["--members"],
            ["--state"],
            ["--members", "--verbose"],
            ["--state", "--verbose"],
        ],
        ids=" ".join,
    )
    def test_an_idle_group(self, beside: Beside, more: list[str]) -> None:
        arguments = ("--describe", "--group", "idle", *more)
        beside.same("consumer-groups", *arguments)
        ours, theirs = beside.ours("consumer-groups", *arguments), beside.theirs("consumer-groups", *arguments)
        assert ours.stderr == theirs.stderr == "\nConsumer group 'idle' has no active members.\n"

    def test_several_groups(self, beside: Beside) -> None:
        beside.same("consumer-groups", "--describe", "--group", "idle", "--group", "long", "--group", "idle-too")

    def test_all_groups(self, beside: Beside) -> None:
        for more in ([], ["--members"], ["--state"]):
            beside.same("consumer-groups", "--describe", "--all-groups", *more, normal=_ids)
        planned = ("--reset-offsets", "--all-groups", "--all-topics", "--to-current", "--dry-run", "--export")
        beside.same("consumer-groups", *planned, normal=sorted_lines)

    @pytest.mark.parametrize(
        ("protocol", "configs"),
        [("classic", {}), ("consumer", {}), ("classic", {"group.instance.id": "static"})],
        ids=["classic", "consumer", "static"],
    )
    def test_a_living_group(self, beside: Beside, protocol: str, configs: dict[str, str]) -> None:
        group = f"living-{protocol}-{len(configs)}"
        with members(beside.bootstrap, group, 2, **{"group.protocol": protocol, **configs}):
            _until_stable(beside, group)
            describe = ("--describe", "--group", group)
            for more in ([], ["--verbose"], ["--members"], ["--members", "--verbose"], ["--state", "--verbose"]):
                beside.same("consumer-groups", *describe, *more, normal=_ids)
            self._check_documents(beside, group, protocol)
            refused = ("--reset-offsets", "--group", group, "--topic", TOPIC, "--to-earliest", "--execute")
            ours, theirs = beside.ours("consumer-groups", *refused), beside.theirs("consumer-groups", *refused)
            said = f"Assignments can only be reset if the group '{group}' is inactive, but the current state is Stable."
            assert ours.code == theirs.returncode == 0
            assert said.rstrip(".") in one_line_error("consumer-groups", ours)
            assert said in theirs.stdout
            assert beside.ours("consumer-groups", *refused, "--json").code == 1
            deleting = ("--delete", "--group", group)
            ours, theirs = beside.ours("consumer-groups", *deleting), beside.theirs("consumer-groups", *deleting)
            assert ours.code == theirs.returncode == 0
            assert f"Group '{group}' could not be deleted due to: " in theirs.stdout
            line = one_line_error("consumer-groups", ours)
            assert f"Group '{group}' could not be deleted due to: " in line
            assert "stop its members first" in line
        beside.theirs("consumer-groups", "--delete", "--group", group)

    def _check_documents(self, beside: Beside, group: str, protocol: str) -> None:
        (offsets,) = beside.document("consumer-groups", "--describe", "--group", group)
        assert (offsets["group"], offsets["state"]) == (group, "Stable")
        assert [each["partition"] for each in offsets["partitions"]] == [0, 1] or {
            each["partition"] for each in offsets["partitions"]
        } == {0, 1}
        assert all(each["client_id"].startswith("client-") for each in offsets["partitions"])
        assert all(each["current_offset"] is each["lag"] is None for each in offsets["partitions"])
        (described,) = beside.document("consumer-groups", "--describe", "--group", group, "--members")
        assert sum(each["partition_count"] for each in described["members"]) == 2
        assert all((each["upgraded"] is True) == (protocol == "consumer") for each in described["members"])
        (state,) = beside.document("consumer-groups", "--describe", "--group", group, "--state")
        assert (state["member_count"], state["coordinator"]["id"]) == (2, 1)
        assert (state["group_epoch"] is None) == (protocol == "classic")
        screen = beside.screen("consumer-groups", "--describe", "--group", group, "--members")
        assert screen.text.count("client-") >= 2

    def test_in_a_terminal(self, beside: Beside) -> None:
        screen = beside.screen("consumer-groups", "--describe", "--group", "idle")
        assert "Consumer group 'idle' has no active members." in screen.text
        assert re.search(rf"idle +{TOPIC} +0 +2 +5 +3 +- +- +-", screen.text)

    def test_nobody_of_that_name(self, beside: Beside) -> None:
        line = beside.same_failure("nobody", "consumer-groups", "--describe", "--group", "nobody")
        assert "`ottla groups --list` shows which there are" in line
        failed = beside.ours("consumer-groups", "--describe", "--group", "nobody", "--json")
        assert (failed.code, failed.stdout) == (1, "")

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            (
                "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-off",
                [],
            ),
            ("Option [describe] takes one of these options", ["--describe"]),
            (
                "takes at most one of these options: [members], [offsets], [state]",
                ["--describe", "--group", "x", "--members", "--state"],
            ),
            ("Option [describe] does not take a value for [state]", ["--describe", "--group", "x", "--state", "empty"]),
            ("[members]", ["--list", "--members"]),
            ("[type]", ["--describe", "--group", "x", "--type"]),
            ("Invalid state list 'odd'", ["--list", "--state", "odd"]),
            ("Invalid types list 'odd'", ["--list", "--type", "odd"]),
            ('Option "[group]" can\'t be used with option "[list]"', ["--list", "--group", "x"]),
            (
                'Option "[group]" can\'t be used with option "[all-groups]"',
                ["--describe", "--group", "x", "--all-groups"],
            ),
            ("Option [delete] takes one of these options", ["--delete"]),
            ("does not support topic-specific offset deletion", ["--delete", "--group", "x", "--topic", "t"]),
            ("Option [delete-offsets] takes the following options", ["--delete-offsets", "--group", "x"]),
        ],
    )
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "consumer-groups", *arguments)


def _until_stable(beside: Beside, group: str) -> None:
    for _ in range(200):
        (state,) = beside.document("consumer-groups", "--describe", "--group", group, "--state")
        if state["state"] == "Stable" and state["member_count"] == 2:
            return
    raise AssertionError(f"the group does not come to rest: {state}")


@pytest.mark.usefixtures("grouped")
class TestResetting:
    @pytest.mark.parametrize(
        "scenario",
        [
            ["--to-earliest"],
            ["--to-latest"],
            ["--to-current"],
            ["--to-offset", "1"],
            ["--to-offset", "100"],
            ["--shift-by", "1"],
            ["--shift-by", "-100"],
            ["--to-datetime", "2023-11-14T22:13:21.500"],
            ["--to-datetime", "2023-11-14T23:13:22.000+01:00"],
            ["--to-datetime", "2033-11-14T22:13:21.500Z"],
            ["--by-duration", "P1D"],
            ["--by-duration", "P20000D"],
        ],
        ids=" ".join,
    )
    @pytest.mark.parametrize(
        "scope", [["--all-topics"], ["--topic", f"{TOPIC}:1"], ["--topic", TOPIC, "--export"]], ids=" ".join
    )
    def test_planned_the_same(self, beside: Beside, scenario: list[str], scope: list[str]) -> None:
        beside.same(
            "consumer-groups", "--reset-offsets", "--group", "idle", *scope, *scenario, "--dry-run", normal=sorted_lines
        )

    def test_done(self, beside: Beside) -> None:
        reset = ("--reset-offsets", "--group", "mine", "--topic", TOPIC, "--to-offset", "1", "--execute")
        done = beside.ours("consumer-groups", *reset)
        assert done.code == 0, done
        assert [line.split() for line in done.stdout.splitlines() if TOPIC in line] == [
            ["mine", TOPIC, "0", "1"],
            ["mine", TOPIC, "1", "1"],
        ]
        beside.same("consumer-groups", "--describe", "--group", "mine")
        shown = beside.screen(
            "consumer-groups", "--reset-offsets", "--group", "mine", "--all-topics", "--to-latest", "--execute"
        )
        assert re.search(rf"mine +{TOPIC} +0 +5", shown.text)
        (document,) = beside.document(
            "consumer-groups", "--reset-offsets", "--group", "mine", "--all-topics", "--to-current", "--dry-run"
        )
        assert document["offsets"][0] == {"topic": TOPIC, "partition": 0, "new_offset": 5}
        deleted = beside.ours("consumer-groups", "--delete", "--group", "mine")
        assert (deleted.code, deleted.stdout) == (0, "Deletion of requested consumer groups ('mine') was successful.\n")

    def test_from_a_file(self, beside: Beside, written: Callable[[str, str], str]) -> None:
        exporting = ("--reset-offsets", "--group", "long", "--all-topics", "--to-latest", "--export", "--dry-run")
        exported = beside.same("consumer-groups", *exporting)
        assert exported.startswith(f'"{LONG_TOPIC}",0,5\n')
        path = written("plan.csv", exported.strip())
        loading = ("--reset-offsets", "--group", "long", "--from-file", path, "--dry-run")
        beside.same("consumer-groups", *loading)
        several = (
            "--reset-offsets",
            "--group",
            "idle",
            "--group",
            "long",
            "--all-topics",
            "--to-latest",
            "--export",
            "--dry-run",
        )
        exported = beside.same("consumer-groups", *several, normal=sorted_lines)
        path = written("several.csv", exported.strip())
        loading_both = ("--reset-offsets", "--group", "idle", "--group", "long", "--from-file", path, "--dry-run")
        beside.same("consumer-groups", *loading_both, normal=sorted_lines)

    def test_without_saying_whether(self, beside: Beside) -> None:
        arguments = ("--reset-offsets", "--group", "idle", "--all-topics", "--to-earliest")
        ours, theirs = beside.ours("consumer-groups", *arguments), beside.theirs("consumer-groups", *arguments)
        assert (ours.code, ours.stderr, sorted_lines(ours.stdout)) == (0, theirs.stderr, sorted_lines(theirs.stdout))
        assert (
            beside.document("consumer-groups", "--describe", "--group", "idle")[0]["partitions"][0]["current_offset"]
            == 2
        )

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("only accepts one of", ["--group", "x", "--all-topics", "--to-latest", "--execute", "--dry-run"]),
            ("Option [reset-offsets] takes one of these options", ["--all-topics", "--to-latest", "--dry-run"]),
            (
                "can't be used with option",
                ["--group", "idle", "--all-topics", "--to-latest", "--to-offset", "1", "--dry-run"],
            ),
            (
                "One of the reset scopes should be defined: --all-topics, --topic",
                ["--group", "idle", "--to-latest", "--dry-run"],
            ),
            ("requires one of the following scenarios", ["--group", "idle", "--all-topics", "--dry-run"]),
            (
                'The partitions "grouped-7" do not exist',
                ["--group", "idle", "--topic", f"{TOPIC}:7", "--to-latest", "--dry-run"],
            ),
            (
                "Invalid partition 'x' specified in topic arg",
                ["--group", "idle", "--topic", f"{TOPIC}:x", "--to-latest", "--dry-run"],
            ),
            (
                "expected topic name and partitions",
                ["--group", "idle", "--topic", f"{TOPIC}:", "--to-latest", "--dry-run"],
            ),
            (
                "since there is no current committed offset",
                ["--group", "new", "--topic", TOPIC, "--shift-by", "1", "--dry-run"],
            ),
            (
                "It does not contain a 'T'",
                ["--group", "idle", "--all-topics", "--to-datetime", "2023-01-01", "--dry-run"],
            ),
            (
                'Unparseable date: "2023-01-01T00:00:00Z"',
                ["--group", "idle", "--all-topics", "--to-datetime", "2023-01-01T00:00:00", "--dry-run"],
            ),
            (
                "Text cannot be parsed to a Duration",
                ["--group", "idle", "--all-topics", "--by-duration", "1D", "--dry-run"],
            ),
            ("/no/such/file", ["--group", "idle", "--from-file", "/no/such/file", "--dry-run"]),
            ("", ["--group", "idle", "--topic", "no-such-topic", "--to-latest", "--dry-run"]),
        ],
    )
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "consumer-groups", "--reset-offsets", *arguments)


@pytest.mark.usefixtures("grouped")
class TestDeleting:
    def test_offsets(self, beside: Beside) -> None:
        for group in ("once", "twice"):
            _commit(beside.bootstrap, group, {(TOPIC, 0): 2, (TOPIC, 1): 3})
        ours = beside.ours("consumer-groups", "--delete-offsets", "--group", "once", "--topic", TOPIC)
        theirs = beside.theirs("consumer-groups", "--delete-offsets", "--group", "twice", "--topic", TOPIC)
        assert (ours.code, theirs.returncode) == (0, 0)
        assert ours.stdout == theirs.stdout.replace("twice", "once")
        assert beside.document("consumer-groups", "--delete-offsets", "--group", "twice", "--topic", f"{TOPIC}:0") == {
            "group": "twice", "error": None, "partitions": [{"topic": TOPIC, "partition": 0, "error": None}]
        }  # fmt: skip
        for group in ("once", "twice"):
            beside.theirs("consumer-groups", "--delete", "--group", group)

    def test_offsets_of_nobody(self, beside: Beside) -> None:
        arguments = ("--delete-offsets", "--group", "nobody", "--topic", TOPIC)
        ours, theirs = beside.ours("consumer-groups", *arguments), beside.theirs("consumer-groups", *arguments)
        assert ours.code == theirs.returncode == 0
        assert one_line_error("consumer-groups", ours)
        shape = [line.split()[:3] for line in theirs.stdout.splitlines() if line.startswith((TOPIC, "TOPIC"))]
        assert [line.split()[:3] for line in ours.stdout.splitlines() if line.startswith((TOPIC, "TOPIC"))] == shape
        assert beside.ours("consumer-groups", *arguments, "--json").code == 1

    def test_groups(self, beside: Beside) -> None:
        for group in ("gone", "gone-too"):
            _commit(beside.bootstrap, group, {(TOPIC, 0): 2})
        some = beside.ours("consumer-groups", "--delete", "--group", "gone", "--group", "nobody")
        assert some.code == 0
        assert some.stdout == "\nThese consumer groups were deleted successfully: 'gone'\n"
        assert "Group 'nobody' could not be deleted due to: " in one_line_error("consumer-groups", some)
        _commit(beside.bootstrap, "gone", {(TOPIC, 0): 2})
        theirs = beside.theirs("consumer-groups", "--delete", "--group", "gone", "--group", "nobody")
        assert theirs.returncode == 0
        assert some.stdout in theirs.stdout
        assert beside.document("consumer-groups", "--delete", "--group", "gone-too") == [
            {"group": "gone-too", "error": None}
        ]

    def test_in_a_terminal(self, beside: Beside) -> None:
        _commit(beside.bootstrap, "gone", {(TOPIC, 0): 2})
        assert "was successful" in beside.screen("consumer-groups", "--delete", "--group", "gone").text
        screen = run_in_terminal(
            "consumer-groups", "--delete", "--group", "gone", "--bootstrap-server", beside.bootstrap
        )
        assert screen.text.startswith("ottla consumer-groups: Group 'gone' could not be deleted")


class TestExpressions:
    @pytest.mark.parametrize("regex", ["a.*", "[", "(?=x)", "a{2,1}"])
    def test_the_same_judgement(self, beside: Beside, regex: str) -> None:
        ours, theirs = beside.bare("consumer-groups", "--validate-regex", regex)
        assert ours.code == theirs.returncode == 0
        assert ours.stdout.partition("valid")[0] == theirs.stdout.partition("valid")[0]
        machine = run_piped("consumer-groups", "--validate-regex", regex, "--json")
        assert machine.code == (0 if "is valid" in theirs.stdout else 1)
        assert json.loads(machine.stdout)["regex"] == regex


def test_times() -> None:
    assert parse_datetime_ms("1970-01-01T00:00:01.005") == 1005
    assert parse_datetime_ms("1970-01-01T01:00:00.000+01:00") == 0
    assert parse_datetime_ms("1970-01-01T00:00:00.000-02") == 7_200_000
    assert parse_datetime_ms("1970-01-01T01:30:00.000+0130") == 0
    for bad in ("1970-13-01T00:00:00.000", "1970-01-01T00:00:00.000+1", "1970-01-01T24:00:00.000", "T"):
        with pytest.raises(CommandError):
            parse_datetime_ms(bad)
    assert parse_duration_ms("P1DT2H3M4.5S") == ((26 * 60 + 3) * 60 + 4) * 1000 + 500
    assert parse_duration_ms("-PT-1.25S") == 1250
    for bad in ("", "P", "PT", "P1DT", "1D", "P1H"):
        with pytest.raises(CommandError):
            parse_duration_ms(bad)


def test_plans() -> None:
    plan = {"g": {Partition("t", 0): 5, Partition("a b", 1): 6}}
    assert csv_text(plan, with_group=True) == 'g,"a b",1,6\ng,t,0,5\n'
    assert read_plan(csv_text(plan, with_group=True), None) == plan
    assert read_plan(csv_text(plan, with_group=False), ["g"]) == plan
    for bad in ("t,0", "t,x,1", "t,0,1"):
        with pytest.raises(CommandError):
            read_plan(bad, None)
    assert parse_partitions("t:0,2") == [("t", 0), ("t", 2)]
    assert shifted([Partition("t", 0)], {Partition("t", 0): 5}, -2) == {("t", 0): 3}
    with pytest.raises(UsageError):
        shifted([Partition("t", 1)], {}, 1)
