"""The controller's metrics, under Apache's names: kafka.controller:type=KafkaController and ControllerEventManager."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from ottla.controller.pending_log import PendingLog
from ottla.metadata.image import MetadataImage
from ottla.metadata.partition_registration import NO_LEADER, PartitionRegistration
from ottla.metrics import Histogram
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

_GAUGES: Final = (
    ("ActiveControllerCount", "active_controller_count", "1 on the active controller"),
    ("ActiveBrokerCount", "active_broker_count", "Registered brokers that are not fenced"),
    ("FencedBrokerCount", "fenced_broker_count", "Registered brokers that are fenced"),
    ("ControlledShutdownBrokerCount", "controlled_shutdown_broker_count", "Brokers that are about to shut down"),
    ("GlobalTopicCount", "global_topic_count", "Topics"),
    ("LastAppliedRecordOffset", "last_applied_record_offset", "The last offset in the controller's state"),
    ("LastCommittedRecordOffset", "last_committed_record_offset", "The last committed offset"),
    ("LastAppliedRecordTimestamp", "last_applied_record_timestamp", "When the last record was appended"),
    ("LastAppliedRecordLagMs", "last_applied_record_lag_ms", "How long ago that was, on standby"),
    ("TimedOutBrokerHeartbeatCount", "timed_out_broker_heartbeat_count", "Heartbeats that waited for too long"),
    ("NewActiveControllersCount", "new_active_controllers_count", "Elections of a controller that this node saw"),
    ("EventQueueOperationsStartedCount", "operations_started", "Operations begun"),
    ("EventQueueOperationsTimedOutCount", "operations_timed_out", "Operations that never began"),
    ("MetadataErrorCount", "metadata_error_count", "Errors of the controller itself"),
)

_PARTITION_COUNTS: Final[Mapping[str, tuple[str, Callable[[PartitionRegistration], bool]]]] = {
    "GlobalPartitionCount": ("Partitions", lambda _partition: True),
    "OfflinePartitionsCount": ("Partitions without a leader", lambda partition: partition.leader == NO_LEADER),
    "PreferredReplicaImbalanceCount": (
        "Partitions that their preferred replica does not lead",
        lambda partition: not partition.has_preferred_leader(),
    ),
}


class ControllerMetrics:
    """Counters that the controller raises, and gauges that are read from its state.

    Partitions are counted when somebody asks, in slices, since they may be many and an image does not change.
    Operations begin when they are called, so that none waits in a queue or times out there.
    """

    def __init__(self, log: PendingLog, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms
        self.event_queue_time_ms = Histogram()
        self.event_queue_processing_time_ms = Histogram()
        self.timed_out_broker_heartbeat_count = 0
        self.new_active_controllers_count = 0
        self.metadata_error_count = 0
        self.operations_started = 0
        self.operations_timed_out = 0

    def register(self, registry: Registry) -> None:
        """Show everything as ``kafka.controller:type=KafkaController`` and ``ControllerEventManager``."""
        for name, attribute, text in _GAUGES:
            read = partial(getattr, self, attribute)
            registry.gauge(metric_name("kafka.controller", "KafkaController", name), text, read)
        for name, (text, counts) in _PARTITION_COUNTS.items():
            registry.sum_gauge(metric_name("kafka.controller", "KafkaController", name), text, self._partitions, counts)
        self.event_queue_time_ms = registry.histogram(
            metric_name("kafka.controller", "ControllerEventManager", "EventQueueTimeMs"),
            "Milliseconds before operations begin",
        )
        self.event_queue_processing_time_ms = registry.histogram(
            metric_name("kafka.controller", "ControllerEventManager", "EventQueueProcessingTimeMs"),
            "Milliseconds until operations are committed",
        )

    def gauges(self) -> Iterator[tuple[str, int]]:
        """Every number by Apache's name."""
        for name, attribute, _ in _GAUGES:
            yield name, getattr(self, attribute)
        for name, (_, counts) in _PARTITION_COUNTS.items():
            yield name, sum(map(counts, self._partitions()))

    @property
    def active_controller_count(self) -> int:
        """1 on the node that is the active controller."""
        return int(self._log.epoch is not None)

    @property
    def active_broker_count(self) -> int:
        """Registered brokers that are not fenced."""
        return sum(not broker.fenced for broker in self._image.cluster.brokers.values())

    @property
    def fenced_broker_count(self) -> int:
        """Registered brokers that are fenced."""
        return sum(broker.fenced for broker in self._image.cluster.brokers.values())

    @property
    def controlled_shutdown_broker_count(self) -> int:
        """Brokers that are about to shut down."""
        return sum(broker.in_controlled_shutdown for broker in self._image.cluster.brokers.values())

    @property
    def global_topic_count(self) -> int:
        """Topics."""
        return len(self._image.topics.by_name)

    @property
    def last_applied_record_offset(self) -> int:
        """The last offset in the state, committed or not."""
        return self._log.last_applied_offset

    @property
    def last_committed_record_offset(self) -> int:
        """The last committed offset."""
        return self._log.last_committed_offset

    @property
    def last_applied_record_timestamp(self) -> int:
        """When the last batch in the state was appended."""
        return self._log.last_applied_time_ms

    @property
    def last_applied_record_lag_ms(self) -> int:
        """How far a standby is behind, 0 on the active controller."""
        return 0 if self._log.epoch is not None else self._now_ms() - self._log.last_applied_time_ms

    @property
    def _image(self) -> MetadataImage:
        return self._log.committed.image

    def _partitions(self) -> Iterator[PartitionRegistration]:
        for topic in self._image.topics.by_name.values():
            yield from topic.partitions.values()
