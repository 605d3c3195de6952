"""Produce requests on raw sockets: how many a second, and what each costs the broker."""

from bench.broker import process
from bench.broker.arena import Arena, Cost, check_written, loaded
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
from tests.node import Node

CONNECTIONS, IN_FLIGHT = 8, 5
LARGE_BYTES, LARGE_RECORDS, LARGE_CONNECTIONS = 60_000, 60, 4

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
    requests = 100_000 if arena.long else 40_000
    with arena.board("Small produces") as board:
        for _, node in arena.turns(1):
            _produce_small(arena, node, _warm_up(arena))
        for name, node in arena.turns():
            cost = _produce_small(arena, node, requests)
            board.add(RATE, name, cost.load.requests / cost.load.wall_s)
            board.add(CPU, name, cost.broker_cpu_s / cost.load.requests * 1e6)
            board.add(GENERATOR, name, cost.load.cpu_s / cost.load.wall_s)
            board.add(LOADED, name, process.resident_bytes(node.pid))


def large(arena: Arena) -> None:
    """Sixty kilobytes a request, as a producer with full batches sends. Small ones warm up: the disk is spared."""
    warm_up, requests = (20_000, 16_000) if arena.long else (4_000, 6_000)
    with arena.board("Large produces") as board:
        for _, node in arena.turns(1):
            _produce_small(arena, node, _warm_up(arena))
            _produce_large(arena, node, warm_up)
        for name, node in arena.turns():
            cost = _produce_large(arena, node, requests)
            board.add(LARGE_RATE, name, cost.load.requests / cost.load.wall_s)
            board.add(LARGE_CPU, name, cost.broker_cpu_s / cost.load.requests * 1e6)
            board.add(LARGE_GENERATOR, name, cost.load.cpu_s / cost.load.wall_s)
            board.add(LARGE_LOADED, name, process.resident_bytes(node.pid))


def _warm_up(arena: Arena) -> int:
    return 400_000 if arena.long else 150_000


def _produce_small(arena: Arena, node: Node, requests: int) -> Cost:
    return _produce(arena, node, CONNECTIONS, 100, 1, requests)


def _produce_large(arena: Arena, node: Node, requests: int) -> Cost:
    return _produce(arena, node, LARGE_CONNECTIONS, LARGE_BYTES // LARGE_RECORDS, LARGE_RECORDS, requests)


def _produce(arena: Arena, node: Node, connections: int, value_bytes: int, records: int, requests: int) -> Cost:
    with arena.topic(node, connections) as topic:
        cost = loaded(
            node,
            kind="produce",
            topic=topic,
            connections=connections,
            in_flight=IN_FLIGHT,
            value_bytes=value_bytes,
            records=records,
            requests=requests,
        )
        check_written(node, topic, connections, (requests + connections) * records)
    return cost
