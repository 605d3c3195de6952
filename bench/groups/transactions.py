"""Small transactions: one record, one partition, committed."""

from bench.broker import process
from bench.broker.arena import Arena
from bench.broker.board import Line, microseconds, per_second, percent
from bench.groups.members import await_coordinators
from bench.groups.transactions_load import generate

PRODUCERS = 16
_TRANSACTION_KEY = 1
VERSIONS = {
    2: "version 2: produce, end",
    1: "version 1: add, produce, end",
}
LINES = {
    version: (
        Line(f"transactions of one record, 16 producers, {what}", per_second),
        Line(f"  broker CPU a transaction, version {version}", microseconds),
        Line(f"  requests said again, a transaction, version {version}", lambda figure: f"{figure:.2f}"),
        Line(f"  load generator's share of its core, version {version}", percent),
    )
    for version, what in VERSIONS.items()
}


def transactions(arena: Arena) -> None:
    """Each producer does one after another."""
    warm_up, count = (20_000, 10_000) if arena.long else (4_000, 4_000)
    with arena.board("Transactions") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            for version, lines in LINES.items():
                with arena.topic(node, PRODUCERS) as topic:
                    await_coordinators(node, [f"{topic}-{each}" for each in range(PRODUCERS)], _TRANSACTION_KEY)
                    before = process.cpu_s(node.pid)
                    wanted = warm_up if number < len(arena.names) else count
                    load = generate(node.bootstrap, topic, PRODUCERS, wanted, version)
                    cpu_s = process.cpu_s(node.pid) - before
                if number < len(arena.names):
                    continue
                figures = (
                    load.transactions / load.wall_s,
                    cpu_s / load.transactions * 1e6,
                    load.retries / load.transactions,
                    load.cpu_s / load.wall_s,
                )
                for line, figure in zip(lines, figures, strict=True):
                    board.add(line, name, figure)
