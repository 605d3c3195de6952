"""``ottla transactions`` and ``ottla delete-records`` beside Apache's tools."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from ottla.cli.delete_records import read_offsets
from ottla.cli.errors import CommandError
from ottla.cli.hanging_transactions import OpenTransaction, hanging
from ottla.clients.admin import ProducerState, TransactionDescription, TransactionState
from ottla.common.topic_partition import TopicPartition
from tests.cli.beside import Beside, one_line_error, sorted_lines
from tests.cli.terminal import run_piped
from tests.node import Node

BOUND_S = 60
TOPIC = "transacted"


@pytest.fixture(scope="module")
def transacted(kafka: Node) -> Iterator[str]:
    """A topic, and a transactional id that has committed a transaction in it."""
    made = ("--topic", TOPIC, "--partitions", "2")
    created = run_piped("topics", "--create", *made, "--bootstrap-server", kafka.bootstrap)
    assert created.code == 0, created
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "done"})
    producer.init_transactions(BOUND_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"x", partition=0)
    producer.commit_transaction(BOUND_S)
    yield TOPIC


@contextmanager
def open_transaction(bootstrap: str, transactional_id: str) -> Iterator[Producer]:
    """A producer in the middle of a transaction with one record in partition 1."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(BOUND_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"open", partition=1)
    assert producer.flush(BOUND_S) == 0
    yield producer


def _until_ended(beside: Beside, transactional_id: str) -> str:
    for _ in range(200):
        state: str = beside.document("transactions", "describe", "--transactional-id", transactional_id)["state"]
        if state not in ("Ongoing", "PrepareAbort", "PrepareCommit"):
            return state
    raise AssertionError(f"{transactional_id} stays {state}")


def _no_duration(output: str) -> list[str]:
    """Lines without the time that a transaction has run, and with blanks for columns."""
    return [re.sub(r"(\t\d{13} *\t)\d+", r"\1N", re.sub(r" +", " ", line)) for line in output.splitlines()]


