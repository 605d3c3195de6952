"""What operations of the coordinator answer, for its service to act on."""

from enum import Enum
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.transaction.markers import TransactionMarkers
from ottla.transaction.metadata import NO_PRODUCER, ProducerIdAndEpoch


class NeedsProducerId(Enum):
    """Nothing could be decided without a new producer id: ask again with one."""

    NEEDS_PRODUCER_ID = "needs-producer-id"


NEEDS_PRODUCER_ID: Final = NeedsProducerId.NEEDS_PRODUCER_ID


class Outcome(NamedTuple):
    """The answer to a producer, and the markers that are to be written because of it.

    CONCURRENT_TRANSACTIONS may come with records and markers: the transaction that was in the way is being aborted.
    """

    error_code: ErrorCode = ErrorCode.NONE
    producer: ProducerIdAndEpoch = NO_PRODUCER
    """Who the producer is from now on; NO_PRODUCER where the answer does not tell."""
    markers: TransactionMarkers | None = None
