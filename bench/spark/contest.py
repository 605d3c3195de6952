"""Spark's connectors side by side: ``python -m bench spark [--quick] [--only scan,…] [--broker ottla|apache]``."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.measure import Row
from bench.spark import cold, latency, memory, scan, write
from bench.spark.arena import SparkArena
from bench.workload import scratch_directory

SECTIONS: dict[str, Callable[[SparkArena], list[Row]]] = {
    "scan": partial(scan.scan, size=scan.NARROW),
    "wide": partial(scan.scan, size=scan.WIDE),
    "write": write.write,
    "latency": latency.latency,
    "memory": memory.memory,
    "cold": cold.cold,
}
BROKERS = ("apache", "ottla")


def run(arguments: Sequence[str] = ()) -> list[Row]:
    parser = argparse.ArgumentParser(prog="python -m bench spark", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer records and shorter rounds")
    parser.add_argument("--only", default="", help=f"sections, with commas: {', '.join(SECTIONS)}")
    parser.add_argument("--broker", choices=BROKERS, help="on one broker only")
    options = parser.parse_args(arguments)
    wanted = options.only.split(",") if options.only else list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}")
    rows: list[Row] = []
    with scratch_directory() as directory:
        arena = SparkArena([options.broker] if options.broker else list(BROKERS), Path(directory), quick=options.quick)
        try:
            arena.start()
            for name in wanted:
                rows += SECTIONS[name](arena)
        finally:
            arena.stop()
    return rows
