"""Apache Kafka 4.3.1 and Ottla in one run: ``python -m bench broker [--long] [--only produce,…] [--contender …]``.

With ``--against PACKAGE`` it is Ottla before a change, as ``pip install --target`` has put it there, and Ottla.

Both run as processes of their own and are warmed up; while one is measured the other stands still. Rounds alternate and
medians count. Data is on the disk of the checkout.

Each section has new brokers, so that its figures are the same whatever else is measured. A JVM goes on getting faster
for a minute of full load with one request, and ``--long`` waits for that; docs/performance.md says how the default was
chosen and which bars depend on it.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.broker import clients, consume, controller, footprint, hostile, nodes, produce
from bench.broker.arena import Arena
from bench.groups import commits, loading, rebalances, transactions
from bench.measure import Row
from bench.workload import scratch_directory
from tests.oracle import Oracle

SECTIONS: dict[str, Callable[[Arena], None]] = {
    "startup": footprint.startup,
    "memory": footprint.memory,
    "loading": loading.loading,
    "produce": produce.small,
    "large": produce.large,
    "controller": controller.controller,
    "sync": clients.sync,
    "librdkafka": clients.throughput,
    "hostile": hostile.hostile,
    "profiles": clients.profiles,
    "consume": consume.consume,
    "sendfile": consume.sendfile,
    "commits": commits.commits,
    "heartbeats": commits.heartbeats,
    "rebalances": rebalances.rebalances,
    "transactions": transactions.transactions,
}
IDLE_LOAD = 0.3
ALONE = ("startup", "memory", "loading")
"""Sections that start the brokers themselves."""


def run(arguments: Sequence[str] = ()) -> list[Row]:
    options = _parse(arguments)
    names = ["apache", "ottla"] if options.contender == "both" else [options.contender]
    if options.against:
        names = ["before", "ottla"]
    wanted = options.only.split(",") if options.only else list(SECTIONS)
    oracle = Oracle(print) if "apache" in names else None
    print(
        f"load average before: {os.getloadavg()[0]:.1f}; anything above {IDLE_LOAD} belongs to somebody else",
        flush=True,
    )
    if "ottla" in names:
        print(
            "Ottla's hot path is", "compiled" if nodes.COMPILED.is_dir() else "not compiled: see make bench", flush=True
        )
    with scratch_directory() as directory:
        arena = Arena(names, nodes.Contenders(oracle, options.against), Path(directory), long=options.long)
        try:
            for name in (name for name in SECTIONS if name in wanted):
                if name not in ALONE:
                    arena.start(name)
                SECTIONS[name](arena)
                arena.kill()
        finally:
            arena.kill()
            if oracle is not None:
                oracle.close()
    return arena.rows


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench broker", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--long", action="store_true", help="warm up until a JVM has compiled its whole hot path")
    parser.add_argument("--only", default="", help=f"sections, with commas: {', '.join(SECTIONS)}")
    parser.add_argument("--contender", default="both", choices=("both", "apache", "ottla"))
    parser.add_argument("--against", type=Path, metavar="PACKAGE", help="Ottla of this directory instead of Apache")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only.split(",") if name and name not in SECTIONS]
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}")
    return options
