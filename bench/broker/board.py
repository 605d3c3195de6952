"""Figures of two brokers side by side, with the bars that Ottla has to reach."""

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from bench.measure import Row

APACHE, OTTLA, BEFORE = "apache", "ottla", "before"
_TITLES = {APACHE: "Apache", OTTLA: "Ottla", BEFORE: "before"}


class Bar(NamedTuple):
    """What is asked for: a text, and whether the figures (Apache's, Ottla's) reach it."""

    text: str
    reached: Callable[[float, float], bool]
    is_ratio: bool = True


def at_least(ratio: float) -> Bar:
    """Ottla's figure is at least so many times Apache's."""
    return Bar(f"≥ {ratio:g} ×", lambda apache, ottla: ottla >= ratio * apache)


def at_most(ratio: float, text: str = "") -> Bar:
    """Ottla's figure is at most so many times Apache's."""
    return Bar(text or f"≤ {ratio:g} ×", lambda apache, ottla: ottla <= ratio * apache)


def below(bound: float, text: str) -> Bar:
    """Ottla's figure is at most `bound`, whatever Apache's is."""
    return Bar(f"≤ {text}", lambda _, ottla: ottla <= bound, is_ratio=False)


class Line(NamedTuple):
    """A line of the table: what is measured, how a figure is written, and its bar if it has one."""

    what: str
    write: Callable[[float], str]
    bar: Bar | None = None


class Board:
    """Collects figures and prints them; the median of a contender's figures counts.

    Ratios are to the first contender. Bars are told beside Apache, and where Ottla is alone.
    """

    def __init__(self, title: str, contenders: list[str]) -> None:
        self._title = title
        self._contenders = contenders
        self._figures: dict[Line, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, line: Line, contender: str, figure: float) -> None:
        """Add one round's figure."""
        self._figures[line][contender].append(figure)

    def print(self) -> list[Row]:
        """Print the table and return its lines for the summary."""
        head = ["", *(_TITLES[name] for name in self._contenders), "ratio", "bar", ""]
        reference = self._contenders[0]
        cells, rows = [head], []
        for line, figures in self._figures.items():
            medians = {name: median(values) for name, values in figures.items()}
            written = [line.write(medians[name]) if name in medians else "–" for name in self._contenders]
            both = reference != OTTLA and OTTLA in medians and medians.get(reference)
            ratio = f"{medians[OTTLA] / medians[reference]:.3f} ×" if both else ""
            reached, wanted = None, None if reference == BEFORE else line.bar
            if wanted is not None and OTTLA in medians and (both or not wanted.is_ratio):
                reached = wanted.reached(medians.get(APACHE, 0.0), medians[OTTLA])
            bar = wanted.text if wanted is not None else ""
            cells.append([line.what, *written, ratio, bar, {True: "OK", False: "MISS", None: ""}[reached]])
            rows.append(Row(line.what, " / ".join(written), bar, reached))
        widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
        print(f"\n{self._title}")
        for row in cells:
            texts = [
                text.ljust(width) if not column else text.rjust(width)
                for column, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            print("  " + "   ".join(texts).rstrip(), flush=True)
        return rows


def per_second(figure: float) -> str:
    return f"{figure:,.0f}/s"


def microseconds(figure: float) -> str:
    return f"{figure:,.1f} µs"


def milliseconds(figure: float) -> str:
    return f"{figure:,.2f} ms"


def seconds(figure: float) -> str:
    return f"{figure:.2f} s"


def megabytes(figure: float) -> str:
    return f"{figure / 1e6:,.1f} MB"


def megabytes_per_second(figure: float) -> str:
    return f"{figure / 1e6:,.0f} MB/s"


def milliseconds_per_gigabyte(figure: float) -> str:
    return f"{figure * 1e12:,.0f} ms/GB"


def percent(figure: float) -> str:
    return f"{figure * 100:.0f} %"
