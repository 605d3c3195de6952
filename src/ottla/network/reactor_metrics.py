"""How idle a process is, under Apache's names: all planes run on one reactor, so one number is for all of them."""

from collections.abc import Callable
from time import perf_counter_ns

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.network.network_metrics import IdleRatio, PlaneMetrics


def register_reactor(registry: Registry, planes: Callable[[], list[PlaneMetrics]]) -> None:
    """Show what all planes together have left; boards add up what they find, so no plane shows a part of it."""
    start_ns = perf_counter_ns()
    network, handlers = IdleRatio(start_ns), IdleRatio(start_ns)
    registry.gauge(
        metric_name("kafka.network", "SocketServer", "NetworkProcessorAvgIdlePercent"),
        "Part of the time in which the network had nothing to do",
        lambda: network.read(sum(plane.busy_ns - plane.handler_busy_ns for plane in planes())),
    )
    registry.gauge(
        metric_name("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent"),
        "Part of the time in which no request was handled",
        lambda: handlers.read(sum(plane.handler_busy_ns for plane in planes())),
    )
