"""The gauges and counters of ReplicaManager and of its delayed operations."""

from collections.abc import Callable
from functools import partial
from typing import Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.purgatory.purgatory_metrics import register_purgatory
from ottla.replication.broker_topic_metrics import BrokerTopicMetrics, topic_metric_name
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.partition import Partition
from ottla.replication.partition_metrics import register_partitions
from ottla.replication.purgatories import Purgatories
from ottla.runtime.port import Clock

_name: Final = partial(metric_name, "kafka.server", "ReplicaManager")

_PARTITION_GAUGES: Final[dict[str, tuple[str, Callable[[Partition], bool]]]] = {
    "LeaderCount": ("Partitions that this broker leads", lambda one: one.is_leader),
    "UnderReplicatedPartitions": ("Partitions with a replica out of sync", lambda one: one.is_under_replicated),
    "UnderMinIsrPartitionCount": ("Partitions that refuse acks=all", lambda one: one.is_under_min_isr),
    "AtMinIsrPartitionCount": ("Partitions that cannot lose another replica", lambda one: one.is_at_min_isr),
    "ReassigningPartitions": (
        "Partitions whose replicas are coming or going",
        lambda one: one.is_leader and one.is_reassigning,
    ),
}
"""Each counts leaders; they are read when somebody asks, in slices, since partitions may be many."""


class ReplicaMetrics:
    """Everything but the metrics of topics, which :class:`TopicMetrics` keeps."""

    def __init__(
        self, registry: Registry, partitions: HostedPartitions, purgatories: Purgatories, clock: Clock
    ) -> None:
        self._registry = registry
        for name, (text, counts) in _PARTITION_GAUGES.items():
            registry.sum_gauge(_name(name), text, lambda: list(partitions), counts)
        registry.gauge(_name("PartitionCount"), "Partitions on this broker", lambda: len(partitions))
        registry.gauge(
            _name("OfflineReplicaCount"), "Partitions whose disk has failed", lambda: len(partitions.offline)
        )
        registry.sum_gauge(
            _name("ProducerIdCount"),
            "Producers that partitions remember",
            lambda: list(partitions),
            lambda one: 0 if one.log is None else len(one.log.producer_state.active_producers),
        )
        registry.sum_gauge(
            _name("PartitionsWithLateTransactionsCount"),
            "Partitions with a transaction that nobody will end",
            lambda: list(partitions),
            lambda one: (
                one.is_leader and one.log is not None and one.log.producer_state.has_late_transaction(clock.now_ms())
            ),
        )
        register_partitions(registry, lambda: list(partitions))
        self.isr_expands = registry.counter(_name("IsrExpandsPerSec"), "Replicas that came into sync")
        self.isr_shrinks = registry.counter(_name("IsrShrinksPerSec"), "Replicas that fell out of sync")
        self.failed_isr_updates = registry.counter(
            _name("FailedIsrUpdatesPerSec"), "Changes of an ISR that the controller refused"
        )
        for purgatory in (purgatories.produce, purgatories.fetch, purgatories.delete_records):
            register_purgatory(registry, purgatory)
        self._produce_expirations = registry.counter(
            metric_name("kafka.server", "DelayedProducerRequestMetrics", "ExpiresPerSec"),
            "Partitions of produces that timed out",
        )
        self._delete_records_expirations = registry.counter(
            metric_name("kafka.server", "DelayedDeleteRecordsMetrics", "ExpiresPerSec"),
            "Partitions of deletions that timed out",
        )
        self._fetch_expirations = {
            is_follower: registry.counter(
                metric_name("kafka.server", "DelayedFetchMetrics", "ExpiresPerSec"),
                "Fetches that timed out",
                fetcherType=fetcher_type,
            )
            for is_follower, fetcher_type in ((True, "follower"), (False, "consumer"))
        }

    def produce_expired(self, _partition: Partition) -> None:
        """A produce timed out for a partition."""
        self._produce_expirations.value += 1

    def fetch_expired(self, is_follower: bool) -> None:
        """A fetch timed out."""
        self._fetch_expirations[is_follower].value += 1

    def delete_records_expired(self, partitions: int) -> None:
        """A deletion timed out for some partitions."""
        self._delete_records_expirations.value += partitions

    def isr_changed(self, before: frozenset[int], after: frozenset[int]) -> None:
        """The metadata has another ISR for a partition that this broker leads."""
        self.isr_expands.value += bool(after - before)
        self.isr_shrinks.value += bool(before - after)


class BrokerTopicStats:
    """The metrics of each topic with partitions here, and of all together."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.all_topics = BrokerTopicMetrics(registry, None)
        self._topics: dict[str, BrokerTopicMetrics] = {}
        self.replication_bytes_out = registry.counter(
            topic_metric_name("ReplicationBytesOutPerSec"), "Bytes sent to followers"
        )
        self.reassignment_bytes_out = registry.counter(
            topic_metric_name("ReassignmentBytesOutPerSec"), "Bytes sent to replicas that are being added"
        )

    def topic(self, name: str) -> BrokerTopicMetrics:
        """The metrics of a topic that has a partition here."""
        metrics = self._topics.get(name)
        if metrics is None:
            metrics = self._topics[name] = BrokerTopicMetrics(self._registry, name)
        return metrics

    def remove(self, name: str) -> None:
        """The topic has no partition here any more."""
        if self._topics.pop(name, None) is not None:
            BrokerTopicMetrics.remove(self._registry, name)

    def update_bytes_out(
        self, partition: Partition, size_bytes: int, *, is_follower: bool = False, is_reassignment: bool = False
    ) -> None:
        """Records of a partition were sent."""
        if is_follower:
            self.replication_bytes_out.value += size_bytes
            self.reassignment_bytes_out.value += size_bytes if is_reassignment else 0
        else:
            partition.metrics.bytes_out.value += size_bytes
            self.all_topics.bytes_out.value += size_bytes
