"""Keys that producers, consumers and admin clients have in common, security apart."""

from ottla.config.definition import ConfigKey, Importance
from ottla.config.validators import CaseInsensitiveValidString, ValidList, at_least, one_of
from ottla.config.values import ConfigType

MEDIUM, LOW = Importance.MEDIUM, Importance.LOW
INT, LIST, LONG, STRING = ConfigType.INT, ConfigType.LIST, ConfigType.LONG, ConfigType.STRING
JAVA_CLASSES = "it names Java classes"
CLIENT_METRICS = "metrics are plain counters that nothing samples or sends"

# fmt: off
COMMON_CLIENT_KEYS = (
    ConfigKey("metadata.max.age.ms", LONG, 300000, at_least(0), LOW,
              "Age at which metadata is asked for again although nothing seems to have changed."),
    ConfigKey("send.buffer.bytes", INT, 131072, at_least(-1), MEDIUM,
              "Size of the socket's send buffer; -1 leaves it to the operating system."),
    ConfigKey("reconnect.backoff.ms", LONG, 50, at_least(0), LOW,
              "First pause before connecting again to a broker that could not be reached."),
    ConfigKey("reconnect.backoff.max.ms", LONG, 1000, at_least(0), LOW,
              "Longest pause before connecting again to a broker that could not be reached."),
    ConfigKey("retry.backoff.ms", LONG, 100, at_least(0), LOW,
              "First pause before a request that failed is sent again."),
    ConfigKey("retry.backoff.max.ms", LONG, 1000, at_least(0), LOW,
              "Longest pause before a request that failed is sent again."),
    ConfigKey("request.timeout.ms", INT, 30000, at_least(0), MEDIUM,
              "How long an answer is waited for."),
    ConfigKey("socket.connection.setup.timeout.ms", LONG, 10000, None, MEDIUM,
              "How long a first attempt to connect may take."),
    ConfigKey("socket.connection.setup.timeout.max.ms", LONG, 30000, None, MEDIUM,
              "How long later attempts to connect may take at most."),
    ConfigKey("metrics.sample.window.ms", LONG, 30000, at_least(0), LOW,
              "Length of a window that metrics are computed over.", inert=CLIENT_METRICS),
    ConfigKey("metrics.num.samples", INT, 2, at_least(1), LOW,
              "Windows that metrics are computed over.", inert=CLIENT_METRICS),
    ConfigKey("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), ValidList(), LOW,
              "Java classes that are told of metrics.", inert=JAVA_CLASSES),
    ConfigKey("metrics.recording.level", STRING, "INFO", one_of("INFO", "DEBUG", "TRACE"), LOW,
              "Least important metrics that are kept.", inert=CLIENT_METRICS),
    ConfigKey("client.dns.lookup", STRING, "use_all_dns_ips",
              one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"), MEDIUM,
              "Whether all addresses of a name are tried, or bootstrap names are replaced by the canonical ones."),
    ConfigKey("security.providers", STRING, None, None, LOW,
              "Java security providers to install.", inert=JAVA_CLASSES),
    ConfigKey("security.protocol", STRING, "PLAINTEXT",
              CaseInsensitiveValidString("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"), MEDIUM,
              "How to talk to brokers: with or without TLS, with or without SASL."),
    ConfigKey("metadata.recovery.strategy", STRING, "rebootstrap",
              CaseInsensitiveValidString("REBOOTSTRAP", "NONE"), LOW,
              "What to do when no known broker answers: begin again with bootstrap.servers, or nothing."),
    ConfigKey("metadata.recovery.rebootstrap.trigger.ms", LONG, 300000, at_least(0), LOW,
              "Time without fresh metadata after which the client begins again with bootstrap.servers."),
    ConfigKey("config.providers", LIST, (), ValidList(), LOW,
              "Java classes that replace variables in configurations.", inert=JAVA_CLASSES),
)
# fmt: on
