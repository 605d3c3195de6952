"""The table of broker keys that the storage engine has, under Apache Kafka 4.3.1's names, and one of our own."""

from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.topic_keys import COMPRESSION_TYPES, REPLICATION, TIERED_STORAGE
from ottla.config.units import DAY_MS, DOUBLE_MAX, HOUR_MS, LONG_MAX, MIB
from ottla.config.validators import GzipLevel, ValidList, at_least, between, list_of, one_of
from ottla.config.values import ConfigType

CONTROLLER = "there is no controller to tell yet"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE, LIST = ConfigType.DOUBLE, ConfigType.LIST

# fmt: off
BROKER_CONFIG = ConfigTable(
    "broker",
    ConfigKey("log.dir", LIST, ("/tmp/kafka-logs",), ValidList(empty_allowed=False), HIGH,  # noqa: S108
              "Directories for log data, used where log.dirs is not set."),
    ConfigKey("log.dirs", LIST, None, ValidList(empty_allowed=False, null_allowed=True), HIGH,
              "Directories for log data, separated by commas; partitions are spread over them, and one that fails "
              "goes offline alone."),
    ConfigKey("log.segment.bytes", INT, 1024 * MIB, at_least(MIB), HIGH,
              "Default of segment.bytes for topics that do not set it."),
    ConfigKey("log.roll.ms", LONG, None, None, HIGH,
              "Default of segment.ms; where it is not set, log.roll.hours counts."),
    ConfigKey("log.roll.hours", INT, 168, at_least(1), HIGH,
              "Default of segment.ms in hours, for brokers that do not set log.roll.ms."),
    ConfigKey("log.roll.jitter.ms", LONG, None, None, HIGH,
              "Default of segment.jitter.ms; where it is not set, log.roll.jitter.hours counts."),
    ConfigKey("log.roll.jitter.hours", INT, 0, at_least(0), HIGH,
              "Default of segment.jitter.ms in hours, for brokers that do not set log.roll.jitter.ms."),
    ConfigKey("log.retention.ms", LONG, None, None, HIGH,
              "Default of retention.ms; where it is not set, log.retention.minutes counts. A negative number keeps "
              "segments for ever."),
    ConfigKey("log.retention.minutes", INT, None, None, HIGH,
              "Default of retention.ms in minutes, for brokers that do not set log.retention.ms; where it is not "
              "set, log.retention.hours counts."),
    ConfigKey("log.retention.hours", INT, 168, None, HIGH,
              "Default of retention.ms in hours, for brokers that set neither log.retention.ms nor "
              "log.retention.minutes."),
    ConfigKey("log.retention.bytes", LONG, -1, None, HIGH,
              "Default of retention.bytes for topics that do not set it."),
    ConfigKey("log.retention.check.interval.ms", LONG, 300000, at_least(1), MEDIUM,
              "Time between two looks for segments that retention may delete."),
    ConfigKey("log.cleanup.policy", LIST, ("delete",), list_of("compact", "delete"), MEDIUM,
              "Default of cleanup.policy for topics that do not set it."),
    ConfigKey("log.index.size.max.bytes", INT, 10 * MIB, at_least(4), MEDIUM,
              "Default of segment.index.bytes for topics that do not set it."),
    ConfigKey("log.index.interval.bytes", INT, 4096, at_least(0), MEDIUM,
              "Default of index.interval.bytes for topics that do not set it."),
    ConfigKey("log.flush.interval.messages", LONG, LONG_MAX, at_least(1), HIGH,
              "Default of flush.messages for topics that do not set it."),
    ConfigKey("log.flush.interval.ms", LONG, None, None, HIGH,
              "Default of flush.ms; where it is not set, log.flush.scheduler.interval.ms counts."),
    ConfigKey("log.flush.scheduler.interval.ms", LONG, LONG_MAX, None, HIGH,
              "Time between two looks for logs whose flush.ms has passed."),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", INT, 60000, at_least(0), HIGH,
              "Time between two writes of the recovery points, up to which a log needs no recovery after a crash."),
    ConfigKey("log.flush.start.offset.checkpoint.interval.ms", INT, 60000, at_least(0), HIGH,
              "Time between two writes of the log start offsets, which keep deleted records from coming back."),
    ConfigKey("log.segment.delete.delay.ms", LONG, 60000, at_least(0), HIGH,
              "Default of file.delete.delay.ms for topics that do not set it."),
    ConfigKey("log.preallocate", BOOLEAN, False, None, MEDIUM,
              "Default of preallocate for topics that do not set it."),
    ConfigKey("num.recovery.threads.per.data.dir", INT, 2, at_least(1), HIGH,
              "How many logs of one directory are loaded, recovered or flushed at the same time at start and "
              "shutdown."),
    ConfigKey("log.message.timestamp.type", STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"), MEDIUM,
              "Default of message.timestamp.type for topics that do not set it."),
    ConfigKey("log.message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
              "Default of message.timestamp.before.max.ms for topics that do not set it."),
    ConfigKey("log.message.timestamp.after.max.ms", LONG, HOUR_MS, at_least(0), MEDIUM,
              "Default of message.timestamp.after.max.ms for topics that do not set it."),
    ConfigKey("message.max.bytes", INT, MIB + 12, at_least(0), HIGH,
              "Default of max.message.bytes for topics that do not set it; also the largest batch that the cleaner "
              "makes room for at first."),
    ConfigKey("compression.type", STRING, "producer", COMPRESSION_TYPES, HIGH,
              "Default of the topic's compression.type."),
    ConfigKey("compression.gzip.level", INT, -1, GzipLevel(), MEDIUM,
              "Default of the topic's compression.gzip.level."),
    ConfigKey("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
              "Default of the topic's compression.lz4.level."),
    ConfigKey("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
              "Default of the topic's compression.zstd.level."),
    ConfigKey("unclean.leader.election.enable", BOOLEAN, False, None, HIGH,
              "Default of the topic's unclean.leader.election.enable.",
              inert=REPLICATION),
    ConfigKey("min.insync.replicas", INT, 1, at_least(1), HIGH,
              "Default of the topic's min.insync.replicas.",
              inert=REPLICATION),
    ConfigKey("log.local.retention.ms", LONG, -2, at_least(-2), MEDIUM,
              "Default of local.retention.ms for topics that do not set it.",
              inert=TIERED_STORAGE),
    ConfigKey("log.local.retention.bytes", LONG, -2, at_least(-2), MEDIUM,
              "Default of local.retention.bytes for topics that do not set it.",
              inert=TIERED_STORAGE),
    ConfigKey("log.cleaner.enable", BOOLEAN, True, None, MEDIUM,
              "Whether compaction runs at all; without it compacted topics grow without end."),
    ConfigKey("log.cleaner.threads", INT, 1, at_least(0), MEDIUM,
              "Number of logs that are compacted at the same time, each in a worker of its own."),
    ConfigKey("log.cleaner.dedupe.buffer.size", LONG, 128 * MIB, None, MEDIUM,
              "Memory for the offset maps of all cleaner workers together; a larger map compacts more of a log in "
              "one pass."),
    ConfigKey("log.cleaner.io.buffer.size", INT, 512 * 1024, at_least(0), MEDIUM,
              "Memory for the read and write buffers of all cleaner workers together."),
    ConfigKey("log.cleaner.io.buffer.load.factor", DOUBLE, 0.9, None, MEDIUM,
              "How full an offset map may become; fuller maps hold more keys and collide more."),
    ConfigKey("log.cleaner.io.max.bytes.per.second", DOUBLE, DOUBLE_MAX, None, MEDIUM,
              "Bytes a second that the cleaner may read and write in all."),
    ConfigKey("log.cleaner.backoff.ms", LONG, 15000, at_least(0), MEDIUM,
              "Pause of a cleaner worker that found nothing to compact."),
    ConfigKey("log.cleaner.min.cleanable.ratio", DOUBLE, 0.5, between(0, 1), MEDIUM,
              "Default of min.cleanable.dirty.ratio for topics that do not set it."),
    ConfigKey("log.cleaner.delete.retention.ms", LONG, DAY_MS, at_least(0), MEDIUM,
              "Default of delete.retention.ms for topics that do not set it."),
    ConfigKey("log.cleaner.min.compaction.lag.ms", LONG, 0, at_least(0), MEDIUM,
              "Default of min.compaction.lag.ms for topics that do not set it."),
    ConfigKey("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), MEDIUM,
              "Default of max.compaction.lag.ms for topics that do not set it."),
    ConfigKey("log.dir.failure.timeout.ms", LONG, 30000, at_least(1), LOW,
              "How long a broker tries to tell the controller of a failed log directory before it shuts down.",
              inert=CONTROLLER),
    ConfigKey("producer.id.expiration.ms", INT, DAY_MS, at_least(1), LOW,
              "Time without a write after which a partition forgets an idempotent producer."),
    ConfigKey("transaction.max.timeout.ms", INT, 900000, at_least(1), HIGH,
              "Longest timeout that a transaction may ask for; a transaction that is open much longer is reported "
              "as late."),
    ConfigKey("transaction.partition.verification.enable", BOOLEAN, True, None, LOW,
              "Whether the first write of a transaction to a partition is checked with the transaction coordinator."),
    ConfigKey("log.initial.task.delay.ms", LONG, 30000, at_least(0), LOW,
              "Time from start to the first run of the background tasks; for tests.",
              internal=True),
    ConfigKey("producer.id.expiration.check.interval.ms", INT, 600000, at_least(1), LOW,
              "Time between two looks for producers to forget; for tests.",
              internal=True),
    ConfigKey("ottla.produce.validation", STRING, "default", one_of("default", "strict"), MEDIUM,
              "How deep produced batches are checked: default trusts the CRC and the header and looks at records only "
              "where the topic needs it, strict walks every record of every batch."),
)
# fmt: on
