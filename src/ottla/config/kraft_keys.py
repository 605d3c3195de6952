"""Keys of a node's roles, of the controller quorum and of the metadata log."""

from ottla.config.address_validators import BOOTSTRAP_SERVERS, QUORUM_VOTERS
from ottla.config.definition import NO_OTHERS, ConfigKey, Importance
from ottla.config.units import DAY_MS, HOUR_MS, LONG_MAX, MIB
from ottla.config.validators import ValidList, at_least
from ottla.config.values import ConfigType

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, LIST = ConfigType.LONG, ConfigType.LIST

# fmt: off
KRAFT_KEYS = (
    ConfigKey("process.roles", LIST, None, ValidList(("broker", "controller"), empty_allowed=False), HIGH,
              "What this node is: broker, controller, or both.",
              required=True),
    ConfigKey("node.id", INT, None, at_least(0), HIGH,
              "Number of this node, which no other node of the cluster has.",
              required=True),
    ConfigKey("broker.id", INT, -1, None, HIGH,
              "Old name of node.id; where both are set they must agree."),
    ConfigKey("controller.listener.names", LIST, None, ValidList(empty_allowed=False), HIGH,
              "Listeners of the controllers; a broker talks to them through the first one.",
              required=True),
    ConfigKey("controller.quorum.voters", LIST, (), QUORUM_VOTERS, HIGH,
              "The voters of a fixed quorum, as id@host:port."),
    ConfigKey("controller.quorum.bootstrap.servers", LIST, (), BOOTSTRAP_SERVERS, HIGH,
              "Controllers to find the quorum through, as host:port, where the metadata log names the voters."),
    ConfigKey("controller.quorum.election.timeout.ms", INT, 1000, at_least(0), HIGH,
              "Time without a majority after which a candidate starts another election; chance adds up to as much "
              "again."),
    ConfigKey("controller.quorum.fetch.timeout.ms", INT, 2000, at_least(0), HIGH,
              "Time without a successful fetch from the leader after which a voter becomes a candidate, and time "
              "without fetches from a majority after which a leader resigns."),
    ConfigKey("controller.quorum.election.backoff.max.ms", INT, 1000, at_least(0), HIGH,
              "Bound of the growing pause before another election.",
              inert=NO_OTHERS),
    ConfigKey("controller.quorum.append.linger.ms", INT, 25, at_least(0), MEDIUM,
              "How long the leader gathers metadata records before it writes them.",
              inert="whatever is appended in one turn of the reactor is written together, and nothing lingers"),
    ConfigKey("controller.quorum.request.timeout.ms", INT, 2000, at_least(0), MEDIUM,
              "How long a node of the quorum waits for the response to a request.",
              inert=NO_OTHERS),
    ConfigKey("controller.quorum.retry.backoff.ms", INT, 20, at_least(0), LOW,
              "Pause before a failed request to the quorum is tried again.",
              inert=NO_OTHERS),
    ConfigKey("controller.quorum.auto.join.enable", BOOLEAN, False, None, LOW,
              "Whether a controller that is an observer adds itself to the voters.",
              inert=NO_OTHERS),
    ConfigKey("controller.quorum.fetch.max.bytes", INT, MIB, at_least(1), LOW,
              "Bytes of the metadata log that one fetch asks for.",
              inert=NO_OTHERS),
    ConfigKey("controller.quorum.fetch.snapshot.max.bytes", INT, MIB, at_least(1), LOW,
              "Bytes of a metadata snapshot that one fetch asks for.",
              inert=NO_OTHERS),
    ConfigKey("initial.broker.registration.timeout.ms", INT, 60000, None, MEDIUM,
              "How long a starting broker tries to register with the controller before it gives up and exits."),
    ConfigKey("broker.heartbeat.interval.ms", INT, 2000, None, MEDIUM,
              "Time between two heartbeats of a broker."),
    ConfigKey("broker.session.timeout.ms", INT, 9000, None, MEDIUM,
              "Time without a heartbeat after which the controller fences a broker."),
    ConfigKey("server.max.startup.time.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
              "How long a node may take to start; for tests.",
              internal=True),
    ConfigKey("controller.performance.sample.period.ms", LONG, 60000, at_least(100), MEDIUM,
              "Time between two reports of how long the controller's events take.",
              inert="an event of the controller is never queued", internal=True),
    ConfigKey("controller.performance.always.log.threshold.ms", LONG, 2000, at_least(0), MEDIUM,
              "Duration of a controller event from which it is always logged.",
              inert="the reactor reports whatever takes more than two milliseconds", internal=True),
    ConfigKey("metadata.log.dir", STRING, None, None, HIGH,
              "Directory of the metadata log; unset, the first of log.dirs."),
    ConfigKey("metadata.log.max.record.bytes.between.snapshots", LONG, 20 * MIB, at_least(1), HIGH,
              "Bytes of new metadata records after which a snapshot is taken."),
    ConfigKey("metadata.log.max.snapshot.interval.ms", LONG, HOUR_MS, at_least(0), HIGH,
              "Age of the oldest metadata record outside a snapshot at which one is taken; 0 takes none by age."),
    ConfigKey("metadata.log.segment.bytes", INT, 1024 * MIB, at_least(8 * MIB), HIGH,
              "Size at which a segment of the metadata log is full."),
    ConfigKey("metadata.log.segment.ms", LONG, 7 * DAY_MS, None, HIGH,
              "Age at which a segment of the metadata log is rolled."),
    ConfigKey("metadata.max.retention.bytes", LONG, 100 * MIB, None, HIGH,
              "Size of metadata log and snapshots together at which the oldest of both are deleted; negative sets no "
              "limit."),
    ConfigKey("metadata.max.retention.ms", LONG, 7 * DAY_MS, None, HIGH,
              "Age at which metadata segments and snapshots are deleted; negative sets no limit."),
    ConfigKey("metadata.max.idle.interval.ms", INT, 500, at_least(0), LOW,
              "Time after which an idle controller writes a no-op record, which moves the high watermark; 0 writes "
              "none."),
    ConfigKey("internal.metadata.log.segment.bytes", INT, None, None, LOW,
              "Segment size of the metadata log without the lower bound of metadata.log.segment.bytes; for tests.",
              internal=True),
    ConfigKey("internal.metadata.max.batch.size.in.bytes", INT, 8 * MIB, None, LOW,
              "Largest batch of the metadata log; for tests.",
              internal=True),
    ConfigKey("internal.metadata.delete.delay.millis", LONG, 60000, None, LOW,
              "How long deleted files of the metadata log stay on disk; for tests.",
              internal=True),
    ConfigKey("sasl.mechanism.controller.protocol", STRING, "GSSAPI", None, HIGH,
              "SASL mechanism towards controllers.",
              inert="only PLAINTEXT listeners are built yet",
              promises="that nodes authenticate with controllers"),
)
# fmt: on
