"""The Prometheus text format, written in pieces so that a reactor can do other things in between.

Written here and not by prometheus_client: importing that takes a tenth of a second and a line of it 40 µs, and both
would be the reactor's. The tests read what is written with its parser.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from math import inf
from typing import Final

from ottla.metrics.histogram import QUANTILES, Histogram
from ottla.metrics.instruments import Counter, Gauge, SumGauge
from ottla.metrics.names import quantile_label
from ottla.metrics.registry import Family, Labels, Metric, Registry

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SERIES_PER_PIECE: Final = 25
HISTOGRAMS_PER_PIECE: Final = 5
ITEMS_PER_PIECE: Final = 500
"""Each is some tenths of a millisecond."""

PARTS: Final[tuple[tuple[str, str, str, Callable[[Histogram], float]], ...]] = (
    ("count", "counter", "How many", lambda one: one.count),
    ("sum", "counter", "Sum", lambda one: one.sum / one.divisor),
    ("max", "gauge", "Greatest", lambda one: one.max / one.divisor),
)
"""What a histogram shows beside its quantiles: suffix, type, what it is, and how it is read."""

_QUANTILES: Final = tuple(f'quantile="{quantile_label(q)}"' for q in QUANTILES)
_SPECIAL: Final = {inf: "+Inf", -inf: "-Inf"}


def render(registry: Registry, now_ms: int) -> Iterator[bytes]:
    """The exposition in pieces, of which some are empty; each takes less than a millisecond.

    The pieces of one family are shown under one heading, whatever was added to it or removed meanwhile.
    """
    for family in registry.collect(now_ms):
        if family.source is not None:
            yield _heading(family.name, family.documentation, _gauge_type(family.name))
            yield from _live(family.name, family.source())
        elif issubclass(family.kind, Counter):
            yield _heading(family.name, family.documentation, "counter")
            yield from _pieces(family, SERIES_PER_PIECE, family.name, _counter)
        elif issubclass(family.kind, Gauge):
            yield _heading(family.name, family.documentation, _gauge_type(family.name))
            yield from _gauges(family)
        else:
            # Not a summary: Prometheus 3 would write the quantile 0.50 of one as 0.5, and boards ask for 0.50.
            yield _heading(family.name, family.documentation, "gauge")
            yield from _pieces(family, HISTOGRAMS_PER_PIECE, family.name, _quantiles)
            for suffix, kind, what, read in PARTS:
                name = f"{family.name}_{suffix}"
                yield _heading(name, f"{what}: {family.documentation}", kind)
                yield from _pieces(family, SERIES_PER_PIECE, name, partial(_part, read))


def _gauge_type(name: str) -> str:
    """Some counters are read from elsewhere, as gauges are; their names tell."""
    return "counter" if name.endswith("_total") else "gauge"


def _heading(name: str, documentation: str, kind: str) -> bytes:
    text = documentation.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n".encode()


def _pieces(
    family: Family, series_per_piece: int, name: str, lines: Callable[[str, str, Metric], Iterable[str]]
) -> Iterator[bytes]:
    series = iter(list(family.metrics.items()))
    while piece := list(islice(series, series_per_piece)):
        text = "".join(line for labels, metric in piece for line in lines(name, _labels(labels), metric))
        yield text.encode()


def _gauges(family: Family) -> Iterator[bytes]:
    lines: list[str] = []
    for labels, metric in list(family.metrics.items()):
        assert isinstance(metric, Gauge)
        value = (yield from _sum(metric)) if isinstance(metric, SumGauge) else metric.read()
        lines.append(_line(family.name, _labels(labels), value))
        if len(lines) == SERIES_PER_PIECE:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()


def _sum(gauge: SumGauge) -> Generator[bytes, None, float]:
    total = 0.0
    items = iter(gauge.items())
    while piece := list(islice(items, ITEMS_PER_PIECE)):
        total += sum(map(gauge.value_of, piece))
        yield b""
    return total


def _live(name: str, series: Iterable[tuple[Labels, float]]) -> Iterator[bytes]:
    remaining = iter(series)
    while piece := list(islice(remaining, SERIES_PER_PIECE)):
        yield "".join(_line(name, _labels(labels), value) for labels, value in piece).encode()


def _counter(name: str, labels: str, metric: Metric) -> Iterator[str]:
    assert isinstance(metric, Counter)
    yield _line(name, labels, metric.value)


def _quantiles(name: str, labels: str, metric: Metric) -> Iterator[str]:
    assert isinstance(metric, Histogram)
    comma = "," if labels else ""
    for quantile, value in zip(_QUANTILES, metric.percentiles(QUANTILES), strict=True):
        yield _line(name, f"{labels}{comma}{quantile}", value / metric.divisor)


def _part(read: Callable[[Histogram], float], name: str, labels: str, metric: Metric) -> Iterator[str]:
    assert isinstance(metric, Histogram)
    yield _line(name, labels, read(metric))


def _labels(labels: Labels) -> str:
    return ",".join([f'{name}="{_escaped(value)}"' for name, value in labels])


def _escaped(value: str) -> str:
    if value.isidentifier():  # nearly all of them: nothing to escape
        return value
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _line(name: str, labels: str, value: float) -> str:
    shown = repr(value) if value not in _SPECIAL else _SPECIAL[value]
    return f"{name}{{{labels}}} {shown}\n" if labels else f"{name} {shown}\n"
