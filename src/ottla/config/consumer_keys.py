"""All keys of a consumer."""

from ottla.config.auto_offset_reset import AutoOffsetReset
from ottla.config.client_sasl_keys import CLIENT_SASL_KEYS
from ottla.config.client_ssl_keys import CLIENT_SSL_KEYS
from ottla.config.common_client_keys import CLIENT_METRICS, COMMON_CLIENT_KEYS, JAVA_CLASSES
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.validators import CaseInsensitiveValidString, NonEmptyString, ValidList, at_least, one_of
from ottla.config.values import ConfigType

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, CLASS, INT, LIST, LONG, STRING = (
    ConfigType.BOOLEAN,
    ConfigType.CLASS,
    ConfigType.INT,
    ConfigType.LIST,
    ConfigType.LONG,
    ConfigType.STRING,
)
RANGE_ASSIGNOR = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE_STICKY_ASSIGNOR = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
SHARE_CONSUMERS = "there is no share consumer"


class _ShareAcquireMode(CaseInsensitiveValidString):
    """Apache shows these words without saying that any case will do."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"[{', '.join(self.valid).lower()}]"


# fmt: off
CONSUMER_CONFIG = ConfigTable(
    "consumer",
    *COMMON_CLIENT_KEYS,
    *CLIENT_SSL_KEYS,
    *CLIENT_SASL_KEYS,
    ConfigKey("bootstrap.servers", LIST, None, ValidList(empty_allowed=False), HIGH,
              "Addresses (host:port) of some brokers, of which one has to answer first.", required=True),
    ConfigKey("group.id", STRING, None, None, HIGH,
              "Name of the group that shares the partitions."),
    ConfigKey("group.instance.id", STRING, None, NonEmptyString(), MEDIUM,
              "Name of this member that survives its restart."),
    ConfigKey("session.timeout.ms", INT, 45000, None, HIGH,
              "Time without a heartbeat after which the coordinator removes a member."),
    ConfigKey("heartbeat.interval.ms", INT, 3000, None, HIGH,
              "Time between two heartbeats of a member."),
    ConfigKey("partition.assignment.strategy", LIST, (RANGE_ASSIGNOR, COOPERATIVE_STICKY_ASSIGNOR), ValidList(), MEDIUM,
              "Assignors that this member offers, the best first."),
    ConfigKey("enable.auto.commit", BOOLEAN, True, None, MEDIUM,
              "Whether positions are committed by themselves every now and then."),
    ConfigKey("auto.commit.interval.ms", INT, 5000, at_least(0), LOW,
              "Time between two commits of their own accord."),
    ConfigKey("client.id", STRING, "", None, LOW,
              "Name of this client in the broker's logs, quotas and metrics."),
    ConfigKey("client.rack", STRING, "", None, LOW,
              "Where this client is, so that a near replica can be read."),
    ConfigKey("max.partition.fetch.bytes", INT, 1048576, at_least(0), HIGH,
              "Bytes of one partition in an answer, unless its first batch is larger."),
    ConfigKey("receive.buffer.bytes", INT, 65536, at_least(-1), MEDIUM,
              "Size of the socket's receive buffer; -1 leaves it to the operating system."),
    ConfigKey("fetch.min.bytes", INT, 1, at_least(0), HIGH,
              "Bytes that the broker waits for before it answers."),
    ConfigKey("fetch.max.bytes", INT, 52428800, at_least(0), MEDIUM,
              "Bytes of all partitions in an answer, unless its first batch is larger."),
    ConfigKey("fetch.max.wait.ms", INT, 500, at_least(0), LOW,
              "How long the broker waits for fetch.min.bytes."),
    ConfigKey("enable.metrics.push", BOOLEAN, True, None, LOW,
              "Whether metrics are sent to the broker.", inert=CLIENT_METRICS),
    ConfigKey("auto.offset.reset", STRING, "latest", AutoOffsetReset(), MEDIUM,
              "Where to begin without a committed offset, or when it is out of range."),
    ConfigKey("check.crcs", BOOLEAN, True, None, LOW,
              "Whether the checksums of batches are verified."),
    ConfigKey("key.deserializer", CLASS, None, None, HIGH,
              "Class that makes keys of bytes; Apache's names of its own deserializers are known here."),
    ConfigKey("value.deserializer", CLASS, None, None, HIGH,
              "Class that makes values of bytes; Apache's names of its own deserializers are known here."),
    ConfigKey("default.api.timeout.ms", INT, 60000, at_least(0), MEDIUM,
              "How long a call may take that has no timeout of its own."),
    ConfigKey("connections.max.idle.ms", LONG, 540000, None, MEDIUM,
              "Time without use after which a connection is closed."),
    ConfigKey("interceptor.classes", LIST, (), ValidList(), LOW,
              "Java classes that see each record.", inert=JAVA_CLASSES),
    ConfigKey("max.poll.records", INT, 500, at_least(1), MEDIUM,
              "Records that one poll returns at most."),
    ConfigKey("max.poll.interval.ms", INT, 300000, at_least(1), MEDIUM,
              "Time between two polls after which a member gives its partitions back."),
    ConfigKey("exclude.internal.topics", BOOLEAN, True, None, MEDIUM,
              "Whether patterns leave internal topics out."),
    ConfigKey("internal.throw.on.fetch.stable.offset.unsupported", BOOLEAN, False, None, LOW,
              "Whether a broker too old for stable offsets is an error.", internal=True),
    ConfigKey("isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), MEDIUM,
              "Whether records of transactions that are not committed are read."),
    ConfigKey("allow.auto.create.topics", BOOLEAN, True, None, MEDIUM,
              "Whether asking for a topic's metadata may make the topic."),
    ConfigKey("group.protocol", STRING, "classic", CaseInsensitiveValidString("CONSUMER", "CLASSIC"), HIGH,
              "Protocol of the group: the classic one, or that of KIP-848."),
    ConfigKey("group.remote.assignor", STRING, None, None, MEDIUM,
              "Assignor that the coordinator should use."),
    ConfigKey("share.acknowledgement.mode", STRING, "implicit", one_of("implicit", "explicit"), MEDIUM,
              "Whether records of a share group are acknowledged one by one.", inert=SHARE_CONSUMERS),
    ConfigKey("share.acquire.mode", STRING, "BATCH_OPTIMIZED",
              _ShareAcquireMode("BATCH_OPTIMIZED", "RECORD_LIMIT"), MEDIUM,
              "How many records a share consumer acquires at a time.", inert=SHARE_CONSUMERS),
)
# fmt: on
