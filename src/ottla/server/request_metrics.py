"""Where the network's finished requests are counted: the metrics of their APIs."""

from ottla.metrics.registry import Registry
from ottla.metrics.request_metrics import RequestMetrics
from ottla.network.request import Request


class RequestMetricsByApi:
    """The metrics of each API, made when it is first asked for."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._by_name: dict[str, RequestMetrics] = {}

    def of(self, name: str) -> RequestMetrics:
        """The metrics under one name."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = RequestMetrics(self._registry, name)
        return found

    def update(self, request: Request) -> None:
        """Count a request that is over."""
        header = request.header
        name = header.api_key.api_name
        metrics = self._by_name.get(name) or self.of(name)
        times = (
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
        )
        metrics.update(*times)
        if request.metric_name is not None:
            self.of(request.metric_name).update(*times)
