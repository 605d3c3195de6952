"""How long a broker takes to start, and how much memory it takes when nothing happens."""

import resource
import shutil
import time

from bench.broker import nodes, process, wire
from bench.broker.arena import Arena
from bench.broker.board import Line, at_most, below, megabytes, seconds
from bench.broker.load import connected, read_frame

CONNECTIONS = 1_000
_SETTLE_S = 3

STARTED = Line("process start to the first answered request", seconds, below(0.5, "0.5 s"))
IDLE = Line("resident memory, idle", megabytes, at_most(1 / 6, "≤ 1/6"))
CONNECTED = Line(f"  with {CONNECTIONS:,} idle connections", megabytes, at_most(1 / 6, "≤ 1/6"))
A_CONNECTION = Line("  more for each connection, in bytes", lambda figure: f"{figure:,.0f} B")


def startup(arena: Arena) -> None:
    """A new data directory each time, formatted beforehand."""
    if "ottla" in arena.names:
        nodes.compile_ottla()
    with arena.board("Start") as board:
        for number in range(arena.rounds + 1):
            for name in arena.names:
                directory = arena.directory / f"start-{name}-{number}"
                node = arena.contenders.node(name, directory)
                try:
                    took = nodes.seconds_to_first_answer(node)
                finally:
                    node.kill()
                    shutil.rmtree(directory, ignore_errors=True)
                if number:
                    board.add(STARTED, name, took)


def memory(arena: Arena) -> None:
    """Nodes that have served nobody yet, then with clients that are connected and silent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4 * CONNECTIONS), hard), hard))
    with arena.board("Memory") as board:
        for name in arena.names:
            directory = arena.directory / f"memory-{name}"
            with arena.contenders.node(name, directory) as node:
                time.sleep(_SETTLE_S)
                idle = process.resident_bytes(node.pid)
                connections = [connected(("127.0.0.1", node.ports.broker)) for _ in range(CONNECTIONS)]
                for connection in connections:
                    connection.sendall(wire.api_versions_frame())
                    read_frame(connection)
                time.sleep(_SETTLE_S)
                full = process.resident_bytes(node.pid)
                for connection in connections:
                    connection.close()
            shutil.rmtree(directory, ignore_errors=True)
            board.add(IDLE, name, idle)
            board.add(CONNECTED, name, full)
            board.add(A_CONNECTION, name, (full - idle) / CONNECTIONS)
