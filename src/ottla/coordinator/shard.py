"""What the runtime asks of the state machine on one partition."""

from typing import Protocol

from ottla.coordinator.record import CoordinatorRecord
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta


class CoordinatorShard(Protocol):
    """A state machine whose durable state is what its records say, in the order of the log.

    Its operations are methods (…, now_ms) → CoordinatorResult that change nothing durable; only ``replay`` does, live
    and when a partition is loaded. Time is an argument, chance an injected source, timers are handed in. ``now_ms`` is
    the wall clock's, as it stands in records; it may step by hours either way, so what must not wait has a timer.
    """

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a record; one of a transaction has its producer's id and epoch, any other -1 for both."""

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """A transaction that wrote to this partition has ended."""

    def on_loaded(self, image: MetadataImage, now_ms: int) -> None:
        """Everything in the log has been replayed: start timers."""

    def on_unloaded(self) -> None:
        """Another broker takes over, or this one stops: answer all that wait with NOT_COORDINATOR."""

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage, now_ms: int) -> None:
        """The cluster's metadata has changed."""
