"""The levels of the feature transaction.version (KIP-890)."""

from enum import IntEnum


class TransactionVersion(IntEnum):
    """What the cluster, or one client, knows of transactions."""

    TV_0 = 0
    """The first protocol, from Kafka 0.11 on."""
    TV_1 = 1
    """As before; records of the transaction log have tagged fields."""
    TV_2 = 2
    """Transactions v2: the epoch is bumped at the end of every transaction."""

    @property
    def supports_epoch_bump(self) -> bool:
        """Whether the end of a transaction bumps the epoch."""
        return self >= TransactionVersion.TV_2

    @property
    def transaction_log_value_version(self) -> int:
        """The version of the values in the transaction log."""
        return 1 if self >= TransactionVersion.TV_1 else 0

    @classmethod
    def for_add_partitions_to_txn(cls, api_version: int) -> "TransactionVersion":
        """What the sender of an AddPartitionsToTxn speaks: from version 4 on these come from brokers."""
        return cls.TV_2 if api_version > 3 else cls.TV_0

    @classmethod
    def for_end_txn(cls, api_version: int) -> "TransactionVersion":
        """What the sender of an EndTxn speaks."""
        return cls.TV_2 if api_version > 4 else cls.TV_0
