"""The broker's settings for producers, which may change while it runs."""

from dataclasses import dataclass


@dataclass(slots=True)
class ProducerStateManagerConfig:
    """One object for all partitions of a broker: a changed field takes effect at once, everywhere."""

    producer_id_expiration_ms: int = 86_400_000
    """``producer.id.expiration.ms``: an idle producer is forgotten after this long."""

    max_transaction_timeout_ms: int = 900_000
    """``transaction.max.timeout.ms``: the longest a transaction may take."""

    transaction_verification_enabled: bool = True
    """``transaction.partition.verification.enable``: ask the coordinator before a transaction's first write."""
