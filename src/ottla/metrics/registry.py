"""All metrics of a process by name and labels."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ottla.metrics.histogram import Histogram
from ottla.metrics.instruments import Counter, Gauge, Meter, SumGauge

Metric = Counter | Gauge | Histogram
Labels = tuple[tuple[str, str], ...]
LiveSeries = Callable[[], Iterable[tuple[Labels, float]]]
M = TypeVar("M", Counter, Meter, Histogram)
T = TypeVar("T")

ROTATION_MS: Final = 150_000  # two intervals are the five minutes that Apache's quantiles look back


class Family:
    """The metrics of one name: one for each set of labels, all of one kind; or gauges that ``source`` tells anew."""

    __slots__ = ("documentation", "kind", "metrics", "name", "source")

    def __init__(self, name: str, documentation: str, kind: type[Metric], source: LiveSeries | None = None) -> None:
        self.name = name
        self.documentation = documentation
        self.kind = kind
        self.source = source
        self.metrics: dict[Labels, Metric] = {}


class Registry:
    """Makes metrics and knows them all. Asking again for the same name and labels answers the same metric."""

    __slots__ = ("_families", "_rotated_ms")

    def __init__(self, now_ms: int = 0) -> None:
        self._families: dict[str, Family] = {}
        self._rotated_ms = now_ms

    def counter(self, name: str, documentation: str, /, **labels: str) -> Counter:
        """A counter, shown under this very name."""
        return self._get_or_make(name, documentation, Counter, Counter, labels)

    def meter(self, name: str, documentation: str, /, **labels: str) -> Meter:
        """A meter, shown as a counter: Prometheus derives rates itself."""
        return self._get_or_make(name, documentation, Meter, lambda: Meter(self._rotated_ms), labels)

    def histogram(self, name: str, documentation: str, /, *, divisor: int = 1, **labels: str) -> Histogram:
        """A histogram, shown as gauges with Apache's quantiles, and with the suffixes of ``exposition.PARTS``."""
        return self._get_or_make(name, documentation, Histogram, lambda: Histogram(divisor), labels)

    def gauge(self, name: str, documentation: str, read: Callable[[], float], /, **labels: str) -> Gauge:
        """A gauge that `read` answers; registering it again replaces the reader."""
        gauge = Gauge(read)
        self._family(name, documentation, Gauge).metrics[_key(labels)] = gauge
        return gauge

    def sum_gauge(
        self,
        name: str,
        documentation: str,
        items: Callable[[], Iterable[T]],
        value_of: Callable[[T], float],
        /,
        **labels: str,
    ) -> SumGauge:
        """A gauge that is a sum over as many things as there may be; see SumGauge."""
        gauge = SumGauge(items, value_of)
        self._family(name, documentation, Gauge).metrics[_key(labels)] = gauge
        return gauge

    def live_gauges(self, name: str, documentation: str, source: LiveSeries) -> None:
        """Gauges of things that come and go, such as partitions: ``source`` gives labels and value of each.

        They cost nothing until somebody asks. ``source`` goes through what nobody changes meanwhile, as a SumGauge.
        """
        self._families[name] = Family(name, documentation, Gauge, source)

    def remove(self, name: str, /, **labels: str) -> None:
        """Forgets a metric, if it is there; live gauges go as a whole."""
        family = self._families.get(name)
        if family is not None:
            family.metrics.pop(_key(labels), None)
            if not family.metrics:
                del self._families[name]

    def get(self, name: str, /, **labels: str) -> Metric | None:
        """The metric of that name and labels."""
        family = self._families.get(name)
        return family.metrics.get(_key(labels)) if family is not None else None

    def collect(self, now_ms: int) -> Iterable[Family]:
        """All families, by name. Begins a new interval of meters and histograms when the last is long enough ago."""
        if now_ms - self._rotated_ms >= ROTATION_MS:
            self._rotated_ms = now_ms
            self._rotate(now_ms)
        return [family for _, family in sorted(self._families.items())]

    def _rotate(self, now_ms: int) -> None:
        for family in self._families.values():
            if family.kind is Histogram or family.kind is Meter:  # of others there may be very many
                for metric in family.metrics.values():
                    if isinstance(metric, Histogram):
                        metric.rotate()
                    elif isinstance(metric, Meter):
                        metric.rotate(now_ms)

    def _get_or_make(
        self, name: str, documentation: str, kind: type[M], make: Callable[[], M], labels: dict[str, str]
    ) -> M:
        metrics = self._family(name, documentation, kind).metrics
        key = _key(labels)
        metric = metrics.get(key)
        if metric is None:
            metric = metrics[key] = make()
        assert isinstance(metric, kind)
        return metric

    def _family(self, name: str, documentation: str, kind: type[Metric]) -> Family:
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = Family(name, documentation, kind)
        assert family.kind is kind, f"{name} is a {family.kind.__name__}, not a {kind.__name__}"
        return family


def _key(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
