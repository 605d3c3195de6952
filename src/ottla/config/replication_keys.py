"""Broker keys of replication: fetching from leaders, who is in sync, who leads."""

from ottla.config.definition import NO_OTHERS, ConfigKey, Importance
from ottla.config.topic_keys import TIERED_STORAGE
from ottla.config.units import MIB
from ottla.config.validators import at_least
from ottla.config.values import ConfigType

HIGH, MEDIUM = Importance.HIGH, Importance.MEDIUM
BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG

# fmt: off
REPLICATION_KEYS = (
    ConfigKey("default.replication.factor", INT, 1, None, MEDIUM,
              "Replicas of a topic that is created without a number of them."),
    ConfigKey("replica.lag.time.max.ms", LONG, 30000, None, HIGH,
              "How long a follower may be behind the end of the leader's log before it leaves the ISR."),
    ConfigKey("replica.socket.timeout.ms", INT, 30000, None, HIGH,
              "How long a follower waits for a response of its leader; at least replica.fetch.wait.max.ms.",
              inert=NO_OTHERS),
    ConfigKey("replica.socket.receive.buffer.bytes", INT, 64 * 1024, None, HIGH,
              "SO_RCVBUF of a follower's connections to leaders.",
              inert=NO_OTHERS),
    ConfigKey("replica.fetch.max.bytes", INT, MIB, at_least(0), MEDIUM,
              "Bytes of one partition that a follower asks for; a larger first batch comes whole nevertheless.",
              inert=NO_OTHERS),
    ConfigKey("replica.fetch.wait.max.ms", INT, 500, None, HIGH,
              "How long a leader may hold a follower's fetch for want of data; below replica.lag.time.max.ms.",
              inert=NO_OTHERS),
    ConfigKey("replica.fetch.min.bytes", INT, 1, None, HIGH,
              "Bytes that a leader gathers for a follower's fetch before it answers.",
              inert=NO_OTHERS),
    ConfigKey("replica.fetch.response.max.bytes", INT, 10 * MIB, at_least(0), MEDIUM,
              "Bytes of all partitions together that a follower asks for in one fetch.",
              inert=NO_OTHERS),
    ConfigKey("replica.fetch.backoff.ms", INT, 1000, at_least(0), MEDIUM,
              "Pause of a follower after a failed fetch.",
              inert=NO_OTHERS),
    ConfigKey("num.replica.fetchers", INT, 1, at_least(1), HIGH,
              "Fetch loops that a follower has for each leader.",
              inert=NO_OTHERS),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", LONG, 5000, None, HIGH,
              "Time between two writes of the high watermarks to disk."),
    ConfigKey("fetch.purgatory.purge.interval.requests", INT, 1000, None, MEDIUM,
              "Completed fetches at which the purgatory of waiting fetches is swept."),
    ConfigKey("producer.purgatory.purge.interval.requests", INT, 1000, None, MEDIUM,
              "Completed produces at which the purgatory of waiting produces is swept."),
    ConfigKey("delete.records.purgatory.purge.interval.requests", INT, 1, None, MEDIUM,
              "Completed requests at which the purgatory of waiting DeleteRecords requests is swept."),
    ConfigKey("auto.leader.rebalance.enable", BOOLEAN, True, None, HIGH,
              "Whether the controller gives partitions back to their preferred leaders by itself."),
    ConfigKey("leader.imbalance.check.interval.seconds", LONG, 300, at_least(1), HIGH,
              "Time between two looks for partitions that their preferred leader does not lead."),
    ConfigKey("unclean.leader.election.interval.ms", LONG, 300000, at_least(1), MEDIUM,
              "Time between two looks for leaderless partitions that may have an unclean election.",
              internal=True),
    ConfigKey("controller.socket.timeout.ms", INT, 30000, None, MEDIUM,
              "How long a broker waits for a response of the controller.",
              inert=NO_OTHERS),
    ConfigKey("replica.selector.class", STRING, None, None, MEDIUM,
              "Which replica a consumer is sent to: unset the leader, or "
              "org.apache.kafka.common.replica.RackAwareReplicaSelector one in its rack.",
              inert=NO_OTHERS),
    ConfigKey("num.replica.alter.log.dirs.threads", INT, None, None, HIGH,
              "Moves of replicas between log directories that run at a time; unset, one for each directory.",
              inert="one event loop does this work, without threads to count"),
    ConfigKey("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, None, MEDIUM,
              "Whether an empty follower of a tiered topic starts at the last tiered offset.",
              inert=TIERED_STORAGE),
)
# fmt: on
