"""Metrics have the names that the published rules for jmx_exporter give to Apache's MBeans."""

import pytest

from ottla.metrics.histogram import QUANTILES
from ottla.metrics.names import metric_name, quantile_label


@pytest.mark.parametrize(
    ("mbean", "name"),
    [
        (("kafka.network", "RequestMetrics", "TotalTimeMs"), "kafka_network_requestmetrics_totaltimems"),
        (
            ("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec"),
            "kafka_server_brokertopicmetrics_messagesin_total",
        ),
        (("kafka.server", "DelayedFetchMetrics", "ExpiresPerSec"), "kafka_server_delayedfetchmetrics_expires_total"),
        (
            ("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent"),
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        ),
        (
            ("kafka.log", "LogCleanerManager", "max-dirty-percent"),  # no Percent: the rules know one spelling
            "kafka_log_logcleanermanager_max_dirty_percent",
        ),
        (
            ("kafka.coordinator.group", "GroupMetadataManager", "NumGroups"),
            "kafka_coordinator_group_groupmetadatamanager_numgroups",
        ),
        (
            ("kafka.server", "socket-server-metrics", "connection-creation-total"),
            "kafka_server_socket_server_metrics_connection_creation_total",
        ),
        (
            ("kafka.server", "socket-server-metrics", "connections"),
            "kafka_server_socket_server_metrics_connections_software",
        ),
        (("kafka.server", "raft-metrics", "current-epoch"), "kafka_server_raftmetrics_current_epoch"),
        (
            ("kafka.server", "broker-metadata-metrics", "last-applied-record-offset"),
            "kafka_server_brokermetadatametrics_last_applied_record_offset",
        ),
        (
            ("kafka.server", "AddPartitionsToTxnManager", "VerificationFailureRate"),
            "kafka_server_addpartitionstotxnmanager_verificationfailurerate_count",
        ),
    ],
)
def test_names(mbean: tuple[str, str, str], name: str) -> None:
    assert metric_name(*mbean) == name


def test_quantiles_are_written_as_jmx_exporter_writes_apaches_percentiles() -> None:
    assert [quantile_label(each) for each in QUANTILES] == ["0.50", "0.75", "0.95", "0.98", "0.99", "0.999"]
