"""The table of topic keys: every one that Apache Kafka 4.3.1 has, with its name, type, default and bounds."""

from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.units import DAY_MS, HOUR_MS, LONG_MAX, MIB
from ottla.config.validators import GzipLevel, ThrottledReplicaList, at_least, between, list_of, one_of
from ottla.config.values import ConfigType

TIERED_STORAGE = "tiered storage is not part of Ottla"
QUOTAS = "quotas are not built yet"

COMPRESSION_TYPES = one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
MEDIUM = Importance.MEDIUM
BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE, LIST = ConfigType.DOUBLE, ConfigType.LIST

# fmt: off
TOPIC_CONFIG = ConfigTable(
    "topic",
    ConfigKey("segment.bytes", INT, 1024 * MIB, at_least(MIB), MEDIUM,
              "Size at which a segment file is full and the log rolls a new one. Retention and compaction work on "
              "whole segments, so smaller segments make both finer and cost more files."),
    ConfigKey("segment.ms", LONG, 7 * DAY_MS, at_least(1), MEDIUM,
              "Age at which the log rolls a new segment even if the active one is not full, so that retention and "
              "compaction get at its records."),
    ConfigKey("segment.jitter.ms", LONG, 0, at_least(0), MEDIUM,
              "Upper bound of a random time taken off segment.ms for each segment, so that many partitions do not "
              "roll at once."),
    ConfigKey("segment.index.bytes", INT, 10 * MIB, at_least(4), MEDIUM,
              "Size of an index file; a segment whose offset or time index is full is rolled."),
    ConfigKey("flush.messages", LONG, LONG_MAX, at_least(1), MEDIUM,
              "Number of unflushed records at which an append forces the log to disk; 1 flushes every append."),
    ConfigKey("flush.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
              "Longest time that appended records may wait before they are forced to disk."),
    ConfigKey("retention.bytes", LONG, -1, None, MEDIUM,
              "Size that a partition's log may have before its oldest segments are deleted; a negative number sets "
              "no limit. Applies with cleanup.policy=delete."),
    ConfigKey("retention.ms", LONG, 7 * DAY_MS, at_least(-1), MEDIUM,
              "Age of its newest record at which a segment is deleted; -1 keeps segments for ever. Applies with "
              "cleanup.policy=delete."),
    ConfigKey("max.message.bytes", INT, MIB + 12, at_least(0), MEDIUM,
              "Largest record batch, after compression, that the topic accepts."),
    ConfigKey("index.interval.bytes", INT, 4096, at_least(0), MEDIUM,
              "Number of log bytes between two entries of the offset and time indexes; smaller makes lookups "
              "shorter and indexes larger."),
    ConfigKey("delete.retention.ms", LONG, DAY_MS, at_least(0), MEDIUM,
              "How long compaction keeps a tombstone or a transaction marker after it first cleaned around it, so "
              "that a reader that began earlier still sees the deletion."),
    ConfigKey("min.compaction.lag.ms", LONG, 0, at_least(0), MEDIUM,
              "Youngest age at which a record may be compacted away."),
    ConfigKey("max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), MEDIUM,
              "Oldest age that an uncompacted record may reach before its log is cleaned whatever its dirty ratio; "
              "also bounds the age of the active segment of compacted topics."),
    ConfigKey("file.delete.delay.ms", LONG, 60000, at_least(0), MEDIUM,
              "How long a deleted segment's files stay on disk under their .deleted names, for readers that still "
              "use them."),
    ConfigKey("min.cleanable.dirty.ratio", DOUBLE, 0.5, between(0, 1), MEDIUM,
              "Share of a log's bytes that must be uncompacted before the cleaner takes the log."),
    ConfigKey("cleanup.policy", LIST, ("delete",), list_of("compact", "delete"), MEDIUM,
              "What happens to old segments: delete drops them by age and size, compact keeps the last record of "
              "each key, both together do both, and an empty list keeps everything."),
    ConfigKey("unclean.leader.election.enable", BOOLEAN, False, None, MEDIUM,
              "Whether a replica that is out of sync may become leader when no other is left, at the price of lost "
              "records."),
    ConfigKey("min.insync.replicas", INT, 1, at_least(1), MEDIUM,
              "Number of replicas in sync without which a produce request with acks=all is refused."),
    ConfigKey("compression.type", STRING, "producer", COMPRESSION_TYPES, MEDIUM,
              "Codec that batches are stored with; producer keeps what the producer chose, uncompressed stores "
              "plain batches."),
    ConfigKey("compression.gzip.level", INT, -1, GzipLevel(), MEDIUM,
              "Level for compression.type=gzip; -1 is zlib's own default."),
    ConfigKey("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
              "Level for compression.type=lz4."),
    ConfigKey("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
              "Level for compression.type=zstd."),
    ConfigKey("preallocate", BOOLEAN, False, None, MEDIUM,
              "Whether a new segment file gets its full size at once; it is trimmed when the segment is sealed."),
    ConfigKey("message.timestamp.type", STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"), MEDIUM,
              "Whose clock stamps a record: the producer's (CreateTime) or the broker's at append (LogAppendTime)."),
    ConfigKey("message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
              "How far behind the broker's clock a record's CreateTime may be before the batch is refused."),
    ConfigKey("message.timestamp.after.max.ms", LONG, HOUR_MS, at_least(0), MEDIUM,
              "How far ahead of the broker's clock a record's CreateTime may be before the batch is refused."),
    ConfigKey("leader.replication.throttled.replicas", LIST, (), ThrottledReplicaList(), MEDIUM,
              "Replicas whose traffic counts against the throttle on the leader's side: pairs of partition and "
              "broker, or * for all.",
              inert=QUOTAS),
    ConfigKey("follower.replication.throttled.replicas", LIST, (), ThrottledReplicaList(), MEDIUM,
              "Replicas whose traffic counts against the throttle on the follower's side: pairs of partition and "
              "broker, or * for all.",
              inert=QUOTAS),
    ConfigKey("remote.storage.enable", BOOLEAN, False, None, MEDIUM,
              "Whether the topic's sealed segments also go to remote storage.",
              inert=TIERED_STORAGE,
              promises="that sealed segments are kept in remote storage"),
    ConfigKey("local.retention.ms", LONG, -2, at_least(-2), MEDIUM,
              "How long segments that remote storage holds stay on local disk; -2 follows retention.ms.",
              inert=TIERED_STORAGE),
    ConfigKey("local.retention.bytes", LONG, -2, at_least(-2), MEDIUM,
              "How many bytes of segments that remote storage holds stay on local disk; -2 follows retention.bytes.",
              inert=TIERED_STORAGE),
    ConfigKey("remote.log.copy.disable", BOOLEAN, False, None, MEDIUM,
              "Whether a tiered topic stops copying segments to remote storage and only reads them.",
              inert=TIERED_STORAGE),
    ConfigKey("remote.log.delete.on.disable", BOOLEAN, False, None, MEDIUM,
              "Whether switching remote storage off for the topic deletes what it holds there.",
              inert=TIERED_STORAGE),
    ConfigKey("internal.segment.bytes", INT, None, None, MEDIUM,
              "Segment size without the lower bound of segment.bytes, which it replaces; for tests only.",
              internal=True),
)
# fmt: on
