"""Counters, gauges, meters, histograms and the registry of them; Prometheus exposition when scraped. Pure."""

from ottla.metrics.histogram import Histogram
from ottla.metrics.instruments import Counter, Gauge, Meter, SumGauge
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Family, Registry

__all__ = ["Counter", "Family", "Gauge", "Histogram", "Meter", "Registry", "SumGauge", "metric_name"]
