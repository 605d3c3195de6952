"""The producer ids that have been given out."""

from collections.abc import Iterator
from dataclasses import dataclass

from ottla.metadata.records.settings import ProducerIdsRecord


@dataclass(frozen=True, slots=True)
class ProducerIdsImage:
    """The first id of the next block; -1 when none was ever given out."""

    next_producer_id: int = -1

    @property
    def is_empty(self) -> bool:
        """Whether no block was given out."""
        return self.next_producer_id == -1

    def records(self) -> Iterator[ProducerIdsRecord]:
        """At most one record, in nobody's name."""
        if self.next_producer_id >= 0:
            yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)


class ProducerIdsDelta:
    """A later block."""

    __slots__ = ("next_producer_id",)

    def __init__(self, image: ProducerIdsImage) -> None:
        self.next_producer_id = image.next_producer_id

    def replay(self, record: ProducerIdsRecord) -> None:
        """A block was given out."""
        self.next_producer_id = record.next_producer_id

    def finish_snapshot(self) -> None:
        """A snapshot without the record changes nothing, as in Apache."""

    def apply(self) -> ProducerIdsImage:
        """The image after the changes."""
        return ProducerIdsImage(self.next_producer_id)