@pytest.mark.usefixtures("transacted")
class TestLooking:
    def test_what_is_done(self, beside: Beside) -> None:
        _until_ended(beside, "done")
        beside.same("transactions", "list", normal=sorted_lines)
        beside.same("transactions", "describe", "--transactional-id", "done", normal=_no_duration)
        beside.same("transactions", "describe-producers", "--topic", TOPIC, "--partition", "0")
        beside.same("transactions", "list", "--transactional-id-pattern", "do.*")
        beside.same("transactions", "list", "--transactional-id-pattern", "nothing")
        (producer,) = beside.document("transactions", "describe-producers", "--topic", TOPIC, "--partition", "0")
        assert producer["transaction_start_offset"] is None
        assert producer["last_sequence"] == 0

    def test_what_is_open(self, beside: Beside) -> None:
        with open_transaction(beside.bootstrap, "open") as producer:
            beside.same("transactions", "list", normal=sorted_lines)
            beside.same("transactions", "list", "--duration-filter", "3600000")
            beside.same("transactions", "describe", "--transactional-id", "open", normal=_no_duration)
            partition = ("--topic", TOPIC, "--partition", "1")
            beside.same("transactions", "describe-producers", *partition)
            beside.same("transactions", "describe-producers", *partition, "--broker-id", "1")
            beside.same("transactions", "find-hanging", *partition, "--max-transaction-timeout", "0")
            beside.same("transactions", "find-hanging", "--broker-id", "1")
            described = beside.document("transactions", "describe", "--transactional-id", "open")
            assert (described["state"], described["coordinator"]) == ("Ongoing", 1)
            assert described["partitions"] == [{"topic": TOPIC, "partition": 1}]
            assert described["duration_ms"] >= 0
            listed = {each["transactional_id"]: each for each in beside.document("transactions", "list")}
            assert (listed["open"]["state"], listed["open"]["coordinator"]) == ("Ongoing", 1)
            assert beside.document("transactions", "find-hanging", *partition) == []
            screen = beside.screen("transactions", "describe", "--transactional-id", "open", columns=250)
            assert "Ongoing" in screen.text
            assert re.search(r"open +1 +\d+ +Ongoing", beside.screen("transactions", "list").text)
            assert "Duration(min)" in beside.screen("transactions", "find-hanging", "--topic", TOPIC).text
            producer.abort_transaction(BOUND_S)
        assert _until_ended(beside, "open") == "CompleteAbort"

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("", []),
            ("", ["no-such-command"]),
            ("--transactional-id", ["describe"]),
            ("Failed to describe transaction state of transactional-id `nobody`", [
                "describe", "--transactional-id", "nobody"]),
            ("--topic", ["describe-producers", "--partition", "0"]),
            ("requires either --topic or --broker-id to limit the scope of the search", ["find-hanging"]),
            ("The --partition argument requires --topic to be provided", [
                "find-hanging", "--broker-id", "1", "--partition", "0"]),
            ("must be identified either with --start-offset", ["abort", "--topic", TOPIC, "--partition", "0"]),
            ("Missing required argument --producer-epoch", [
                "abort", "--topic", TOPIC, "--partition", "0", "--producer-id", "1"]),
            ("Missing required argument --coordinator-epoch", [
                "abort", "--topic", TOPIC, "--partition", "0", "--producer-id", "1", "--producer-epoch", "0"]),
            ("Could not find any open transactions starting at offset 0 on partition transacted-0", [
                "abort", "--topic", TOPIC, "--partition", "0", "--start-offset", "0"]),
        ],
    )  # fmt: skip
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "transactions", *arguments)

    def test_no_such_partition(self, beside: Beside, hasty: str) -> None:
        beside.same_failure(
            f"Failed to describe producers for partition {TOPIC}-9 on leader",
            "transactions", "--command-config", hasty, "describe-producers", "--topic", TOPIC, "--partition", "9",
        )  # fmt: skip


@pytest.mark.usefixtures("transacted")
class TestAborting:
    def test_by_where_it_starts(self, beside: Beside) -> None:
        partition = ("--topic", TOPIC, "--partition", "1")
        with open_transaction(beside.bootstrap, "hopeless"):
            (start,) = [
                each["transaction_start_offset"]
                for each in beside.document("transactions", "describe-producers", *partition)
                if each["transaction_start_offset"] is not None
            ]
            aborted = beside.ours("transactions", "abort", *partition, "--start-offset", str(start))
            assert aborted == (0, "", "")
            producers = beside.document("transactions", "describe-producers", *partition)
            assert all(each["transaction_start_offset"] is None for each in producers)
            # Now the coordinator believes in a transaction that the partition has ended.
            assert beside.ours("transactions", "force-terminate", "--transactional-id", "hopeless") == (0, "", "")
        assert _until_ended(beside, "hopeless") in ("CompleteAbort", "Empty")

    def test_by_its_id_in_kafkas_words(self, beside: Beside) -> None:
        with open_transaction(beside.bootstrap, "forced"):
            done = beside.ours("transactions", "forceTerminateTransaction", "--transactionalId", "forced", "--json")
            assert (done.code, json.loads(done.stdout)) == (0, {"aborted": "forced"})
        assert _until_ended(beside, "forced") in ("CompleteAbort", "Empty")


def test_which_transactions_hang() -> None:
    def producer(producer_id: int) -> ProducerState:
        return ProducerState(producer_id, 0, 0, 0, 0, 5)

    here, there = TopicPartition("t", 0), TopicPartition("t", 1)
    known = TransactionDescription("a", 1, TransactionState.ONGOING, 1, 0, 1000, 0, frozenset({here}))
    candidates = [
        OpenTransaction(here, producer(1)),
        OpenTransaction(there, producer(1)),
        OpenTransaction(here, producer(2)),
    ]
    assert hanging(candidates, {1: "a"}, {"a": known}) == candidates[1:]
    assert hanging(candidates, {1: "a", 2: "b"}, {}) == candidates
    assert hanging(candidates, {}, {}) == candidates


