"""Where the times of finished requests go: Apache's RequestChannelMetrics."""

from typing import Final, Protocol

from ottla.metrics.registry import Registry
from ottla.metrics.request_metrics import RequestMetrics
from ottla.network.request import Request
from ottla.protocol.api_keys import ApiKey

_KEYS: Final = max(ApiKey) + 1


class RequestMetricsSink(Protocol):
    """What is told of a request when it is over."""

    def update(self, request: Request) -> None:
        """Count a request; its times are set, or -1 where it did not get so far."""


class RequestChannelMetrics:
    """The metrics of every API, made when its first request is over; planes of one registry share them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._by_key: list[RequestMetrics | None] = [None] * _KEYS
        self._by_name: dict[str, RequestMetrics] = {}

    def update(self, request: Request) -> None:
        """Count a request under its API's name, and under the ``metric_name`` it may have besides."""
        header = request.header
        metrics = self._by_key[header.api_key]
        if metrics is None:
            metrics = self._by_key[header.api_key] = self[header.api_key.api_name]
        metrics.update(  # _update, written out for the hot path
            request.start_time_ns,
            request.request_dequeue_time_ns,
            request.api_local_complete_time_ns,
            request.response_complete_time_ns,
            request.response_dequeue_time_ns,
            request.end_time_ns,
            request.throttle_time_ms,
            request.size_bytes,
            request.message_conversions_time_ns,
            request.temporary_memory_bytes,
            header.api_version,
            request.callback_time_ns,
        )
        if request.metric_name is not None:
            _update(self[request.metric_name], request)

    def __getitem__(self, name: str) -> RequestMetrics:
        """The metrics of an API, or of a kind of its requests, by name; for errors, which handlers count."""
        metrics = self._by_name.get(name)
        if metrics is None:
            metrics = self._by_name[name] = RequestMetrics(self._registry, name)
        return metrics

    def close(self) -> None:
        """Take all of them from the registry."""
        for metrics in self._by_name.values():
            metrics.close()


def _update(metrics: RequestMetrics, request: Request) -> None:
    metrics.update(
        request.start_time_ns,
        request.request_dequeue_time_ns,
        request.api_local_complete_time_ns,
        request.response_complete_time_ns,
        request.response_dequeue_time_ns,
        request.end_time_ns,
        request.throttle_time_ms,
        request.size_bytes,
        request.message_conversions_time_ns,
        request.temporary_memory_bytes,
        request.header.api_version,
        request.callback_time_ns,
    )
