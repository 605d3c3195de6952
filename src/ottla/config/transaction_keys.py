"""Broker keys of the transaction coordinator; those that the log reads stand among the log's keys."""

from ottla.config.definition import ConfigKey, Importance
from ottla.config.units import DAY_MS, HOUR_MS, MIB
from ottla.config.validators import at_least
from ottla.config.values import ConfigType

HIGH, LOW = Importance.HIGH, Importance.LOW
BOOLEAN, INT, SHORT = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.SHORT

# fmt: off
TRANSACTION_KEYS = (
    ConfigKey("transactional.id.expiration.ms", INT, 7 * DAY_MS, at_least(1), HIGH,
              "Time without a transaction after which a transactional id is forgotten."),
    ConfigKey("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH,
              "Partitions of the topic __transaction_state."),
    ConfigKey("transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH,
              "Replicas of the topic __transaction_state."),
    ConfigKey("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH,
              "min.insync.replicas of the topic __transaction_state."),
    ConfigKey("transaction.state.log.segment.bytes", INT, 100 * MIB, at_least(1), HIGH,
              "segment.bytes of the topic __transaction_state; a broker does not start with less than 1048576."),
    ConfigKey("transaction.state.log.load.buffer.size", INT, 5 * MIB, at_least(1), HIGH,
              "Bytes of __transaction_state that are read at a time when a coordinator takes over."),
    ConfigKey("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10000, at_least(1), LOW,
              "Time between two looks for transactions that have timed out."),
    ConfigKey("transaction.remove.expired.transaction.cleanup.interval.ms", INT, HOUR_MS, at_least(1), LOW,
              "Time between two looks for transactional ids that have expired."),
    ConfigKey("transaction.two.phase.commit.enable", BOOLEAN, False, None, LOW,
              "Whether producers may take part in two-phase commits."),
    ConfigKey("add.partitions.to.txn.retry.backoff.ms", INT, 20, at_least(1), HIGH,
              "Pause before a partition is added again to a transaction whose last one still ends."),
    ConfigKey("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, at_least(0), HIGH,
              "How long adding a partition to a transaction is tried again."),
)
# fmt: on
