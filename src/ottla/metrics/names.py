"""The names of metrics in Prometheus: those that the published rules for jmx_exporter give to Apache's MBeans. Pure.

An MBean has a group, a type, and a name or attributes. ``kafka.network:type=RequestMetrics,name=TotalTimeMs`` becomes
``kafka_network_requestmetrics_totaltimems``: lower case, with underscores. A meter's ``PerSec`` becomes ``_total``,
since what is shown is its count, and a gauge's ``Percent`` becomes ``_percent``. The MBean's other keys are the labels,
as they are. Where rules differ, Strimzi's decide: ``_TYPES`` and ``_NAMES`` are their exceptions.
"""

from typing import Final

_SUFFIXES: Final = (("PerSec", "_total"), ("Percent", "_percent"))

_TYPES: Final = {
    "raft-metrics": "raftmetrics",
    "broker-metadata-metrics": "brokermetadatametrics",
}
_NAMES: Final = {
    ("socket-server-metrics", "connections"): "connections_software",
    ("AddPartitionsToTxnManager", "VerificationFailureRate"): "verificationfailurerate_count",  # a meter without PerSec
}


def metric_name(group: str, type_name: str, name: str) -> str:
    """The name of one metric of an MBean; ``name`` is its name or one of its attributes."""
    shown_name = _NAMES.get((type_name, name))
    if shown_name is None:
        shown_name = name
        for suffix, shown_suffix in _SUFFIXES:
            if name.endswith(suffix):
                shown_name = name.removesuffix(suffix) + shown_suffix
    shown = f"{group}_{_TYPES.get(type_name, type_name)}_{shown_name}"
    return shown.replace(".", "_").replace("-", "_").lower()


def quantile_label(quantile: float) -> str:
    """The label of a quantile, from Apache's attribute: ``50thPercentile`` is 0.50, ``999thPercentile`` 0.999."""
    return f"{quantile:.3f}".removesuffix("0")
