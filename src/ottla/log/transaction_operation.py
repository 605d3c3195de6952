"""What a producer's version of the protocol lets the broker do about its transaction (KIP-890)."""

from enum import Enum


class TransactionSupportedOperation(Enum):
    """How a client that writes to a partition, or commits offsets, takes part in the check of its transaction."""

    DEFAULT_ERROR = "verify, and tell errors that clients of any age know"
    GENERIC_ERROR_SUPPORTED = "verify; the client knows TRANSACTION_ABORTABLE"
    ADD_PARTITION = "the client speaks transactions v2: its partitions are added for it"

    @property
    def supports_epoch_bump(self) -> bool:
        """Whether the client's epoch is bumped with every transaction, and partitions are added on the way."""
        return self is TransactionSupportedOperation.ADD_PARTITION

    @classmethod
    def of_produce(cls, version: int) -> "TransactionSupportedOperation":
        """By the version of a Produce."""
        if version >= 12:
            return cls.ADD_PARTITION
        return cls.GENERIC_ERROR_SUPPORTED if version >= 11 else cls.DEFAULT_ERROR

    @classmethod
    def of_txn_offset_commit(cls, version: int) -> "TransactionSupportedOperation":
        """By the version of a TxnOffsetCommit."""
        if version >= 5:
            return cls.ADD_PARTITION
        return cls.GENERIC_ERROR_SUPPORTED if version >= 4 else cls.DEFAULT_ERROR
