"""The per-API request metrics and how they are shown."""

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from ottla.metrics import Histogram, Meter, Registry
from ottla.metrics.exposition import render
from ottla.metrics.request_metrics import RequestMetrics

_TIMES = (
    "requestqueuetimems",
    "localtimems",
    "remotetimems",
    "throttletimems",
    "responsequeuetimems",
    "responsesendtimems",
    "totaltimems",
    "requestbytes",
    "messageconversionstimems",
    "temporarymemorybytes",
)
_PREFIX = "kafka_network_requestmetrics_"


def _sums(registry: Registry, api_name: str, names: Iterable[str] = _TIMES) -> list[float | None]:
    found = [registry.get(_PREFIX + name, request=api_name) for name in names]
    return [metric.sum / metric.divisor if isinstance(metric, Histogram) else None for metric in found]


def _update(metrics: RequestMetrics, *, version: int = 9, callback_ns: int = 0) -> None:
    ms = 1_000_000
    metrics.update(10 * ms, 11 * ms, 13 * ms, 18 * ms, 25 * ms, 36 * ms, 40, 170, 3 * ms, 512, version, callback_ns)


def test_each_time_is_the_difference_of_its_two_moments() -> None:
    registry = Registry()
    _update(RequestMetrics(registry, "Produce"))
    assert _sums(registry, "Produce") == [1, 2, 5, 40, 7, 11, 26, 170, 3, 512]


def test_a_callback_is_local_time_and_not_remote_time() -> None:
    registry = Registry()
    _update(RequestMetrics(registry, "Produce"), callback_ns=1_500_000)
    assert _sums(registry, "Produce", _TIMES[:3]) == [1, 3.5, 3.5]


def test_conversions_and_temporary_memory_are_kept_for_fetch_and_produce_only() -> None:
    registry = Registry()
    for api_name in ("Fetch", "FetchConsumer", "Metadata"):
        _update(RequestMetrics(registry, api_name))
    assert _sums(registry, "Fetch", _TIMES[-2:]) == [3, 512]
    assert _sums(registry, "FetchConsumer", _TIMES[-2:]) == [None, None]
    assert _sums(registry, "Metadata") == [1, 2, 5, 40, 7, 11, 26, 170, None, None]


def test_times_that_run_backwards_count_as_none() -> None:
    registry = Registry()
    RequestMetrics(registry, "Metadata").update(9_000_000, 5_000_000, 5_000_000, 0, 0, 0, 0, 0, 0, 0, 1)
    assert _sums(registry, "Metadata", _TIMES[:8]) == [0] * 8
    total = registry.get(_PREFIX + "totaltimems", request="Metadata")
    assert isinstance(total, Histogram)
    assert total.count == 1


def test_update_records_as_histogram_record_does() -> None:
    registry, alone = Registry(), Histogram()
    metrics = RequestMetrics(registry, "Metadata")
    for size_bytes in (0, 1, 15, 16, 4095, 4096, 10_000_000):
        metrics.update(0, 0, 0, 0, 0, 0, 0, size_bytes, 0, 0, 1)
        alone.record(size_bytes)
    recorded = registry.get(_PREFIX + "requestbytes", request="Metadata")
    assert isinstance(recorded, Histogram)
    assert (recorded.buckets, recorded.sum, recorded.max) == (alone.buckets, alone.sum, alone.max)


def test_requests_are_counted_by_version_and_errors_by_name_when_first_seen() -> None:
    registry = Registry()
    metrics = RequestMetrics(registry, "Produce")
    assert registry.get(_PREFIX + "requests_total", request="Produce", version="9") is None
    for version in (9, 9, 11):
        _update(metrics, version=version)
    metrics.error_meter("NONE").value += 1
    metrics.error_meter("NOT_LEADER_OR_FOLLOWER").value += 3
    metrics.mark_deprecated(0, "librdkafka", "1.0")
    found = [
        registry.get(_PREFIX + "requests_total", request="Produce", version="9"),
        registry.get(_PREFIX + "requests_total", request="Produce", version="11"),
        registry.get(_PREFIX + "errors_total", request="Produce", error="NOT_LEADER_OR_FOLLOWER"),
        registry.get(
            _PREFIX + "deprecatedrequests_total",
            request="Produce",
            version="0",
            clientSoftwareName="librdkafka",
            clientSoftwareVersion="1.0",
        ),
    ]
    assert [metric.value for metric in found if isinstance(metric, Meter)] == [2, 1, 3, 1]


def test_close_takes_everything_from_the_registry() -> None:
    registry = Registry()
    metrics = RequestMetrics(registry, "Fetch")
    _update(metrics)
    metrics.error_meter("NONE").mark()
    metrics.mark_deprecated(0, "a", "b")
    metrics.close()
    assert list(registry.collect(0)) == []


def test_a_scrape_shows_quantiles_in_milliseconds_beside_count_sum_and_max() -> None:
    registry = Registry()
    metrics = RequestMetrics(registry, "Produce")
    for _ in range(10):
        _update(metrics)
    registry.gauge("kafka_server_purgatory_size", "Size.", lambda: 4, delayedOperation='Pro"duce\n')
    text = b"".join(render(registry, 0)).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    total = families[_PREFIX + "totaltimems"]
    assert total.type == "gauge", "not a summary, or Prometheus 3 would make 0.5 of 0.50"
    shown = {sample.labels["quantile"]: sample.value for sample in total.samples}
    assert list(shown) == ["0.50", "0.75", "0.95", "0.98", "0.99", "0.999"]
    assert abs(shown["0.99"] - 26) <= 26 / 8
    for suffix, kind, value in (("count", "counter", 10), ("sum", "counter", 260), ("max", "gauge", 26)):
        family = families[f"{_PREFIX}totaltimems_{suffix}"]
        assert (family.type, family.samples[0].value) == (kind, value)
        assert f'\n{_PREFIX}totaltimems_{suffix}{{request="Produce"}} {value}' in text
    requests = families[_PREFIX + "requests"]  # the parser takes the suffix off
    assert requests.type == "counter"
    assert requests.samples[0][:3] == (_PREFIX + "requests_total", {"request": "Produce", "version": "9"}, 10)
    size = families["kafka_server_purgatory_size"].samples[0]
    assert size[:3] == ("kafka_server_purgatory_size", {"delayedOperation": 'Pro"duce\n'}, 4)