Written = Callable[[str, str], str]


class TestDeleteRecords:
    @pytest.fixture
    def lasting(self, kafka: Node, topic: str) -> str:
        """A topic with five records in partition 0."""
        made = ("--topic", topic, "--partitions", "2")
        assert run_piped("topics", "--create", *made, "--bootstrap-server", kafka.bootstrap).code == 0
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for _ in range(5):
            producer.produce(topic, b"x", partition=0)
        assert producer.flush(BOUND_S) == 0
        return topic

    def test_the_same(self, beside: Beside, lasting: str, written: Written) -> None:
        partitions = [{"topic": lasting, "partition": 0, "offset": 2}, {"topic": lasting, "partition": 1, "offset": 0}]
        path = written("offsets.json", json.dumps({"partitions": partitions, "version": 1}))
        printed = beside.same("delete-records", "--offset-json-file", path, normal=sorted_lines)
        assert f"partition: {lasting}-0\tlow_watermark: 2" in printed.splitlines()
        path = written("more.json", json.dumps({"partitions": [{**partitions[0], "offset": -1}]}))
        assert beside.document("delete-records", "--offset-json-file", path) == [
            {"topic": lasting, "partition": 0, "low_watermark": 5, "error": None}
        ]
        assert re.search(rf"{lasting} +0 +5", beside.screen("delete-records", "--offset-json-file", path).text)

    def test_beyond_the_end(self, beside: Beside, lasting: str, written: Written) -> None:
        path = written("far.json", json.dumps({"partitions": [{"topic": lasting, "partition": 0, "offset": 99}]}))
        ours = beside.ours("delete-records", "--offset-json-file", path)
        theirs = beside.theirs("delete-records", "--offset-json-file", path)
        assert ours.code == theirs.returncode == 0
        for printed in (ours.stdout, theirs.stdout):
            assert printed.splitlines()[2].startswith(f"partition: {lasting}-0\terror: ")
        failed = beside.ours("delete-records", "--offset-json-file", path, "--json")
        assert failed.code == 1
        assert json.loads(failed.stdout)[0]["error"]

    @pytest.mark.parametrize(
        ("text", "content"),
        [
            ("The input string is not a valid JSON", "nonsense"),
            ("Missing partitions field", '{"version": 1}'),
            ("Not supported version field value 2", '{"version": 2, "partitions": []}'),
            ("offset", '{"partitions": [{"topic": "t", "partition": 0}]}'),
            (
                "Offset json file contains duplicate topic partitions: t-0",
                json.dumps({"partitions": [{"topic": "t", "partition": 0, "offset": offset} for offset in (1, 2)]}),
            ),
        ],
    )
    def test_failures(self, beside: Beside, written: Written, text: str, content: str) -> None:
        beside.same_failure(text, "delete-records", "--offset-json-file", written("bad.json", content))

    def test_arguments(self, beside: Beside) -> None:
        beside.same_failure('Missing required argument "[offset-json-file]"', "delete-records")
        ours = beside.ours("delete-records", "--offset-json-file", "/no/such/file")
        assert ours.code == beside.theirs("delete-records", "--offset-json-file", "/no/such/file").returncode == 1
        assert "/no/such/file" in one_line_error("delete-records", ours)

    def test_reading(self) -> None:
        assert read_offsets('{"partitions": [{"topic": "t", "partition": 3, "offset": -1}]}') == {("t", 3): -1}
        for bad in (
            "[]",
            '{"partitions": {}}',
            '{"partitions": [3]}',
            '{"partitions": [{"topic": 1}]}',
            '{"version": true}',
        ):
            with pytest.raises(CommandError):
                read_offsets(bad)
