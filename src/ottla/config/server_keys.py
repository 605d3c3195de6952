"""Broker keys of topics, fetches, shutdown and plugins, and the one of our metrics endpoint."""

from ottla.config.address_validators import HostAndPort
from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import MIB
from ottla.config.validators import ValidList, at_least
from ottla.config.values import ConfigType

PLUGINS = "Ottla loads no Java classes"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, INT, CLASS = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.CLASS
LONG, LIST = ConfigType.LONG, ConfigType.LIST

# fmt: off
SERVER_KEYS = (
    ConfigKey("auto.create.topics.enable", BOOLEAN, True, None, HIGH,
              "Whether asking for the metadata of a topic that is not there creates it."),
    ConfigKey("num.partitions", INT, 1, at_least(1), MEDIUM,
              "Partitions of a topic that is created without a number of them."),
    ConfigKey("delete.topic.enable", BOOLEAN, True, None, HIGH,
              "Whether topics can be deleted."),
    ConfigKey("fetch.max.bytes", INT, 55 * MIB, at_least(1024), MEDIUM,
              "Bytes that one fetch response holds at most, whatever the client asks for; a larger first batch comes "
              "whole nevertheless."),
    ConfigKey("max.incremental.fetch.session.cache.slots", INT, 1000, at_least(0), MEDIUM,
              "Incremental fetch sessions that a broker remembers."),
    ConfigKey("max.request.partition.size.limit", INT, 2000, at_least(1), MEDIUM,
              "Partitions that one DescribeTopicPartitions response holds at most."),
    ConfigKey("controlled.shutdown.enable", BOOLEAN, True, None, MEDIUM,
              "Whether a broker hands its leaderships over before it stops."),
    ConfigKey("broker.rack", STRING, None, None, MEDIUM,
              "Rack of this broker, over which replicas are spread and by which consumers find a near replica."),
    ConfigKey("metrics.listener", STRING, None, HostAndPort(), MEDIUM,
              "Address, as host:port, at which Prometheus can read the metrics; unset, there is none."),
    ConfigKey("unstable.api.versions.enable", BOOLEAN, False, None, HIGH,
              "Whether API versions that are not final are offered.",
              inert="no API has a version that is not final", internal=True),
    ConfigKey("unstable.feature.versions.enable", BOOLEAN, False, None, HIGH,
              "Whether feature levels that are not final are offered.",
              inert="no feature has a level that is not final", internal=True),
    ConfigKey("create.topic.policy.class.name", CLASS, None, None, LOW,
              "Class that judges topics to be created.",
              inert=PLUGINS,
              promises="that no topic is created that this class objects to"),
    ConfigKey("alter.config.policy.class.name", CLASS, None, None, LOW,
              "Class that judges changes of configurations.",
              inert=PLUGINS,
              promises="that no configuration is changed that this class objects to"),
    ConfigKey("config.providers", LIST, (), ValidList(), LOW,
              "Names of plugins that look up values such as ${file:path:key}.",
              inert=PLUGINS),
    ConfigKey("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), ValidList(), LOW,
              "Classes that report metrics.",
              inert=PLUGINS),
    ConfigKey("kafka.metrics.reporters", LIST, (), ValidList(), LOW,
              "Classes that report the older kind of metrics.",
              inert=PLUGINS),
    ConfigKey("kafka.metrics.polling.interval.secs", INT, 10, at_least(1), LOW,
              "Polling interval of kafka.metrics.reporters.",
              inert=PLUGINS),
    ConfigKey("metrics.num.samples", INT, 2, at_least(1), LOW,
              "Samples that a rate is computed from.",
              inert="metrics are counters, whose rates their reader computes"),
    ConfigKey("metrics.sample.window.ms", LONG, 30000, at_least(1), LOW,
              "Time that one sample covers.",
              inert="metrics are counters, whose rates their reader computes"),
    ConfigKey("metrics.recording.level", STRING, "INFO", None, LOW,
              "Least important level of metrics that are recorded.",
              inert="all metrics are recorded"),
    ConfigKey("telemetry.max.bytes", INT, MIB, at_least(1), LOW,
              "Largest batch of metrics that a client may push.",
              inert="client telemetry is not built yet"),
)
# fmt: on
