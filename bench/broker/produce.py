"""Produce requests on raw sockets: how many a second, and what each costs the broker."""

from bench.broker import process
from bench.broker.arena import Arena, check_written, loaded
from bench.broker.board import (
    Line,
    at_least,
    at_most,
    below,
    megabytes,
    microseconds,
    per_second,
    percent,
)

CONNECTIONS, IN_FLIGHT = 8, 5
LARGE_BYTES, LARGE_CONNECTIONS = 60_000, 4

RATE = Line("produce, 1 record of 100 B, 8 connections × 5 in flight", per_second, at_least(2))
CPU = Line("  broker CPU a request", microseconds, below(25, "25 µs"))
GENERATOR = Line("  load generator's share of its core", percent)
LOADED = Line("  resident memory after it", megabytes, at_most(1 / 6, "≤ 1/6"))
LARGE_RATE = Line("produce, 60 KB, 4 connections × 5 in flight", per_second, at_least(1.5))
LARGE_CPU = Line("  broker CPU a request", microseconds)
LARGE_GENERATOR = Line("  load generator's share of its core", percent)
LARGE_LOADED = Line("  resident memory after it", megabytes, at_most(1 / 6, "≤ 1/6"))


def small(arena: Arena) -> None:
    """One record a request."""
    warm_up, requests = (250_000, 100_000) if arena.long else (60_000, 40_000)
    with arena.board("Small produces") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            count = warm_up if number < len(arena.names) else requests
            with arena.topic(node, CONNECTIONS) as topic:
                cost = loaded(
                    node,
                    kind="produce",
                    topic=topic,
                    connections=CONNECTIONS,
                    in_flight=IN_FLIGHT,
                    value_bytes=100,
                    records=1,
                    requests=count,
                )
                check_written(node, topic, CONNECTIONS, count + CONNECTIONS)
            if number < len(arena.names):
                continue
            board.add(RATE, name, cost.load.requests / cost.load.wall_s)
            board.add(CPU, name, cost.broker_cpu_s / cost.load.requests * 1e6)
            board.add(GENERATOR, name, cost.load.cpu_s / cost.load.wall_s)
            board.add(LOADED, name, process.resident_bytes(node.pid))


def large(arena: Arena) -> None:
    """Sixty kilobytes a request, as a producer with full batches sends."""
    warm_up, requests = (20_000, 16_000) if arena.long else (4_000, 6_000)
    with arena.board("Large produces") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            count = warm_up if number < len(arena.names) else requests
            with arena.topic(node, LARGE_CONNECTIONS) as topic:
                cost = loaded(
                    node,
                    kind="produce",
                    topic=topic,
                    connections=LARGE_CONNECTIONS,
                    in_flight=IN_FLIGHT,
                    value_bytes=LARGE_BYTES // 60,
                    records=60,
                    requests=count,
                )
                check_written(node, topic, LARGE_CONNECTIONS, (count + LARGE_CONNECTIONS) * 60)
            if number < len(arena.names):
                continue
            board.add(LARGE_RATE, name, cost.load.requests / cost.load.wall_s)
            board.add(LARGE_CPU, name, cost.broker_cpu_s / cost.load.requests * 1e6)
            board.add(LARGE_GENERATOR, name, cost.load.cpu_s / cost.load.wall_s)
            board.add(LARGE_LOADED, name, process.resident_bytes(node.pid))
