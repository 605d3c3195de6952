"""The operations that wait for something to happen to a partition."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from ottla.common.topic_partition import TopicPartition
from ottla.purgatory.purgatory import Purgatory
from ottla.purgatory.timer import Timer
from ottla.replication.delayed_delete_records import DelayedDeleteRecords
from ottla.replication.delayed_fetch import DelayedFetch
from ottla.replication.delayed_produce import DelayedProduce


@dataclass(frozen=True, slots=True)
class Purgatories:
    """One purgatory for each kind of operation; whoever made them also advances them. Keys are TopicPartitions."""

    produce: Purgatory[DelayedProduce]
    fetch: Purgatory[DelayedFetch]
    delete_records: Purgatory[DelayedDeleteRecords]

    @classmethod
    def create(
        cls,
        new_timer: Callable[[], Timer],
        *,
        produce_purge_interval: int = 1000,
        fetch_purge_interval: int = 1000,
        delete_records_purge_interval: int = 1,
    ) -> Self:
        """Each has a timer of its own; the intervals are those of ``*.purgatory.purge.interval.requests``."""
        return cls(
            Purgatory("Produce", new_timer(), produce_purge_interval),
            Purgatory("Fetch", new_timer(), fetch_purge_interval),
            Purgatory("DeleteRecords", new_timer(), delete_records_purge_interval),
        )

    def check_all(self, topic_partition: TopicPartition) -> None:
        """Something about a partition has changed that any of them may wait for."""
        self.produce.check_and_complete(topic_partition)
        self.fetch.check_and_complete(topic_partition)
        self.delete_records.check_and_complete(topic_partition)
