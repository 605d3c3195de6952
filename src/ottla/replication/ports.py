"""What replication needs from above: implemented and wired in ``server``."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.transaction_operation import TransactionSupportedOperation


class Brokers(Protocol):
    """What the metadata says of other brokers."""

    def alive_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker that is registered and not fenced; None for others."""

    def is_shutting_down(self, broker_id: int) -> bool:
        """Whether a broker is in controlled shutdown."""


Verified = Callable[[Mapping[TopicPartition, int]], None]
"""Takes the error code of each partition that may not be written to."""


class TxnVerifier(Protocol):
    """Asks the transaction coordinator whether partitions belong to an ongoing transaction (KIP-890)."""

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        operation: TransactionSupportedOperation,
        verified: Verified,
    ) -> None:
        """Find out about ``partitions``; ``verified`` is called once, at once or later.

        Producers of transactions v2 do not add their partitions themselves: the broker does so here.
        """


class AllowAllTransactions:
    """The verifier of a broker without a transaction coordinator: every transactional write is let in."""

    def verify(self, *_question: object, verified: Verified, **_options: object) -> None:
        """Nothing is refused."""
        verified({})


class DirectoryAssignments(Protocol):
    """Tells the controller which data directory a replica lies in (AssignReplicasToDirs)."""

    def assign(self, topic_id: Uuid, partition: int, directory_id: Uuid) -> Awaitable[None]:
        """Ends when the controller has accepted the directory."""
