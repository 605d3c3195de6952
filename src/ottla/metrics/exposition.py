"""The Prometheus text format, by prometheus_client, which is imported when somebody scrapes and not before."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ottla.metrics.histogram import QUANTILES, Histogram
from ottla.metrics.instruments import Counter, Gauge
from ottla.metrics.registry import Family, Registry

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as PrometheusMetric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class _Collector:
    """What prometheus_client calls a collector: it answers metrics when asked."""

    def __init__(self, metrics: "Iterable[PrometheusMetric]") -> None:
        self._metrics = metrics

    def collect(self) -> "Iterable[PrometheusMetric]":
        """The metrics."""
        return self._metrics


def render(registry: Registry, now_ms: int) -> Iterator[bytes]:
    """The exposition in pieces, one a family, so that a reactor can do something else in between."""
    from prometheus_client.exposition import generate_latest

    for family in registry.collect(now_ms):
        yield generate_latest(_Collector(_metrics(family)))


def _metrics(family: Family) -> "Iterator[PrometheusMetric]":
    from prometheus_client.metrics_core import Metric as PrometheusMetric

    name = family.name
    if issubclass(family.kind, Counter):
        metric = PrometheusMetric(name, family.documentation, "counter")
        for labels, counter in family.metrics.items():
            assert isinstance(counter, Counter)
            metric.add_sample(name + "_total", dict(labels), counter.value)
        yield metric
    elif issubclass(family.kind, Gauge):
        metric = PrometheusMetric(name, family.documentation, "gauge")
        for labels, gauge in family.metrics.items():
            assert isinstance(gauge, Gauge)
            metric.add_sample(name, dict(labels), gauge.read())
        yield metric
    else:
        yield from _summary(family)


def _summary(family: Family) -> "Iterator[PrometheusMetric]":
    from prometheus_client.metrics_core import Metric as PrometheusMetric

    name = family.name
    summary = PrometheusMetric(name, family.documentation, "summary")
    maximum = PrometheusMetric(name + "_max", f"The greatest value of {name} so far", "gauge")
    for labels, histogram in family.metrics.items():
        assert isinstance(histogram, Histogram)
        divisor = histogram.divisor
        shown = dict(labels)
        for quantile, value in zip(QUANTILES, histogram.percentiles(QUANTILES), strict=True):
            summary.add_sample(name, {**shown, "quantile": str(quantile)}, value / divisor)
        summary.add_sample(name + "_sum", shown, histogram.sum / divisor)
        summary.add_sample(name + "_count", shown, histogram.count)
        maximum.add_sample(name + "_max", shown, histogram.max / divisor)
    yield summary
    yield maximum
