"""Measuring on a noisy machine: contenders take turns, medians count, and CPU time where the clock would lie."""

import os
import platform
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple


class Cost(NamedTuple):
    """What one round of a contender took, in seconds."""

    cpu_s: float
    wall_s: float


@contextmanager
def measured_cost() -> Iterator[Callable[[], Cost]]:
    """Count this process's CPU time (and that of children it has waited for) and the clock, for what is inside."""
    result: list[Cost] = []
    before, wall = _cpu_s(), time.perf_counter()
    yield lambda: result[0]
    result.append(Cost(_cpu_s() - before, time.perf_counter() - wall))


def cost_of(action: Callable[[], object]) -> Cost:
    """What one call costs."""
    with measured_cost() as cost:
        action()
    return cost()


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def alternate(contenders: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, Cost]:
    """Let the contenders take turns, so that a slow spell hits all of them; returns the median of each."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for round_number in range(rounds + 1):
        for name, run in contenders.items():
            cost = run()
            if round_number:  # the first round warms caches
                costs[name].append(cost)
    return {
        name: Cost(median(cost.cpu_s for cost in measured), median(cost.wall_s for cost in measured))
        for name, measured in costs.items()
    }


class Row(NamedTuple):
    """A line of the table: what was measured, the figure, the bar, and whether it was reached."""

    what: str
    measured: str
    bar: str
    reached: bool | None = None
    """None for a figure without a bar."""


def print_table(title: str, rows: list[Row]) -> None:
    """A plain table."""
    widths = [max(len(str(row[column])) for row in rows) for column in range(3)]
    print(f"\n{title}")
    for row in rows:
        verdict = {True: "reached", False: "MISSED", None: ""}[row.reached]
        cells = "   ".join(text.ljust(width) for text, width in zip(row[:3], widths, strict=True))
        print(f"  {cells}   {verdict}")


def describe_machine() -> str:
    """What the figures were measured on."""
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
