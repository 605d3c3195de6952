"""Transaction verification (KIP-890): proof that the coordinator knows of a transaction before it writes here.

The broker asks the transaction coordinator whether a transaction is ongoing before it lets the first batch in. Between
question and append an abort marker may arrive and another transaction begin; so each question has its own
:class:`VerificationGuard`, which the append must present and which data and markers make void.
"""

from typing import Final

from ottla.records.batch import RecordBatch


class VerificationGuard:
    """One question to the coordinator; guards are equal only to themselves."""

    __slots__ = ()

    def verify(self, guard: "VerificationGuard") -> bool:
        """Whether ``guard`` is this one; the sentinel never verifies."""
        return guard is self and guard is not SENTINEL


SENTINEL: Final = VerificationGuard()
"""The guard of those that have none."""


class VerificationStateEntry:
    """The verification under way for one producer.

    It also remembers the lowest sequence that waits for verification: letting a higher one in first would make the
    lower one out of order for ever.
    """

    __slots__ = ("epoch", "lowest_sequence", "supports_epoch_bump", "timestamp_ms", "verification_guard")

    def __init__(self, timestamp_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.timestamp_ms = timestamp_ms
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump
        self.verification_guard = VerificationGuard()

    def maybe_update_lowest_sequence_and_epoch(self, sequence: int, epoch: int) -> None:
        """Take a lower sequence of the same epoch, or the first sequence of a newer one."""
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = sequence

    def is_settled_by(self, batch: RecordBatch) -> bool:
        """Whether the append of a transactional batch makes the guard void.

        Data does, and so does a marker; only with transactions v2, where each transaction has its own epoch, a marker
        of the very epoch that asks is the end of the transaction before, and the question stands.
        """
        return not (self.supports_epoch_bump and batch.is_control and batch.producer_epoch == self.epoch)
