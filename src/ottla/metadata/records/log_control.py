"""The records that steer the reading of the log and change nothing in the image."""

from ottla.protocol.message import INT8, STRING, Message, field


class NoOpRecord(Message, api_key=20, versions="0", flexible="0+"):
    """The active controller is alive; brokers take their lag from it."""


class ZkMigrationStateRecord(Message, api_key=21, versions="0", flexible="0+"):
    """Left over from a migration out of ZooKeeper; read and ignored."""

    zk_migration_state: int = field(INT8, "0+", default=0)


class BeginTransactionRecord(Message, api_key=23, versions="0", flexible="0+"):
    """The records up to the next end or abort take effect together."""

    name: str | None = field(STRING, "0+", default=None, nullable="0+", tag=0, tagged="0+")


class EndTransactionRecord(Message, api_key=24, versions="0", flexible="0+"):
    """The transaction takes effect."""


class AbortTransactionRecord(Message, api_key=25, versions="0", flexible="0+"):
    """The transaction never happened."""

    reason: str | None = field(STRING, "0+", default=None, nullable="0+", tag=0, tagged="0+")
