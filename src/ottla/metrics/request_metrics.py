"""What Apache calls RequestMetrics: where the time of each API's requests goes, from T0 to T5."""

from typing import Final

from ottla.metrics.histogram import Histogram
from ottla.metrics.instruments import Meter
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

CONSUMER_FETCH_METRIC_NAME: Final = "FetchConsumer"
FOLLOW_FETCH_METRIC_NAME: Final = "FetchFollower"
VERIFY_PARTITIONS_IN_TXN_METRIC_NAME: Final = "AddPartitionsToTxnVerification"
LIST_CLIENT_METRICS_RESOURCES_METRIC_NAME: Final = "ListClientMetricsResources"

_FETCH_OR_PRODUCE: Final = frozenset(("Fetch", "Produce"))
_NS_PER_US: Final = 1000
_US_PER_MS: Final = 1000

_REQUESTS_PER_SEC: Final = metric_name("kafka.network", "RequestMetrics", "RequestsPerSec")
_DEPRECATED_REQUESTS_PER_SEC: Final = metric_name("kafka.network", "RequestMetrics", "DeprecatedRequestsPerSec")
_ERRORS_PER_SEC: Final = metric_name("kafka.network", "RequestMetrics", "ErrorsPerSec")

# name, what it is, divisor: times are recorded in microseconds (throttling in milliseconds) and shown in milliseconds
_HISTOGRAMS: Final = (
    ("RequestQueueTimeMs", "Time a request waited for a handler (T1 - T0)", _US_PER_MS),
    ("LocalTimeMs", "Time a request was processed by this broker (T2 - T1)", _US_PER_MS),
    ("RemoteTimeMs", "Time a request waited in purgatory, on others (T3 - T2)", _US_PER_MS),
    ("ThrottleTimeMs", "Time a request was throttled for by quotas", 1),
    ("ResponseQueueTimeMs", "Time a response waited for the network (T4 - T3)", _US_PER_MS),
    ("ResponseSendTimeMs", "Time to send a response (T5 - T4)", _US_PER_MS),
    ("TotalTimeMs", "Time from the receipt of a request to the end of its response (T5 - T0)", _US_PER_MS),
    ("RequestBytes", "Size of a request", 1),
)
_HISTOGRAMS_OF_ALL: Final = len(_HISTOGRAMS)
_FETCH_OR_PRODUCE_HISTOGRAMS: Final = (
    ("MessageConversionsTimeMs", "Time spent converting messages", _US_PER_MS),
    ("TemporaryMemoryBytes", "Memory allocated for conversion and compression, the request itself not counted", 1),
)


class RequestMetrics:
    """The metrics of the requests of one API, or of a kind of them (FetchConsumer)."""

    __slots__ = ("_api_name", "_deprecated", "_errors", "_histograms", "_names", "_registry", "_requests")

    def __init__(self, registry: Registry, api_name: str) -> None:
        self._registry = registry
        self._api_name = api_name
        rows = _HISTOGRAMS + (_FETCH_OR_PRODUCE_HISTOGRAMS if api_name in _FETCH_OR_PRODUCE else ())
        self._names = tuple(metric_name("kafka.network", "RequestMetrics", name) for name, _, _ in rows)
        self._histograms: tuple[Histogram, ...] = tuple(
            registry.histogram(name, documentation, divisor=divisor, request=api_name)
            for name, (_, documentation, divisor) in zip(self._names, rows, strict=True)
        )
        self._requests: dict[int, Meter] = {}
        self._deprecated: dict[tuple[int, str, str], Meter] = {}
        self._errors: dict[str, Meter] = {}

    def update(  # noqa: PLR0917
        self,
        t0_ns: int,
        t1_ns: int,
        t2_ns: int,
        t3_ns: int,
        t4_ns: int,
        t5_ns: int,
        throttle_ms: int,
        request_bytes: int,
        conversions_ns: int,
        temporary_bytes: int,
        version: int,
        callback_ns: int = 0,
    ) -> None:
        """Records one request.

        T0 received, T1 taken by a handler, T2 its local part done, T3 response ready, T4 response taken by the network,
        T5 sent. `callback_ns` is local work done between T2 and T3 (a callback): it counts as local and not as remote.
        A negative time counts as none.
        """
        try:
            self._requests[version].value += 1
        except KeyError:
            self._first_of_version(version).value += 1
        histograms = self._histograms
        histograms[0].record((t1_ns - t0_ns) // _NS_PER_US)
        histograms[1].record((t2_ns - t1_ns + callback_ns) // _NS_PER_US)
        histograms[2].record((t3_ns - t2_ns - callback_ns) // _NS_PER_US)
        histograms[3].record(throttle_ms)
        histograms[4].record((t4_ns - t3_ns) // _NS_PER_US)
        histograms[5].record((t5_ns - t4_ns) // _NS_PER_US)
        histograms[6].record((t5_ns - t0_ns) // _NS_PER_US)
        histograms[7].record(request_bytes)
        if len(histograms) > _HISTOGRAMS_OF_ALL:
            histograms[8].record(conversions_ns // _NS_PER_US)
            histograms[9].record(temporary_bytes)

    def error_meter(self, error_name: str) -> Meter:
        """Counts one error in responses; NONE is one of them, as in Apache."""
        meter = self._errors.get(error_name)
        if meter is None:
            meter = self._errors[error_name] = self._registry.meter(
                _ERRORS_PER_SEC, "Errors in responses", request=self._api_name, error=error_name
            )
        return meter

    def mark_deprecated(self, version: int, software_name: str, software_version: str) -> None:
        """Counts a request of a deprecated version, by client software."""
        key = (version, software_name, software_version)
        meter = self._deprecated.get(key)
        if meter is None:
            meter = self._deprecated[key] = self._registry.meter(
                _DEPRECATED_REQUESTS_PER_SEC, "Requests of deprecated versions", **self._deprecated_labels(key)
            )
        meter.value += 1

    def close(self) -> None:
        """Takes all of these metrics from the registry."""
        remove = self._registry.remove
        for name in self._names:
            remove(name, request=self._api_name)
        for version in self._requests:
            remove(_REQUESTS_PER_SEC, request=self._api_name, version=str(version))
        for error_name in self._errors:
            remove(_ERRORS_PER_SEC, request=self._api_name, error=error_name)
        for key in self._deprecated:
            remove(_DEPRECATED_REQUESTS_PER_SEC, **self._deprecated_labels(key))

    def _first_of_version(self, version: int) -> Meter:
        meter = self._requests[version] = self._registry.meter(
            _REQUESTS_PER_SEC, "Requests", request=self._api_name, version=str(version)
        )
        return meter

    def _deprecated_labels(self, key: tuple[int, str, str]) -> dict[str, str]:
        version, software_name, software_version = key
        return {
            "request": self._api_name,
            "version": str(version),
            "clientSoftwareName": software_name,
            "clientSoftwareVersion": software_version,
        }
