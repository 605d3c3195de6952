"""Broker keys of share groups and of the share coordinator."""

from functools import partial

from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import MIB
from ottla.config.validators import ValidList, at_least, between
from ottla.config.values import ConfigType

SHARE_GROUPS = "share groups are not built yet"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
STRING, INT, SHORT, LIST = ConfigType.STRING, ConfigType.INT, ConfigType.SHORT, ConfigType.LIST

_key = partial(ConfigKey, inert=SHARE_GROUPS)

# fmt: off
SHARE_KEYS = (
    _key("group.share.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
         "Time without a heartbeat after which a member of a share group is removed."),
    _key("group.share.min.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
         "Shortest session timeout that a share group may be given."),
    _key("group.share.max.session.timeout.ms", INT, 60000, at_least(1), MEDIUM,
         "Longest session timeout that a share group may be given."),
    _key("group.share.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
         "Time between two heartbeats of a member of a share group."),
    _key("group.share.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
         "Shortest heartbeat interval that a share group may be given."),
    _key("group.share.max.heartbeat.interval.ms", INT, 15000, at_least(1), MEDIUM,
         "Longest heartbeat interval that a share group may be given."),
    _key("group.share.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
         "Shortest time between two assignments of a share group."),
    _key("group.share.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
         "Shortest assignment interval that a share group may be given."),
    _key("group.share.max.assignment.interval.ms", INT, 15000, at_least(0), MEDIUM,
         "Longest assignment interval that a share group may be given."),
    _key("group.share.max.size", INT, 200, between(1, 1000), MEDIUM,
         "Members that a share group may have."),
    _key("group.share.assignors", LIST, ("simple",), ValidList(empty_allowed=False), MEDIUM,
         "Assignor of share groups."),
    _key("group.share.delivery.count.limit", INT, 5, between(2, 10), MEDIUM,
         "How often a record is delivered at most."),
    _key("group.share.min.delivery.count.limit", INT, 2, between(2, 5), MEDIUM,
         "Smallest delivery count limit that a share group may be given."),
    _key("group.share.max.delivery.count.limit", INT, 10, between(5, 25), MEDIUM,
         "Largest delivery count limit that a share group may be given."),
    _key("group.share.record.lock.duration.ms", INT, 30000, between(1000, 3600000), MEDIUM,
         "How long a record that was delivered is locked for its consumer."),
    _key("group.share.min.record.lock.duration.ms", INT, 15000, between(1000, 30000), MEDIUM,
         "Shortest lock duration that a share group may be given."),
    _key("group.share.max.record.lock.duration.ms", INT, 60000, between(30000, 3600000), MEDIUM,
         "Longest lock duration that a share group may be given."),
    _key("group.share.partition.max.record.locks", INT, 2000, between(100, 10000), MEDIUM,
         "Records of a partition that may be in flight."),
    _key("group.share.min.partition.max.record.locks", INT, 100, between(100, 2000), MEDIUM,
         "Smallest number of records in flight that a share group may be given."),
    _key("group.share.max.partition.max.record.locks", INT, 4000, between(2000, 10000), MEDIUM,
         "Largest number of records in flight that a share group may be given."),
    _key("group.share.max.share.sessions", INT, 2000, at_least(1), MEDIUM,
         "Share sessions that a broker remembers."),
    _key("group.share.initialize.retry.interval.ms", INT, 30000, at_least(1), LOW,
         "Pause before the state of a share partition is initialized again.", internal=True),
    _key("group.share.persister.class.name", STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister",
         None, MEDIUM,
         "Class that keeps the state of share partitions.", internal=True),
    _key("share.fetch.purgatory.purge.interval.requests", INT, 1000, None, MEDIUM,
         "Completed share fetches at which the purgatory of waiting ones is swept."),
    _key("share.coordinator.threads", INT, 1, at_least(1), MEDIUM,
         "Threads of the share coordinator."),
    _key("share.coordinator.append.linger.ms", INT, -1, at_least(-1), MEDIUM,
         "How long the share coordinator gathers records before it writes them; -1 adapts to the load."),
    _key("share.coordinator.cached.buffer.max.bytes", INT, MIB + 12, at_least(MIB // 2), MEDIUM,
         "Largest write buffer that the share coordinator keeps for the next write."),
    _key("share.coordinator.load.buffer.size", INT, 5 * MIB, at_least(1), HIGH,
         "Bytes of __share_group_state that are read at a time when a coordinator takes over."),
    _key("share.coordinator.write.timeout.ms", INT, 5000, at_least(1), HIGH,
         "How long a write of the share coordinator waits until all replicas have it."),
    _key("share.coordinator.snapshot.update.records.per.snapshot", INT, 500, between(0, 500), MEDIUM,
         "Updates of a share partition's state between two snapshots."),
    _key("share.coordinator.cold.partition.snapshot.interval.ms", INT, 300000, at_least(1), LOW,
         "Time between two snapshots of share partitions that nobody uses.", internal=True),
    _key("share.coordinator.state.topic.num.partitions", INT, 50, at_least(1), HIGH,
         "Partitions of the topic __share_group_state."),
    _key("share.coordinator.state.topic.replication.factor", SHORT, 3, at_least(1), HIGH,
         "Replicas of the topic __share_group_state."),
    _key("share.coordinator.state.topic.min.isr", SHORT, 2, at_least(1), HIGH,
         "min.insync.replicas of the topic __share_group_state."),
    _key("share.coordinator.state.topic.segment.bytes", INT, 100 * MIB, at_least(1), HIGH,
         "segment.bytes of the topic __share_group_state."),
    _key("share.coordinator.state.topic.compression.codec", INT, 0, None, HIGH,
         "Number of the codec of the batches in __share_group_state."),
    _key("share.coordinator.state.topic.prune.interval.ms", INT, 300000, at_least(1), LOW,
         "Time between two looks for records of __share_group_state that can go.", internal=True),
)
# fmt: on
