"""What a checked append will change in the producers' state, between its check and its write.

Both kinds say whether the append repeats an earlier one (``duplicate``: answer with it, write nothing) and which
transactions it completes (``completed_txns``), so that the log need not tell them apart.
"""

from collections.abc import Sequence
from typing import ClassVar

from ottla.log.producer_append import ProducerAppendInfo
from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.transaction import CompletedTxn


class NextBatch:
    """The common case: the append's one batch follows its producer's last, and neither begins nor ends anything."""

    __slots__ = ("batch", "entry")

    duplicate: ClassVar[BatchMetadata | None] = None
    completed_txns: ClassVar[Sequence[CompletedTxn]] = ()

    def __init__(self, entry: ProducerEntry, batch: BatchMetadata) -> None:
        self.entry = entry
        self.batch = batch


class ProducerUpdates:
    """The general case: any number of batches of any number of producers."""

    __slots__ = ("completed_txns", "duplicate", "infos", "settled_verifications")

    def __init__(self) -> None:
        self.duplicate: BatchMetadata | None = None
        self.completed_txns: list[CompletedTxn] = []
        self.infos: dict[int, ProducerAppendInfo] = {}
        """By producer id."""
        self.settled_verifications: set[int] = set()
        """Producers whose verification the append makes void."""


PendingUpdate = NextBatch | ProducerUpdates
