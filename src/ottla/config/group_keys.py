"""Broker keys of consumer, streams and classic groups and of their coordinator."""

from functools import partial

from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import INT_MAX, MIB
from ottla.config.validators import CaseInsensitiveValidString, ValidList, at_least
from ottla.config.values import ConfigType

STREAMS_GROUPS = "streams groups are not built yet"
NO_THREADS = "coordinators work on the reactor, without threads of their own"
NO_BUFFER = "records are appended when they are decided, and no buffer is kept"

HIGH, MEDIUM = Importance.HIGH, Importance.MEDIUM
STRING, INT, SHORT = ConfigType.STRING, ConfigType.INT, ConfigType.SHORT
LONG, LIST = ConfigType.LONG, ConfigType.LIST
PROTOCOLS = ("consumer", "classic", "share", "streams")
MIGRATION_POLICIES = CaseInsensitiveValidString("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL")

_streams_key = partial(ConfigKey, inert=STREAMS_GROUPS)

# fmt: off
GROUP_KEYS = (
    ConfigKey("group.min.session.timeout.ms", INT, 6000, None, MEDIUM,
              "Shortest session timeout that a member of a classic group may ask for."),
    ConfigKey("group.max.session.timeout.ms", INT, 1800000, None, MEDIUM,
              "Longest session timeout that a member of a classic group may ask for."),
    ConfigKey("group.initial.rebalance.delay.ms", INT, 3000, None, MEDIUM,
              "How long an empty classic group waits for more members before its first rebalance."),
    ConfigKey("group.max.size", INT, INT_MAX, at_least(1), MEDIUM,
              "Members that a classic group may have."),
    ConfigKey("group.coordinator.rebalance.protocols", LIST, ("classic", "consumer", "streams"),
              ValidList(PROTOCOLS, empty_allowed=False), MEDIUM,
              "Group protocols that are offered; classic cannot be left out."),
    ConfigKey("group.coordinator.threads", INT, 4, at_least(1), HIGH,
              "Threads of the group coordinator.",
              inert=NO_THREADS),
    ConfigKey("group.coordinator.background.threads", INT, 2, at_least(1), HIGH,
              "Threads that compute assignments for the group coordinator.",
              inert=NO_THREADS),
    ConfigKey("group.coordinator.append.linger.ms", INT, -1, at_least(-1), MEDIUM,
              "How long the group coordinator gathers records before it writes them; -1 adapts to the load.",
              inert=NO_BUFFER),
    ConfigKey("group.coordinator.cached.buffer.max.bytes", INT, MIB + 12, at_least(MIB // 2), MEDIUM,
              "Largest write buffer that the group coordinator keeps for the next write.",
              inert=NO_BUFFER),
    ConfigKey("group.consumer.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
              "Time without a heartbeat after which a member of a consumer group is removed."),
    ConfigKey("group.consumer.min.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
              "Shortest session timeout that a consumer group may be given."),
    ConfigKey("group.consumer.max.session.timeout.ms", INT, 60000, at_least(1), MEDIUM,
              "Longest session timeout that a consumer group may be given."),
    ConfigKey("group.consumer.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
              "Time between two heartbeats of a member of a consumer group."),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
              "Shortest heartbeat interval that a consumer group may be given."),
    ConfigKey("group.consumer.max.heartbeat.interval.ms", INT, 15000, at_least(1), MEDIUM,
              "Longest heartbeat interval that a consumer group may be given."),
    ConfigKey("group.consumer.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
              "Shortest time between two assignments of a consumer group."),
    ConfigKey("group.consumer.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
              "Shortest assignment interval that a consumer group may be given."),
    ConfigKey("group.consumer.max.assignment.interval.ms", INT, 15000, at_least(0), MEDIUM,
              "Longest assignment interval that a consumer group may be given."),
    ConfigKey("group.consumer.max.size", INT, INT_MAX, at_least(1), MEDIUM,
              "Members that a consumer group may have."),
    ConfigKey("group.consumer.assignors", LIST, ("uniform", "range"), ValidList(empty_allowed=False), MEDIUM,
              "Assignors that consumer groups may choose from, the first being the default."),
    ConfigKey("group.consumer.migration.policy", STRING, "bidirectional", MIGRATION_POLICIES, MEDIUM,
              "Whether non-empty classic groups become consumer groups when such members join, and back."),
    ConfigKey("group.consumer.regex.refresh.interval.ms", INT, 600000, at_least(10000), MEDIUM,
              "Time after which a group's regular expressions are matched with the topics again.", internal=True),
    _streams_key("group.streams.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
                 "Time without a heartbeat after which a member of a streams group is removed."),
    _streams_key("group.streams.min.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
                 "Shortest session timeout that a streams group may be given."),
    _streams_key("group.streams.max.session.timeout.ms", INT, 60000, at_least(1), MEDIUM,
                 "Longest session timeout that a streams group may be given."),
    _streams_key("group.streams.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
                 "Time between two heartbeats of a member of a streams group."),
    _streams_key("group.streams.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
                 "Shortest heartbeat interval that a streams group may be given."),
    _streams_key("group.streams.max.heartbeat.interval.ms", INT, 15000, at_least(1), MEDIUM,
                 "Longest heartbeat interval that a streams group may be given."),
    _streams_key("group.streams.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
                 "Shortest time between two assignments of a streams group."),
    _streams_key("group.streams.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
                 "Shortest assignment interval that a streams group may be given."),
    _streams_key("group.streams.max.assignment.interval.ms", INT, 15000, at_least(0), MEDIUM,
                 "Longest assignment interval that a streams group may be given."),
    _streams_key("group.streams.max.size", INT, INT_MAX, at_least(1), MEDIUM,
                 "Members that a streams group may have."),
    _streams_key("group.streams.num.standby.replicas", INT, 0, at_least(0), MEDIUM,
                 "Standby replicas of each task of a streams group."),
    _streams_key("group.streams.max.standby.replicas", INT, 2, at_least(0), MEDIUM,
                 "Most standby replicas that a streams group may be given."),
    _streams_key("group.streams.initial.rebalance.delay.ms", INT, 3000, at_least(0), MEDIUM,
                 "How long an empty streams group waits for more members before its first rebalance."),
    ConfigKey("offset.metadata.max.bytes", INT, 4096, None, HIGH,
              "Longest metadata that may be committed with an offset."),
    ConfigKey("offsets.load.buffer.size", INT, 5 * MIB, at_least(1), HIGH,
              "Bytes of __consumer_offsets that are read at a time when a coordinator takes over."),
    ConfigKey("offsets.commit.timeout.ms", INT, 5000, at_least(1), HIGH,
              "How long an offset commit waits until all replicas have it."),
    ConfigKey("offsets.retention.minutes", INT, 7 * 24 * 60, at_least(1), HIGH,
              "How long the offsets of an empty group are kept."),
    ConfigKey("offsets.retention.check.interval.ms", LONG, 600000, at_least(1), HIGH,
              "Time between two looks for expired offsets."),
    ConfigKey("offsets.topic.num.partitions", INT, 50, at_least(1), HIGH,
              "Partitions of the topic __consumer_offsets."),
    ConfigKey("offsets.topic.replication.factor", SHORT, 3, at_least(1), HIGH,
              "Replicas of the topic __consumer_offsets."),
    ConfigKey("offsets.topic.segment.bytes", INT, 100 * MIB, at_least(1), HIGH,
              "segment.bytes of the topic __consumer_offsets; a broker does not start with less than 1048576."),
    ConfigKey("offsets.topic.compression.codec", INT, 0, None, HIGH,
              "Number of the codec of the batches in __consumer_offsets."),
)
# fmt: on
