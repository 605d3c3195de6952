"""A server with 5,000 partitions and a limit of 20,000 open files: what each costs, and two restarts."""

import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import Row, print_table
from bench.workload import scratch_directory
from tests.server.limited_node import LimitedBroker, create_many
from tests.server.records_on_wire import append_on, read_values
from tests.server.wire import Wire

_PARTITIONS = 5_000
_LIMIT = 20_000
_DESCRIPTORS = 1.3
_PATIENCE_S = 300


def run() -> list[Row]:
    with scratch_directory() as directory:
        rows = _story(Path(directory))
    print_table(f"{_PARTITIONS:,} partitions, {_LIMIT:,} open files", rows)
    return rows


def _story(directory: Path) -> list[Row]:
    rows: list[Row] = []
    with LimitedBroker(directory, {}, _LIMIT) as node:
        alone = node.descriptors()
        with Wire(node.bootstrap) as wire:
            begun = time.perf_counter()
            names = create_many(wire, _PARTITIONS)
            _await(lambda: node.descriptors() >= alone + _PARTITIONS)
            rows.append(Row("all of them created in", f"{time.perf_counter() - begun:.1f} s", "", None))
            for name in names:
                append_on(wire, name, b"first")
        rows.append(_descriptors("descriptors a partition", node))
        for how, end in (("stop", node.stop), ("kill", node.kill)):
            begun = time.perf_counter()
            end()
            stopped = time.perf_counter()
            node.start()
            started = time.perf_counter()
            rows.append(Row(f"{how}, and start", f"{stopped - begun:.1f} s, {started - stopped:.1f} s", "", None))
            rows.append(_descriptors(f"descriptors a partition after the {how}", node))
            assert all(read_values(node.bootstrap, name) == [b"first"] for name in names)
        failures = node.failures()
        rows.append(Row("lines about failures", str(len(failures)), "0", not failures))
        node.stop()
    return rows


def _descriptors(what: str, node: LimitedBroker) -> Row:
    partitions = sum(1 for path in node.log_dir.iterdir() if path.is_dir())
    figure = node.descriptors() / partitions
    return Row(f"{what} ({partitions:,})", f"{figure:.3f}", f"≤ {_DESCRIPTORS}", figure <= _DESCRIPTORS)


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen within {_PATIENCE_S} s"
        time.sleep(0.05)


if __name__ == "__main__":
    run()
