"""Moves replicas between data directories: a future log copies the current one, then takes its place.

A move: started (the log is not cleaned meanwhile) → copying, slice by slice, while others append → caught up and
flushed → the controller knows the directory → swapped, in one turn of the reactor. It ends early when the partition or
one of the logs goes away. A restart finds the future log and goes on.
"""

import logging
from typing import Final

from ottla.common.errors import KafkaError, KafkaStorageError, OffsetOutOfRangeError, UnexpectedAppendOffsetError
from ottla.common.topic_partition import TopicPartition
from ottla.log.log import Log
from ottla.log.log_removal import Swap
from ottla.log.manager import LogManager
from ottla.replication.partition import Partition
from ottla.replication.ports import DirectoryAssignments
from ottla.replication.purgatories import Purgatories
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

SLICE_BYTES: Final = 32 * 1024
"""What one turn of the reactor appends: some hundred batches at worst."""
BACKOFF_MS: Final = 1000


class ReplicaMover:
    """The moves under way, one a partition at most."""

    def __init__(
        self,
        runtime: Runtime,
        log_manager: LogManager,
        purgatories: Purgatories,
        assignments: DirectoryAssignments | None = None,
    ) -> None:
        self._runtime = runtime
        self._log_manager = log_manager
        self._purgatories = purgatories
        self._assignments = assignments
        self._moves: dict[TopicPartition, Log] = {}
        """The future logs that are being filled."""

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._moves

    def start(self, partition: Partition, future: Log) -> None:
        """Begin to move a partition that is not being moved."""
        assert partition.topic_partition not in self._moves, f"{partition} is being moved already"
        logger.info("Moving %s from %s to %s", partition.topic_partition, partition.log, future.data_directory)
        partition.future_log = future
        self._moves[partition.topic_partition] = future
        self._runtime.spawn(self._move(partition, future))

    def stop(self, partition: Partition) -> None:
        """End a move; the future log stays for whoever deletes it."""
        self._moves.pop(partition.topic_partition, None)
        partition.future_log = None

    def _goes_on(self, partition: Partition, future: Log) -> bool:
        return partition.log is not None and partition.future_log is future

    async def _move(self, partition: Partition, future: Log) -> None:
        topic_partition = partition.topic_partition
        await self._log_manager.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            await self._copy(partition, future)
            if self._goes_on(partition, future):
                await future.flush()
                await self._assign(partition, future)
            while self._goes_on(partition, future):
                # Nothing suspends between the end of the copy and the swap: it succeeds under any load.
                await self._copy(partition, future)
                if self._goes_on(partition, future) and await self._swap(partition, future):
                    logger.info("Moved %s to %s", topic_partition, future.directory)
                    break
        except KafkaError as error:
            logger.error("Moving %s to %s failed: %s", topic_partition, future.data_directory, error)
            if partition.future_log is future:
                self.stop(partition)
        finally:
            self._log_manager.cleaner.resume_cleaning((topic_partition,))
            if self._moves.get(topic_partition) is future:
                del self._moves[topic_partition]

    # -- copying ------------------------------------------------------------------------------------------------------

    async def _copy(self, partition: Partition, future: Log) -> None:
        """Copy until both logs end alike."""
        while (log := partition.log) is not None and self._goes_on(partition, future):
            if not await self._align(partition, log, future):
                return
            try:
                data = log.read(future.log_end_offset, SLICE_BYTES)
                # The tail was written just now and is in memory. Away from the reactor, others would append meanwhile,
                # and the copy would never arrive.
                is_tail = data.start.segment_base_offset == log.segments.active.base_offset and (
                    data.records is None or data.records.size < SLICE_BYTES
                )
                records = data.read() if is_tail else await self._runtime.blocking(data.read)
            except OSError as error:
                raise log.disk.failed("copying", error) from error
            except OffsetOutOfRangeError:
                continue  # retention was faster: the next turn begins at the new start
            if not self._goes_on(partition, future):
                return
            if not records:
                await self._runtime.sleep_ms(BACKOFF_MS)
                continue
            await self._append(partition, future, records)
            self._follow_offsets(log, future)

    async def _align(self, partition: Partition, log: Log, future: Log) -> bool:
        """Cut off what the future log has and the current has not; returns whether there is anything left to copy."""
        topic_partition = partition.topic_partition
        if future.log_end_offset < log.log_start_offset:
            await self._log_manager.truncate_fully_and_start_at(topic_partition, log.log_start_offset, is_future=True)
        epoch = future.leader_epochs.latest_epoch
        if epoch is not None:
            _, end_offset = log.leader_epochs.end_offset_for(epoch, log.log_end_offset)
            end_offset = max(end_offset, log.log_start_offset)
        else:
            end_offset = log.log_end_offset
        if future.log_end_offset > min(end_offset, log.log_end_offset):
            await self._log_manager.truncate_to(topic_partition, min(end_offset, log.log_end_offset), is_future=True)
        return future.log_end_offset < log.log_end_offset

    async def _append(self, partition: Partition, future: Log, records: bytes) -> None:
        try:
            future.append_as_follower(records, partition.leader_epoch)
        except UnexpectedAppendOffsetError as error:
            # The log begins within a batch, which comes whole.
            if future.log_end_offset != future.log_start_offset or error.last_offset < future.log_end_offset:
                raise
            await self._log_manager.truncate_fully_and_start_at(
                partition.topic_partition, error.first_offset, is_future=True
            )
            future.append_as_follower(records, partition.leader_epoch)

    def _follow_offsets(self, log: Log, future: Log) -> None:
        future.update_high_watermark(log.high_watermark)
        if log.log_start_offset <= future.high_watermark and future.maybe_increment_log_start_offset(
            log.log_start_offset, "leader offset increment"
        ):
            self._purgatories.delete_records.check_and_complete(log.topic_partition)

    # -- swapping -----------------------------------------------------------------------------------------------------

    async def _swap(self, partition: Partition, future: Log) -> bool:
        """Put the future log in the current one's place, unless that has grown meanwhile."""

        def is_due() -> bool:
            log = partition.log
            if log is None or not self._goes_on(partition, future) or log.log_end_offset != future.log_end_offset:
                return False
            self._follow_offsets(log, future)
            return True

        def arrive(log: Log) -> None:
            # What follows is clearing up; the next move may begin meanwhile.
            partition.replace_log(log)
            self._moves.pop(partition.topic_partition, None)

        swapped = await self._log_manager.replace_current_with_future(partition.topic_partition, Swap(is_due, arrive))
        if swapped:
            self._purgatories.check_all(partition.topic_partition)
        return swapped

    async def _assign(self, partition: Partition, future: Log) -> None:
        if self._assignments is None:
            return
        directory_id = self._log_manager.directories[future.data_directory].directory_id
        if directory_id is None:
            raise KafkaStorageError(f"{future.data_directory} has no directory id")
        await self._assignments.assign(partition.topic_id, partition.topic_partition.partition, directory_id)
