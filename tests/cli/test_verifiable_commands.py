"""``ottla verifiable-producer`` and ``verifiable-consumer`` beside Apache's: events that Kafka's system tests read."""

import json
import signal
from typing import Any

import pytest

from tests.cli.streams import Streams, signalled
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node

SENT = ("timestamp", "name", "key", "value", "offset", "topic", "partition")
"""As Java 17 orders what Apache's prints; other versions of Java order it otherwise."""


def _events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def _shape(output: str) -> list[dict[str, Any]]:
    """Events in an order that does not depend on which partition was faster, without times and rates."""
    events = [
        {key: "?" if key in ("timestamp", "avg_throughput") else value for key, value in event.items()}
        for event in _events(output)
    ]
    return sorted(events, key=lambda event: (event["name"], str(event.get("partition")), str(event.get("offset"))))


@pytest.mark.oracle
@pytest.mark.parametrize(
    "arguments",
    [["--max-messages", "3"], ["--max-messages", "4", "--repeating-keys", "2", "--value-prefix", "7", "--acks", "1"]],
    ids=" ".join,
)
def test_the_same_events_of_a_producer(streams: Streams, topic: str, arguments: list[str]) -> None:
    shapes = []
    for side, run in (("ours", streams.ours), ("theirs", streams.theirs)):
        name = f"{topic}-{side}"
        made = run_piped("topics", "--create", "--topic", name, "--partitions", "1", "--bootstrap-server",
                         streams.bootstrap)  # fmt: skip
        assert made.code == 0
        done = run("verifiable-producer", "--topic", name, *arguments)
        assert done[0] == 0, done
        shapes.append(_shape(done[1].replace(f"-{side}", "")))
        assert [list(event) for event in _events(done[1])][1][:4] == ["timestamp", "name", "key", "value"]
    assert shapes[0] == shapes[1]
    assert {tuple(event) for event in shapes[0] if event["name"] == "producer_send_success"} == {SENT}


@pytest.mark.oracle
def test_the_same_failed_send(streams: Streams) -> None:
    ours, theirs = streams.both("verifiable-producer", "--topic", "bad topic", "--max-messages", "1")
    assert [list(event) for event in _events(ours.stdout)] == [list(event) for event in _events(theirs.stdout)]
    for event, other in zip(_events(ours.stdout), _events(theirs.stdout), strict=True):
        assert event["name"] == other["name"]
        assert event.get("exception") == other.get("exception")


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["verifiable-producer", "verifiable-consumer"])
def test_refusals(streams: Streams, name: str) -> None:
    ours, theirs = streams.both(name, "--no-such-option")
    assert ours.code == 1
    assert theirs.stderr
    assert ours.stderr.count("\n") == 1


@pytest.mark.oracle
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_same_events_of_a_consumer(streams: Streams, topic: str, protocol: str) -> None:
    made = run_piped("topics", "--create", "--topic", topic, "--partitions", "1", "--bootstrap-server",
                     streams.bootstrap)  # fmt: skip
    assert made.code == 0
    assert streams.ours("verifiable-producer", "--topic", topic, "--max-messages", "3").code == 0
    found = []
    for side, run in (("ours", streams.ours), ("theirs", streams.theirs)):
        done = run("verifiable-consumer", "--topic", topic, "--group-id", f"{topic}-{side}-{protocol}", "--verbose",
                   "--group-protocol", protocol, "--max-messages", "3")  # fmt: skip
        assert done[0] == 0, done
        # Apache's shutdown hook says that a shutdown was requested after the consumer has gone by itself
        events = [event for event in _events(done[1]) if event["name"] != "shutdown_requested"]
        found.append([{key: value for key, value in event.items() if key != "timestamp"} for event in events])
    assert found[0] == found[1]
    assert [list(event) for event in found[0]] == [list(event) for event in found[1]]


def test_a_producer_that_is_told_to_stop(kafka: Node, topic: str) -> None:
    done = signalled(
        "verifiable-producer", "--bootstrap-server", kafka.bootstrap, "--topic", topic, "--throughput", "200",
        number=signal.SIGTERM, after=lambda seen: seen.count("producer_send_success") > 20,
    )  # fmt: skip
    assert done.code == 128 + signal.SIGTERM
    events = _events(done.stdout)
    assert [event["name"] for event in events[-2:]] == ["shutdown_complete", "tool_data"]
    assert events[-1]["acked"] == sum(event["name"] == "producer_send_success" for event in events)
    assert events[-1]["target_throughput"] == 200
    assert done.stderr == ""


def test_a_consumer_that_is_told_to_stop(kafka: Node, topic: str) -> None:
    server = ("--bootstrap-server", kafka.bootstrap)
    assert run_piped("verifiable-producer", *server, "--topic", topic, "--max-messages", "5").code == 0
    done = signalled(
        "verifiable-consumer", *server, "--topic", topic, "--group-id", f"{topic}-g", "--enable-autocommit",
        number=signal.SIGTERM, after=lambda seen: "records_consumed" in seen,
    )  # fmt: skip
    names = [event["name"] for event in _events(done.stdout)]
    assert done.code == 128 + signal.SIGTERM
    assert names[:2] == ["startup_complete", "partitions_assigned"]
    assert names[-3:] == ["shutdown_requested", "partitions_revoked", "shutdown_complete"]
    assert "offsets_committed" not in names


def test_in_a_terminal(kafka: Node, topic: str) -> None:
    server = ("--bootstrap-server", kafka.bootstrap)
    sent = run_in_terminal("verifiable-producer", *server, "--topic", topic, "--max-messages", "2")
    assert sent.code == 0
    assert '"name":"tool_data","sent":2,"acked":2,' in sent.text
    read = run_in_terminal(
        "verifiable-consumer", *server, "--topic", topic, "--group-id", f"{topic}-g", typed=[("committed", b"\x03")]
    )
    assert read.code == 130
    assert '"name":"shutdown_complete"' in read.text
    assert "Traceback" not in read.text


def test_without_arguments_there_is_help() -> None:
    for name in ("verifiable-producer", "verifiable-consumer", "producer-perf-test"):
        done = run_piped(name)
        assert done.code == 0
        assert done.stdout.startswith(f"usage: ottla {name}")
