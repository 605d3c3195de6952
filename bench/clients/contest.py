"""Clients side by side: ``python -m bench clients [--quick] [--only produce,…] [--broker ottla|apache]``."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.clients import batches, consume, produce
from bench.clients.arena import ClientArena
from bench.measure import Row
from bench.workload import scratch_directory

SECTIONS: dict[str, Callable[[ClientArena], list[Row]]] = {
    "produce": produce.produce,
    "batches": batches.batches,
    "consume": consume.consume,
}


def run(arguments: Sequence[str] = ()) -> list[Row]:
    parser = argparse.ArgumentParser(prog="python -m bench clients", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", default="", help=f"sections, with commas: {', '.join(SECTIONS)}")
    parser.add_argument("--broker", default="ottla", choices=("ottla", "apache"), help="whose broker they meet at")
    options = parser.parse_args(arguments)
    wanted = options.only.split(",") if options.only else list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}")
    rows: list[Row] = []
    with scratch_directory() as directory:
        arena = ClientArena(options.broker, Path(directory), quick=options.quick)
        try:
            arena.start()
            for name in wanted:
                rows += SECTIONS[name](arena)
        finally:
            arena.stop()
    return rows
