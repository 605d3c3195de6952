"""What published boards and alerts ask Prometheus for: facts about them, of which a node has to answer its part.

Read in November 2026 from examples/metrics of strimzi/strimzi-kafka-operator (8541da1e), and from the boards of
confluentinc/jmx-monitoring-stacks (9707c1ab) as far as Confluent's rules give the names that Strimzi's and
jmx_exporter's own give. The labels that Prometheus adds (namespace, pod, instance, job) are left out. A label is asked
for with a value, or with any.
"""

from typing import Final, NamedTuple

ANY: Final = ""


class Asked(NamedTuple):
    """One selector of an expression."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


def _each(prefix: str, names: str, *labels: tuple[str, str]) -> tuple[Asked, ...]:
    return tuple(Asked(prefix + name, labels) for name in names.split())


_TOPIC: Final = ("topic", ANY)
_PARTITION: Final = ("partition", ANY)

STRIMZI_KAFKA: Final = (
    *_each("kafka_server_replicamanager_", "leadercount partitioncount underreplicatedpartitions"),
    *_each("kafka_cluster_partition_", "replicascount", _TOPIC, _PARTITION),
    *_each("kafka_cluster_partition_", "atminisr underminisr", _TOPIC),
    *_each("kafka_controller_kafkacontroller_", "activecontrollercount offlinepartitionscount"),
    *_each(
        "kafka_server_brokertopicmetrics_",
        "bytesin_total bytesout_total messagesin_total failedfetchrequests_total failedproducerequests_total "
        "totalfetchrequests_total totalproducerequests_total",
        _TOPIC,
    ),
    *_each("kafka_network_socketserver_", "networkprocessoravgidle_percent"),
    *_each("kafka_server_kafkarequesthandlerpool_", "requesthandleravgidle_percent"),
    *_each("kafka_server_kafkaserver_", "linux_disk_read_bytes linux_disk_write_bytes"),
    *_each("kafka_server_socket_server_metrics_", "connection_count", ("listener", ANY)),
    *_each("kafka_log_log_", "size", _TOPIC, _PARTITION),
    Asked("process_open_fds"),
)
STRIMZI_KRAFT: Final = (
    *_each("kafka_server_raftmetrics_", "current_state", ("current_state", ANY)),
    *_each(
        "kafka_server_raftmetrics_",
        "current_leader current_vote current_epoch high_watermark log_end_offset append_records_rate "
        "commit_latency_avg",
    ),
    Asked("process_open_fds"),
)
STRIMZI_KAFKA_EXPORTER: Final = _each("kafka_cluster_partition_", "atminisr underminisr", _TOPIC)
STRIMZI_ALERTS: Final = (
    *_each("kafka_server_replicamanager_", "underreplicatedpartitions underminisrpartitioncount"),
    *_each("kafka_controller_kafkacontroller_", "activecontrollercount offlinepartitionscount"),
    *_each("kafka_log_logmanager_", "offlinelogdirectorycount"),
)
CONFLUENT: Final = (
    *_each(
        "kafka_network_requestmetrics_",
        "requestqueuetimems localtimems remotetimems responsequeuetimems responsesendtimems totaltimems",
        ("request", "Produce"),
        ("quantile", "0.99"),
    ),
    *_each("kafka_network_requestmetrics_", "totaltimems", ("request", "Metadata"), ("quantile", "0.50")),
    *_each("kafka_network_requestmetrics_", "totaltimems", ("request", "FetchConsumer"), ("quantile", "0.999")),
    *_each("kafka_network_requestchannel_", "requestqueuesize responsequeuesize"),
    *_each("kafka_server_fetchsessioncache_", "numincrementalfetchsessions"),
    *_each("kafka_server_kafkaserver_", "brokerstate linux_disk_read_bytes linux_disk_write_bytes"),
    *_each("kafka_server_replicamanager_", "leadercount partitioncount underreplicatedpartitions"),
    *_each("kafka_cluster_partition_", "underminisr"),
    *_each(
        "kafka_controller_kafkacontroller_",
        "activecontrollercount offlinepartitionscount preferredreplicaimbalancecount globalpartitioncount "
        "globaltopiccount activebrokercount fencedbrokercount metadataerrorcount lastappliedrecordlagms",
    ),
    *_each(
        "kafka_controller_controllereventmanager_",
        "eventqueuetimems eventqueueprocessingtimems",
        ("quantile", "0.99"),
    ),
    *_each(
        "kafka_coordinator_group_groupmetadatamanager_",
        "numgroups numgroupscompletingrebalance numgroupsdead numgroupsempty numgroupspreparingrebalance "
        "numgroupsstable",
    ),
    *_each("kafka_log_log_", "size logendoffset logstartoffset", _TOPIC),
    *_each("kafka_server_transaction_coordinator_metrics_", "partition_load_time_max"),
    Asked("process_cpu_seconds_total"),
)

BOARDS: Final = {
    "strimzi-kafka.json": STRIMZI_KAFKA,
    "strimzi-kraft.json": STRIMZI_KRAFT,
    "strimzi-kafka-exporter.json": STRIMZI_KAFKA_EXPORTER,
    "prometheus-kafka-rules.yaml": STRIMZI_ALERTS,
    "Confluent's": CONFLUENT,
}

ADDED_UP: Final = (
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
)
"""Shares that boards add up over all series of a node: there must be one."""

MISSING: Final = (
    *(
        "jvm_memory_used_bytes",
        "jvm_threads_current",
        "jvm_gc_collection_seconds_count",
        "jvm_gc_collection_seconds_sum",
    ),
    "kafka_controller_controllerstats_uncleanleaderelections_total",
    "kafka_server_raftmetrics_fetch_records_rate",
    "kafka_server_raftmetrics_election_latency_max",
    *("kafka_server_raftchannelmetrics_incoming_byte_total", "kafka_server_raftchannelmetrics_outgoing_byte_total"),
    *("kafka_server_raftchannelmetrics_request_total", "kafka_server_raftchannelmetrics_response_total"),
    *("kafka_server_replicafetchermanager_maxlag", "kafka_server_replicafetchermanager_minfetchrate"),
    *("kafka_server_transaction_coordinator_metrics_partition_load_time_avg",),
    *("kafka_server_fetch_throttle_time", "kafka_server_produce_throttle_time", "kafka_server_request_throttle_time"),
    *("kafka_server_fetch_byte_rate", "kafka_server_produce_byte_rate", "kafka_server_request_request_time"),
)
"""What the same boards ask of a broker and a node of Ottla does not have; docs/metrics.md says why."""
