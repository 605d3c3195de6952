"""A group of 20 members over 200 partitions that changes: the broker's part of it, with members who answer at once."""

import time
from contextlib import ExitStack
from itertools import count

from bench.broker import process
from bench.broker.arena import Arena
from bench.broker.board import Line, below, milliseconds
from bench.groups.members import ClassicMember, ConsumerMember, await_coordinators, rebalance, settle
from tests.node import Node
from tests.server.wire import Wire

MEMBERS, PARTITIONS = 20, 200
_BAR = below(1000, "1 s")
_ASSIGNMENT = bytes(8 + 4 * PARTITIONS // MEMBERS)
"""As long as one of ten partitions; a broker does not look into it."""

CLASSIC = Line("classic: all join, to the last sync", milliseconds, _BAR)
CLASSIC_CPU = Line("  broker CPU, classic", milliseconds, _BAR)
COLD = Line("consumer: 20 join an empty group, till all is owned", milliseconds, _BAR)
COLD_CPU = Line("  broker CPU, 20 join", milliseconds, _BAR)
LEAVE = Line("consumer: one of 20 leaves, till all is owned", milliseconds, _BAR)
LEAVE_CPU = Line("  broker CPU, one leaves", milliseconds, _BAR)
_numbers = count()


def rebalances(arena: Arena) -> None:
    """From the first request to the last answer."""
    times = 20 if arena.long else 5
    with arena.board(f"Rebalances of {MEMBERS} members over {PARTITIONS} partitions") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node, PARTITIONS) as topic:
                figures = [*_classic(node, times), *_consumer(node, topic, times)]
            if number < len(arena.names):
                continue
            for line, figure in zip((CLASSIC, CLASSIC_CPU, COLD, COLD_CPU, LEAVE, LEAVE_CPU), figures, strict=True):
                board.add(line, name, figure)


def _classic(node: Node, times: int) -> tuple[float, float]:
    """Milliseconds of the clock and of the broker's CPU that a rebalance takes."""
    group_id = f"rebalance-{next(_numbers)}"
    await_coordinators(node, [group_id])
    with ExitStack() as wires:
        members: list[ClassicMember] = []
        for _ in range(MEMBERS):
            member = ClassicMember(wires.enter_context(Wire(node.bootstrap)), group_id)
            member.ask_for_id()
            members.append(member)
            rebalance(members, _ASSIGNMENT)
        cpu_s, begun = process.cpu_s(node.pid), time.perf_counter()
        for _ in range(times):
            rebalance(members, _ASSIGNMENT)
        wall_s = time.perf_counter() - begun
    return wall_s / times * 1e3, (process.cpu_s(node.pid) - cpu_s) / times * 1e3


def _consumer(node: Node, topic: str, times: int) -> tuple[float, float, float, float]:
    """Milliseconds of the clock and of CPU that it takes to fill a group, and to do without one member."""
    joining = leaving = joining_cpu = leaving_cpu = 0.0
    for _ in range(times):
        group_id = f"rebalance-{next(_numbers)}"
        with ExitStack() as wires:
            members = [
                ConsumerMember(wires.enter_context(Wire(node.bootstrap)), group_id, topic) for _ in range(MEMBERS)
            ]
            cpu_s, begun = process.cpu_s(node.pid), time.perf_counter()
            settle(members, PARTITIONS)
            joined_cpu_s, joined = process.cpu_s(node.pid), time.perf_counter()
            members.pop().leave()
            settle(members, PARTITIONS)
            left = time.perf_counter()
            joining += joined - begun
            joining_cpu += joined_cpu_s - cpu_s
            leaving += left - joined
            leaving_cpu += process.cpu_s(node.pid) - joined_cpu_s
    return tuple(each / times * 1e3 for each in (joining, joining_cpu, leaving, leaving_cpu))  # type: ignore[return-value]
