"""The controller's metrics, under Apache's names: kafka.controller:type=KafkaController and ControllerEventManager."""

from collections.abc import Iterator

from ottla.controller.pending_log import PendingLog
from ottla.metadata.image import MetadataImage
from ottla.metadata.partition_registration import NO_LEADER
from ottla.metrics import Histogram


class ControllerMetrics:
    """Counters that the controller raises, and gauges that are read from its state.

    Partitions are counted when somebody asks, once an image.
    """

    def __init__(self, log: PendingLog) -> None:
        self._log = log
        self._counted_image: MetadataImage | None = None
        self._counts = (0, 0, 0)
        self.event_queue_time_ms = Histogram()
        self.event_queue_processing_time_ms = Histogram()
        self.timed_out_broker_heartbeat_count = 0
        self.new_active_controllers_count = 0
        self.metadata_error_count = 0
        self.operations_started = 0
        self.operations_timed_out = 0

    def gauges(self) -> Iterator[tuple[str, int]]:
        """Every number by Apache's name."""
        yield "ActiveControllerCount", self.active_controller_count
        yield "ActiveBrokerCount", self.active_broker_count
        yield "FencedBrokerCount", self.fenced_broker_count
        yield "ControlledShutdownBrokerCount", self.controlled_shutdown_broker_count
        yield "GlobalTopicCount", self.global_topic_count
        yield "GlobalPartitionCount", self.global_partition_count
        yield "OfflinePartitionsCount", self.offline_partitions_count
        yield "PreferredReplicaImbalanceCount", self.preferred_replica_imbalance_count
        yield "LastAppliedRecordOffset", self.last_applied_record_offset
        yield "LastCommittedRecordOffset", self.last_committed_record_offset
        yield "LastAppliedRecordTimestamp", self.last_applied_record_timestamp
        yield "TimedOutBrokerHeartbeatCount", self.timed_out_broker_heartbeat_count
        yield "NewActiveControllersCount", self.new_active_controllers_count
        yield "EventQueueOperationsStartedCount", self.operations_started
        yield "EventQueueOperationsTimedOutCount", self.operations_timed_out
        yield "MetadataErrorCount", self.metadata_error_count

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
    def global_partition_count(self) -> int:
        """Partitions of all topics."""
        return self._partition_counts()[0]

    @property
    def offline_partitions_count(self) -> int:
        """Partitions without a leader."""
        return self._partition_counts()[1]

    @property
    def preferred_replica_imbalance_count(self) -> int:
        """Partitions that are not led by their preferred replica."""
        return self._partition_counts()[2]

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
    def _image(self) -> MetadataImage:
        return self._log.committed.image

    def _partition_counts(self) -> tuple[int, int, int]:
        image = self._image
        if self._counted_image is None or self._counted_image.topics is not image.topics:
            total = offline = imbalanced = 0
            for topic in image.topics.by_name.values():
                total += len(topic.partitions)
                for partition in topic.partitions.values():
                    offline += partition.leader == NO_LEADER
                    imbalanced += not partition.has_preferred_leader()
            self._counted_image = image
            self._counts = (total, offline, imbalanced)
        return self._counts
