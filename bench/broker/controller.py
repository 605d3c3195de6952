"""How long the controller's listener takes to answer while clients keep the broker at its limit."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

from bench.broker import wire
from bench.broker.arena import Arena, loaded
from bench.broker.board import Line, microseconds
from bench.broker.clients import percentiles
from bench.broker.load import connected, read_frame

CONNECTIONS, IN_FLIGHT = 200, 20
_PAUSE_S = 0.002

CONTROLLER = [Line(f"controller listener, {which}", microseconds) for which in ("p50", "p99")]
BROKER = [Line(f"broker listener, {which}", microseconds) for which in ("p50", "p99")]


def controller(arena: Arena) -> None:
    """ApiVersions on each listener of a broker that has 200 × 20 produces in flight."""
    requests = 150_000 if arena.long else 40_000
    with arena.board("Answers under full client load, 200 connections × 20 in flight") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node, CONNECTIONS) as topic, ThreadPoolExecutor(1) as executor:
                load = executor.submit(
                    loaded,
                    node,
                    kind="produce",
                    topic=topic,
                    connections=CONNECTIONS,
                    in_flight=IN_FLIGHT,
                    value_bytes=100,
                    records=1,
                    requests=requests,
                )
                pings: tuple[list[float], list[float]] = ([], [])
                with connected_to(node.bootstrap_controller) as first, connected_to(node.bootstrap) as second:
                    while not load.done():
                        pings[0].append(ping_us(first))
                        pings[1].append(ping_us(second))
                        time.sleep(_PAUSE_S)
                load.result()
            if number < len(arena.names):
                continue
            for lines, times in zip((CONTROLLER, BROKER), pings, strict=True):
                for line, figure in zip(lines, percentiles(_middle(times)), strict=True):
                    board.add(line, name, figure)


def connected_to(address: str) -> socket.socket:
    """Return a connection to a host and port."""
    host, _, port = address.rpartition(":")
    return connected((host, int(port)))


def ping_us(connection: socket.socket) -> float:
    """Return how many microseconds the answer to ApiVersions takes."""
    start = time.perf_counter()
    connection.sendall(wire.api_versions_frame())
    read_frame(connection)
    return (time.perf_counter() - start) * 1e6


def _middle(times: list[float]) -> list[float]:
    """Without what was measured while the load began and ended."""
    return times[len(times) // 4 : -len(times) // 4] or times
