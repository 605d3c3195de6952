"""Offset commits and heartbeats of 100 groups: how many a second, and what each costs the broker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

from bench.broker import process
from bench.broker.arena import Arena
from bench.broker.board import Line, at_least, at_most, microseconds, per_second, percent
from bench.broker.clients import percentiles
from bench.groups.frames_load import FramesLoad, generate
from bench.groups.members import (
    COMMIT_VERSION,
    CONSUMER_VERSION,
    HEARTBEAT_VERSION,
    ClassicMember,
    ConsumerMember,
    await_coordinators,
    rebalance,
    settle,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response
from tests.node import Node
from tests.server.wire import Wire

GROUPS = 100
OFFERED = 5_000
WIDE = 10

RATE = Line("offset commits of 100 groups, one partition each", per_second, at_least(1.5))
CPU = Line("  broker CPU a commit", microseconds, at_most(1 / 1.5, "≤ 1/1.5"))
GENERATOR = Line("  load generator's share of its core", percent)
WIDE_RATE = Line(f"offset commits of 100 groups, {WIDE} partitions each", per_second)
WIDE_CPU = Line(f"  broker CPU a commit of {WIDE} partitions", microseconds)
PACED = [Line(f"{OFFERED:,} commits a second offered, {which}", microseconds) for which in ("p50", "p99")]
PACED_CPU = Line("  broker's share of a core", percent)
HEARTBEAT_RATE = Line("heartbeats of 100 groups, classic", per_second)
HEARTBEAT_CPU = Line("  broker CPU a heartbeat, classic", microseconds)
CONSUMER_RATE = Line("heartbeats of 100 groups, consumer protocol", per_second)
CONSUMER_CPU = Line("  broker CPU a heartbeat, consumer protocol", microseconds)
_numbers = count()


def commits(arena: Arena) -> None:
    """One member a group, on a connection of its own; its next commit follows the answer to the last."""
    warm_up, requests = (100_000, 50_000) if arena.long else (20_000, 20_000)
    with arena.board("Offset commits") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node, WIDE) as topic, _groups(node) as members:
                narrow = [member.commit_frame(topic, [0]) for member in members]
                if number < len(arena.names):
                    _measured(node, narrow, warm_up, _check_commit)
                    continue
                load, cpu_s = _measured(node, narrow, requests, _check_commit)
                board.add(RATE, name, load.requests / load.wall_s)
                board.add(CPU, name, cpu_s / load.requests * 1e6)
                board.add(GENERATOR, name, load.cpu_s / load.wall_s)
                load, cpu_s = _measured(node, narrow, OFFERED * 3, _check_commit, OFFERED)
                for line, figure in zip(PACED, percentiles(load.latencies_us), strict=True):
                    board.add(line, name, figure)
                board.add(PACED_CPU, name, cpu_s / load.wall_s)
                wide = [member.commit_frame(topic, range(WIDE)) for member in members]
                load, cpu_s = _measured(node, wide, requests // 4, _check_commit)
                board.add(WIDE_RATE, name, load.requests / load.wall_s)
                board.add(WIDE_CPU, name, cpu_s / load.requests * 1e6)


def heartbeats(arena: Arena) -> None:
    """Heartbeats of members who have nothing else to say."""
    requests = 50_000 if arena.long else 20_000
    with arena.board("Heartbeats") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node) as topic, _groups(node) as members, _consumer_groups(node, topic) as consumers:
                classic = _measured(node, [each.heartbeat_frame() for each in members], requests, _check_heartbeat)
                consumer = _measured(node, [each.heartbeat_frame() for each in consumers], requests, _check_consumer)
            if number < len(arena.names):
                continue
            for (load, cpu_s), rate, cost in (
                (classic, HEARTBEAT_RATE, HEARTBEAT_CPU),
                (consumer, CONSUMER_RATE, CONSUMER_CPU),
            ):
                board.add(rate, name, load.requests / load.wall_s)
                board.add(cost, name, cpu_s / load.requests * 1e6)


def _measured(
    node: Node, frames: list[bytes], requests: int, check: Callable[[bytes], None], offered: int = 0
) -> tuple[FramesLoad, float]:
    before = process.cpu_s(node.pid)
    load = generate(node.ports.broker, frames, requests, offered)
    cpu_s = process.cpu_s(node.pid) - before
    for answer in load.answers:
        check(bytes.fromhex(answer))
    return load, cpu_s


@contextmanager
def _groups(node: Node) -> Iterator[list[ClassicMember]]:
    """Classic groups of one member each, stable."""
    run = next(_numbers)
    names = [f"group-{run}-{number}" for number in range(GROUPS)]
    await_coordinators(node, names)
    with ExitStack() as wires:
        members = []
        for group_id in names:
            member = ClassicMember(wires.enter_context(Wire(node.bootstrap)), group_id)
            member.ask_for_id()
            rebalance([member], bytes(32))
            members.append(member)
        yield members


@contextmanager
def _consumer_groups(node: Node, topic: str) -> Iterator[list[ConsumerMember]]:
    """Consumer groups of one member each, stable."""
    run = next(_numbers)
    with ExitStack() as wires:
        members = []
        for number in range(GROUPS):
            wire = wires.enter_context(Wire(node.bootstrap))
            member = ConsumerMember(wire, f"consumer-group-{run}-{number}", topic)
            settle([member], 1)
            members.append(member)
        yield members


def _check_commit(answer: bytes) -> None:
    _, response = decode_response(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, memoryview(answer))
    assert all(each.error_code == 0 for topic in response.topics for each in topic.partitions), response  # type: ignore[attr-defined]


def _check_heartbeat(answer: bytes) -> None:
    _, response = decode_response(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, memoryview(answer))
    assert response.error_code == 0, response  # type: ignore[attr-defined]


def _check_consumer(answer: bytes) -> None:
    _, response = decode_response(ApiKey.CONSUMER_GROUP_HEARTBEAT, CONSUMER_VERSION, memoryview(answer))
    assert response.error_code == 0, response  # type: ignore[attr-defined]
