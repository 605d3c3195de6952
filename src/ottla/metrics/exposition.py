"""The Prometheus text format, by prometheus_client, which is imported when somebody scrapes and not before."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ottla.metrics.histogram import QUANTILES, Histogram
from ottla.metrics.instruments import Counter, Gauge
from ottla.metrics.registry import Labels, Metric, Registry

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as PrometheusMetric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SERIES_PER_PIECE: Final = 25  # about a millisecond

Series = Sequence[tuple[Labels, Metric]]
Sample = tuple[str, dict[str, str], float]  # suffix of the name, further labels, value
SamplesOf = Callable[[Metric], Iterator[Sample]]


class _Collector:
    """What prometheus_client calls a collector: it answers metrics when asked."""

    def __init__(self, metrics: "Iterable[PrometheusMetric]") -> None:
        self._metrics = metrics

    def collect(self) -> "Iterable[PrometheusMetric]":
        """The metrics."""
        return self._metrics


def render(registry: Registry, now_ms: int) -> Iterator[bytes]:
    """The exposition in pieces of `SERIES_PER_PIECE` metrics at most, so that a reactor can do other things in between.

    The pieces of one family are shown under one heading, whatever was added to it or removed meanwhile.
    """
    for family in registry.collect(now_ms):
        series = list(family.metrics.items())
        if issubclass(family.kind, Counter):
            yield from _pieces(family.name, family.documentation, "counter", series, _counter_samples)
        elif issubclass(family.kind, Gauge):
            yield from _pieces(family.name, family.documentation, "gauge", series, _gauge_samples)
        else:
            yield from _pieces(family.name, family.documentation, "summary", series, _summary_samples)
            yield from _pieces(family.name + "_max", f"Greatest {family.name}", "gauge", series, _max_samples)


def _pieces(name: str, documentation: str, kind: str, series: Series, samples_of: SamplesOf) -> Iterator[bytes]:
    from prometheus_client.exposition import generate_latest
    from prometheus_client.metrics_core import Metric as PrometheusMetric

    for start in range(0, len(series), SERIES_PER_PIECE):
        metric = PrometheusMetric(name, documentation, kind)
        for labels, instrument in series[start : start + SERIES_PER_PIECE]:
            for suffix, more_labels, value in samples_of(instrument):
                metric.add_sample(name + suffix, {**dict(labels), **more_labels}, value)
        text = generate_latest(_Collector((metric,)))
        yield text if start == 0 else text.split(b"\n", 2)[2]  # HELP and TYPE are said once


def _counter_samples(metric: Metric) -> Iterator[Sample]:
    assert isinstance(metric, Counter)
    yield "_total", {}, metric.value


def _gauge_samples(metric: Metric) -> Iterator[Sample]:
    assert isinstance(metric, Gauge)
    yield "", {}, metric.read()


def _summary_samples(metric: Metric) -> Iterator[Sample]:
    assert isinstance(metric, Histogram)
    for quantile, value in zip(QUANTILES, metric.percentiles(QUANTILES), strict=True):
        yield "", {"quantile": str(quantile)}, value / metric.divisor
    yield "_sum", {}, metric.sum / metric.divisor
    yield "_count", {}, metric.count


def _max_samples(metric: Metric) -> Iterator[Sample]:
    assert isinstance(metric, Histogram)
    yield "", {}, metric.max / metric.divisor
