"""Follows the metadata: partitions that come, change their leader, and go."""

import logging
from collections.abc import Callable
from typing import Final

from ottla.common.errors import KafkaError, KafkaStorageError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.metadata.directory_id import is_reserved
from ottla.metadata.image.local_replica_changes import LocalReplicaChanges, PartitionInfo, TopicIdPartition
from ottla.metadata.image.topics import TopicsImage
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.partition import Partition
from ottla.replication.ports import Brokers, DirectoryAssignments
from ottla.replication.purgatories import Purgatories
from ottla.replication.replica_metrics import BrokerTopicStats, ReplicaMetrics
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

RETRY_MS: Final = 1_000

_Become = Callable[[Partition, PartitionInfo, Log], None]


class PartitionChanges:
    """Makes the hosted partitions and their logs what the metadata says. One change is applied after the other."""

    def __init__(
        self,
        runtime: Runtime,
        log_manager: LogManager,
        node_id: int,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        *,
        brokers: Brokers,
        stats: BrokerTopicStats,
        metrics: ReplicaMetrics,
        replica_lag_time_max_ms: int,
        on_stopped: Callable[[Partition], None],
        assignments: DirectoryAssignments | None,
    ) -> None:
        """``on_stopped`` hears of each partition that goes, so that nobody goes on copying it; ``assignments`` of each
        that lies in another directory than the metadata says.
        """
        self._runtime = runtime
        self._log_manager = log_manager
        self._node_id = node_id
        self._partitions = partitions
        self._purgatories = purgatories
        self._brokers = brokers
        self._stats = stats
        self._metrics = metrics
        self._replica_lag_time_max_ms = replica_lag_time_max_ms
        self._on_stopped = on_stopped
        self._assignments = assignments
        self._put_off: dict[TopicPartition, tuple[PartitionInfo, _Become]] = {}
        """Changes that wait for open files; the partition neither leads nor follows meanwhile."""
        self._is_retrying = False
        self._is_stopped = False

    async def apply(self, changes: LocalReplicaChanges) -> None:
        """Deletions first: a topic may have been made again under the same name.

        Others get their turn after each new log, whose files must be on the disk before it is used.
        """
        if changes.deletes:
            logger.info("Deleting %d partition(s).", len(changes.deletes))
            for topic_partition in changes.deletes:
                self._stop(topic_partition)
            for topic_partition in changes.deletes:
                await self._delete_logs(topic_partition)
        if changes.leaders:
            logger.info("Transitioning %d partition(s) to local leaders.", len(changes.leaders))
        for topic_partition, info in changes.leaders.items():
            await self._change(topic_partition, info, self._lead)
        if changes.followers:
            logger.info("Transitioning %d partition(s) to local followers.", len(changes.followers))
        for topic_partition, info in changes.followers.items():
            await self._change(topic_partition, info, self._follow)
        for topic_id_partition, assigned in changes.directory_ids.items():
            self._report_directory(topic_id_partition, assigned)

    # -- coming and changing ------------------------------------------------------------------------------------------

    async def _change(
        self,
        topic_partition: TopicPartition,
        info: PartitionInfo,
        become: _Become,
    ) -> None:
        partition = self._partitions.get(topic_partition)
        if partition is None:
            if self._partitions.offline.get(topic_partition) == info.topic_id:
                logger.warning(
                    "Unable to bring up %s with topic id %s because it resides in an offline log directory.",
                    topic_partition,
                    info.topic_id,
                )
                return
            partition = Partition(
                topic_partition,
                info.topic_id,
                self._node_id,
                brokers=self._brokers,
                metrics=self._stats.topic(topic_partition.topic),
                replica_lag_time_max_ms=self._replica_lag_time_max_ms,
            )
            self._partitions.add(partition)
        assert partition.topic_id == info.topic_id, (
            f"{topic_partition} has id {partition.topic_id}, not {info.topic_id}"
        )
        is_new = topic_partition not in self._log_manager.logs
        self._put_off.pop(topic_partition, None)
        try:
            become(partition, info, self._log(topic_partition, info))
        except ResourceShortageError as error:
            logger.error("The state change for %s is put off for a moment: %s", topic_partition, error)
            self._put_off[topic_partition] = info, become
            self._retry_soon()
        except KafkaStorageError as error:
            logger.error("Skipped the state change for %s due to a storage error: %s", topic_partition, error)
            self._partitions.mark_offline(topic_partition)
        self._purgatories.check_all(topic_partition)
        if is_new:
            await self._runtime.sleep_ms(0)

    def _retry_soon(self) -> None:
        if not self._is_retrying:
            self._is_retrying = True
            self._runtime.spawn(self._retry())

    async def _retry(self) -> None:
        """Try the changes again that were put off, those that are still wanted, until none is left."""
        try:
            while self._put_off and not self._is_stopped:
                await self._runtime.sleep_ms(RETRY_MS)
                for topic_partition, (info, become) in list(self._put_off.items()):
                    if not self._is_stopped and self._put_off.get(topic_partition) == (info, become):
                        await self._change(topic_partition, info, become)
        finally:
            self._is_retrying = False

    def stop(self) -> None:
        """Leave what was put off to the next start."""
        self._is_stopped = True

    def _lead(self, partition: Partition, info: PartitionInfo, log: Log) -> None:
        before = partition.isr
        if not partition.make_leader(info.partition, log, self._runtime.clock.monotonic_ms()):
            self._metrics.isr_changed(before, partition.isr)

    def _follow(self, partition: Partition, info: PartitionInfo, log: Log) -> None:
        partition.make_follower(info.partition, log)

    def _log(self, topic_partition: TopicPartition, info: PartitionInfo) -> Log:
        """The log, made where the metadata wants it if it is missing.

        A directory that is not online may hold it: then making another would hide what is there.
        """
        directories = self._log_manager.directories
        wanted = info.partition.directory(self._node_id)
        path = next((one.path for one in directories.online if one.directory_id == wanted), None)
        if path is None and not is_reserved(wanted):
            directories.require_none_offline(f"Can not create log for {topic_partition} in directory {wanted}")
        return self._log_manager.get_or_create_log(topic_partition, info.topic_id, directory=path)

    def _report_directory(self, topic_id_partition: TopicIdPartition, assigned: Uuid) -> None:
        """Tell the controller where a replica lies, unless it knows."""
        topic_id, index = topic_id_partition
        partition = self._partitions.by_topic_id(topic_id, index)
        if self._assignments is None or partition is None or partition.log is None:
            return
        actual = self._log_manager.directories[partition.log.data_directory].directory_id
        if actual is not None and actual != assigned:
            self._runtime.spawn(self._assign(self._assignments, topic_id, index, actual))

    @staticmethod
    async def _assign(assignments: DirectoryAssignments, topic_id: Uuid, index: int, directory_id: Uuid) -> None:
        try:
            await assignments.assign(topic_id, index, directory_id)
        except KafkaError as error:
            logger.error("Assigning partition %d of topic %s to %s failed: %s", index, topic_id, directory_id, error)

    # -- going --------------------------------------------------------------------------------------------------------

    def _stop(self, topic_partition: TopicPartition) -> None:
        self._put_off.pop(topic_partition, None)
        partition = self._partitions.remove(topic_partition)
        if partition is not None:
            self._on_stopped(partition)
        if not self._partitions.has_topic(topic_partition.topic):
            self._stats.remove(topic_partition.topic)
        self._purgatories.check_all(topic_partition)

    async def _delete_logs(self, topic_partition: TopicPartition) -> None:
        for is_future in (True, False):
            if is_future and topic_partition not in self._log_manager.future_logs:
                continue
            try:
                await self._log_manager.delete_log(topic_partition, is_future=is_future)
            except KafkaStorageError as error:
                logger.error("Unable to delete replica %s: %s", topic_partition, error)

    def handle_log_dir_failure(self, path: str) -> list[Partition]:
        """Take the partitions offline whose logs lie in a directory that has failed; returns them."""
        failed = [one for one in self._partitions if one.log is not None and one.log.data_directory == path]
        for partition in self._partitions:
            if partition.future_log is not None and partition.future_log.data_directory == path:
                partition.future_log = None
        for partition in failed:
            topic_partition = partition.topic_partition
            self._on_stopped(partition)
            self._partitions.mark_offline(topic_partition)
            if not self._partitions.has_topic(topic_partition.topic):
                self._stats.remove(topic_partition.topic)
            self._purgatories.check_all(topic_partition)
        logger.warning("Stopped serving %d replica(s) in dir %s", len(failed), path)
        return failed

    # -- strays -------------------------------------------------------------------------------------------------------

    async def put_aside_strays(self, topics: TopicsImage) -> list[TopicPartition]:
        """Mark the logs stray that a start has found and that the metadata does not place here; returns which."""
        strays = [log.topic_partition for log in self._log_manager.logs.values() if self._is_stray(log, topics)]
        for topic_partition in strays:
            logger.warning("Found stray log dir of %s: the metadata does not have it here", topic_partition)
            await self._log_manager.mark_stray(topic_partition)
        return strays

    def _is_stray(self, log: Log, topics: TopicsImage) -> bool:
        topic_id: Uuid | None = log.topic_id
        if topic_id is None:
            return topics.partition(*log.topic_partition) is None
        registration = topics.partition_by_id(topic_id, log.topic_partition.partition)
        return registration is None or self._node_id not in registration.replicas
