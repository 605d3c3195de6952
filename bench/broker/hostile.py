"""A client that minds its business, beside one whose few kB decompress to millions of records.

Ottla beside itself. An earlier Ottla did not answer the client within a minute, nor did Apache's broker: all 40
partitions of a request are hostile here.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from bench.broker import wire
from bench.broker.arena import Arena, loaded
from bench.broker.board import OTTLA, Line, below, microseconds, per_second
from bench.broker.clients import percentiles
from bench.broker.load import connected, read_frame
from tests.node import Node
from tests.records.hostile_batches import HOSTILE

PARTITIONS = 40
CONFIGS = ({"cleanup.policy": "compact"}, {"compression.type": "gzip"})
_SMALL_BYTES = 20_000
_LARGE_PARTITIONS = 2
"""Of one request, for batches that are not small on the wire either."""


def hostile(arena: Arena) -> None:
    """One record at a time, alone and under attack."""
    alone_p99, alone_worst = (Line(f"alone, {which}", microseconds) for which in ("p99", "worst"))
    beside_p99, beside_worst = (Line(f"under attack, {which}", microseconds) for which in ("p99", "worst"))
    times = Line("  worst, as a multiple of alone", lambda figure: f"{figure:.1f}", below(2, "2"))
    attacks = Line("requests of the attacker answered", per_second)
    batches = [bytes(make()) for make in HOSTILE.values()]
    requests = 50_000 if arena.long else 10_000
    with arena.board("Synchronous produces of 100 B beside batches that decompress to millions of records") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            if name != OTTLA:
                continue
            with arena.topic(node) as topic, _victims(arena, node) as victims:
                plan = {"kind": "sync", "topic": topic, "value_bytes": 100, "requests": requests}
                alone = loaded(node, **plan).load
                with attack(node, victims, batches) as answered:
                    beside = loaded(node, **plan).load
            if number < len(arena.names):
                continue
            board.add(alone_p99, name, percentiles(alone.latencies_us)[1])
            board.add(alone_worst, name, max(alone.latencies_us))
            board.add(beside_p99, name, percentiles(beside.latencies_us)[1])
            board.add(beside_worst, name, max(beside.latencies_us))
            board.add(times, name, max(beside.latencies_us) / max(alone.latencies_us))
            board.add(attacks, name, answered[0] / beside.wall_s)


@contextmanager
def _victims(arena: Arena, node: Node) -> Iterator[list[str]]:
    """Topics whose appends read the records."""
    compacted, recompressing = CONFIGS
    with arena.topic(node, PARTITIONS, compacted) as first, arena.topic(node, PARTITIONS, recompressing) as second:
        yield [first, second]


@contextmanager
def attack(node: Node, topics: Sequence[str], batches: Sequence[bytes]) -> Iterator[list[int]]:
    """A connection to each topic that sends one batch after the other; how many requests were answered."""
    answered = [0]
    connections = [connected(("127.0.0.1", node.ports.broker)) for _ in topics]
    threads = [
        threading.Thread(target=_send_all, args=(connection, topic, batches, answered))
        for connection, topic in zip(connections, topics, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        yield answered
    finally:
        for connection in connections:
            connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()


def _send_all(connection: socket.socket, topic: str, batches: Sequence[bytes], answered: list[int]) -> None:
    """Until the connection is shut down."""
    frames = [
        wire.produce_frame(topic, range(PARTITIONS if len(batch) < _SMALL_BYTES else _LARGE_PARTITIONS), batch)
        for batch in batches
    ]
    with suppress(OSError):
        while True:
            for frame in frames:
                connection.sendall(frame)
                read_frame(connection)
                answered[0] += 1
