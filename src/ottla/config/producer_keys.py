"""All keys of a producer."""

from ottla.config.client_sasl_keys import CLIENT_SASL_KEYS
from ottla.config.client_ssl_keys import CLIENT_SSL_KEYS
from ottla.config.common_client_keys import CLIENT_METRICS, COMMON_CLIENT_KEYS, JAVA_CLASSES
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.validators import GzipLevel, NonEmptyString, ValidList, at_least, between, one_of
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
INT_MAX = 2**31 - 1
TWO_PHASE_COMMIT = "transactions cannot be prepared for a decision outside yet"

# fmt: off
PRODUCER_CONFIG = ConfigTable(
    "producer",
    *COMMON_CLIENT_KEYS,
    *CLIENT_SSL_KEYS,
    *CLIENT_SASL_KEYS,
    ConfigKey("bootstrap.servers", LIST, None, ValidList(empty_allowed=False), HIGH,
              "Addresses (host:port) of some brokers, of which one has to answer first.", required=True),
    ConfigKey("buffer.memory", LONG, 33554432, at_least(0), HIGH,
              "Bytes of records that wait to be sent; beyond them send waits, too."),
    ConfigKey("retries", INT, INT_MAX, between(0, INT_MAX), HIGH,
              "How often a request that failed for a while is sent again."),
    ConfigKey("acks", STRING, "all", one_of("all", "-1", "0", "1"), LOW,
              "Replicas that must have a batch before it is acknowledged: all in sync, the leader (1), or none (0)."),
    ConfigKey("compression.type", STRING, "none", one_of("none", "gzip", "snappy", "lz4", "zstd"), HIGH,
              "Codec that batches are compressed with."),
    ConfigKey("compression.gzip.level", INT, -1, GzipLevel(), MEDIUM,
              "Level of gzip."),
    ConfigKey("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
              "Level of lz4."),
    ConfigKey("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
              "Level of zstd."),
    ConfigKey("batch.size", INT, 16384, at_least(0), MEDIUM,
              "Bytes of records of a partition that are collected into a batch; 0 sends each by itself."),
    ConfigKey("partitioner.adaptive.partitioning.enable", BOOLEAN, True, None, LOW,
              "Whether records without a key go rather to brokers that are quick."),
    ConfigKey("partitioner.availability.timeout.ms", LONG, 0, at_least(0), LOW,
              "Time for which a broker may take no batch before records without a key go elsewhere; 0 never does."),
    ConfigKey("partitioner.ignore.keys", BOOLEAN, False, None, MEDIUM,
              "Whether the partition does not depend on the key."),
    ConfigKey("linger.ms", LONG, 5, at_least(0), MEDIUM,
              "How long a batch that is not full waits for more records."),
    ConfigKey("delivery.timeout.ms", INT, 120000, at_least(0), MEDIUM,
              "How long a record may take from send to its acknowledgement, with all retries."),
    ConfigKey("client.id", STRING, "", None, MEDIUM,
              "Name of this client in the broker's logs, quotas and metrics."),
    ConfigKey("receive.buffer.bytes", INT, 32768, at_least(-1), MEDIUM,
              "Size of the socket's receive buffer; -1 leaves it to the operating system."),
    ConfigKey("max.request.size", INT, 1048576, at_least(0), MEDIUM,
              "Largest request, and largest record before compression."),
    ConfigKey("enable.metrics.push", BOOLEAN, True, None, LOW,
              "Whether metrics are sent to the broker.", inert=CLIENT_METRICS),
    ConfigKey("max.block.ms", LONG, 60000, at_least(0), MEDIUM,
              "How long send, partitions_for and the transaction calls may wait."),
    ConfigKey("metadata.max.idle.ms", LONG, 300000, at_least(5000), LOW,
              "Time without use after which a topic's metadata is forgotten."),
    ConfigKey("max.in.flight.requests.per.connection", INT, 5, at_least(1), LOW,
              "Requests to a broker that may be without an answer."),
    ConfigKey("key.serializer", CLASS, None, None, HIGH,
              "Class that turns keys into bytes; Apache's names of its own serializers are known here."),
    ConfigKey("value.serializer", CLASS, None, None, HIGH,
              "Class that turns values into bytes; Apache's names of its own serializers are known here."),
    ConfigKey("connections.max.idle.ms", LONG, 540000, None, MEDIUM,
              "Time without use after which a connection is closed."),
    ConfigKey("partitioner.class", CLASS, None, None, MEDIUM,
              "Class that chooses partitions; the round robin one is known here by Apache's name."),
    ConfigKey("interceptor.classes", LIST, (), ValidList(), LOW,
              "Java classes that see each record.", inert=JAVA_CLASSES),
    ConfigKey("enable.idempotence", BOOLEAN, True, None, LOW,
              "Whether retries can neither repeat records nor change their order."),
    ConfigKey("transaction.timeout.ms", INT, 60000, None, LOW,
              "Time after which the coordinator aborts a transaction that is still open."),
    ConfigKey("transactional.id", STRING, None, NonEmptyString(), LOW,
              "Name under which transactions survive a restart of the producer; none has no transactions."),
    ConfigKey("transaction.two.phase.commit.enable", BOOLEAN, False, None, LOW,
              "Whether transactions are decided by somebody outside and never expire.", inert=TWO_PHASE_COMMIT),
)
# fmt: on
