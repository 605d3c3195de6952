"""What contenders did, round by round, and the table of it."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from bench.measure import Row
from bench.spark.arena import Used
from bench.spark.contenders import OTTLA, STOCK, TUNED, Contender


class Round(NamedTuple):
    """One measurement."""

    rows: int
    wall_s: float
    before: Used
    after: Used


class Bar(NamedTuple):
    """How many times the rate of another Ottla's must be."""

    against: Contender
    ratio: float


SCAN_BARS = (Bar(STOCK, 3.0), Bar(TUNED, 1.7))
"""The issue's. With rows of 1 KiB Spark alone takes so much that the first is out of reach: see docs/performance.md."""
WRITE_BARS = (Bar(STOCK, 1.0),)


class Rates:
    """Rates of contenders at the same work; medians count."""

    def __init__(self, title: str, bars: Sequence[Bar]) -> None:
        self._title = title
        self._bars = bars
        self._rounds: dict[str, list[Round]] = defaultdict(list)

    def add(self, contender: Contender, measured: Round) -> None:
        """Another round."""
        self._rounds[contender.name].append(measured)

    def print(self) -> list[Row]:
        """The table, and its lines with bars."""
        print(f"\n{self._title}")
        print(f"  {'':14} {'rows/s':>12} {'of':>26} {'CPU of Spark':>14} {'of the broker':>14}")
        rates = {}
        for name, rounds in self._rounds.items():
            each = sorted(measured.rows / measured.wall_s for measured in rounds)
            rates[name] = median(each)
            spark_us = median((m.after.spark_cpu_s - m.before.spark_cpu_s) / m.rows for m in rounds) * 1e6
            broker_us = median((m.after.broker_cpu_s - m.before.broker_cpu_s) / m.rows for m in rounds) * 1e6
            spread = f"{each[0]:,.0f}–{each[-1]:,.0f}"
            print(
                f"  {name:14} {rates[name]:>12,.0f} {spread:>26} {spark_us:>11.2f} µs {broker_us:>11.2f} µs",
                flush=True,
            )
        rows = []
        for bar in self._bars:
            if bar.against.name not in rates or OTTLA.name not in rates:
                continue
            ratio = rates[OTTLA.name] / rates[bar.against.name]
            verdict = "OK" if ratio >= bar.ratio else "MISS"
            print(f"  ottla is {ratio:.2f} × {bar.against.name} (bar: {bar.ratio:g} ×) {verdict}")
            what = f"{self._title}: against {bar.against.name}"
            rows.append(Row(what, f"{ratio:.2f} ×", f"≥ {bar.ratio:g} ×", ratio >= bar.ratio))
        return rows
