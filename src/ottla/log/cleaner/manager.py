"""The books of the log cleaner: which logs are being cleaned, paused or uncleanable, and up to where each is clean.

Whoever truncates, moves or deletes a log pauses its cleaning first (``abort_and_pause_cleaning``, later
``resume_cleaning``); whoever deletes old segments asks for the logs it may touch meanwhile (``deletable_logs`` and
``done_deleting``, or ``pause_cleaning_for_non_compacted_partitions`` and ``resume_cleaning``).
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.errors import KafkaError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.log.cleaner.checkpoint import CleanerCheckpoint
from ottla.log.cleaner.plan import LogToClean, cleanable_offsets, filthiest, log_to_clean, max_compaction_delay_ms
from ottla.log.cleaner.states import CleaningStates
from ottla.log.log import Log
from ottla.runtime.port import Runtime
from ottla.runtime.shortage import is_shortage

_logger = logging.getLogger(__name__)

ABORT_CHECK_MS: Final = 100


class LogCleanerManager:
    """See the module. ``logs`` is the live map of the log manager's current logs."""

    def __init__(self, runtime: Runtime, logs: Mapping[TopicPartition, Log], data_directories: Iterable[str]) -> None:
        self._runtime = runtime
        self._logs = logs
        self._states = CleaningStates()
        self._checkpoints = {directory: CleanerCheckpoint(runtime, directory) for directory in data_directories}
        self._uncleanable: dict[str, set[TopicPartition]] = {}
        self.dirtiest_log_cleanable_ratio = 0.0
        self.max_compaction_delay_ms = 0
        self.last_run_ms = runtime.clock.monotonic_ms()
        """When somebody last asked what to clean, by the monotonic clock."""

    # -- choosing -----------------------------------------------------------------------------------------------------

    async def grab_filthiest_compacted_log(self) -> tuple[Log, LogToClean] | None:
        """The log to clean next, marked as in progress."""
        now_ms, self.last_run_ms = self._runtime.clock.now_ms(), self._runtime.clock.monotonic_ms()
        candidates: list[tuple[Log, LogToClean]] = []
        corrected: dict[str, dict[TopicPartition, int]] = {}
        self.max_compaction_delay_ms = 0
        for topic_partition, log in list(self._logs.items()):
            checkpoint = self._checkpoints.get(log.data_directory)
            if checkpoint is None or not self._is_cleanable(log):
                continue
            try:
                offsets = cleanable_offsets(log, checkpoint.offsets.get(topic_partition), now_ms)
                delay_ms = max_compaction_delay_ms(log, offsets.first_dirty_offset, now_ms)
            except (KafkaError, OSError) as error:
                if not isinstance(error, ResourceShortageError) and not is_shortage(error):
                    self.mark_partition_uncleanable(log, error)
                continue
            if offsets.force_update_checkpoint:
                corrected.setdefault(log.data_directory, {})[topic_partition] = offsets.first_dirty_offset
            self.max_compaction_delay_ms = max(self.max_compaction_delay_ms, delay_ms)
            candidates.append((log, log_to_clean(log, offsets, delay_ms > 0)))
        ratios = [to_clean.cleanable_ratio for _, to_clean in candidates if to_clean.total_bytes]
        self.dirtiest_log_cleanable_ratio = max(ratios, default=0.0)
        found = filthiest(candidates)
        if found is not None:
            self._states.start(found[0].topic_partition)
        for directory, offsets_of in corrected.items():
            self._checkpoints[directory].offsets |= offsets_of
            await self._save(directory)
        return found

    def _is_cleanable(self, log: Log) -> bool:
        return (
            log.config.compact
            and log.topic_partition not in self._states
            and log.topic_partition not in self._uncleanable.get(log.data_directory, ())
        )

    # -- pausing ------------------------------------------------------------------------------------------------------

    async def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a log, if it is under way; returns when it has ended."""
        await self.abort_and_pause_cleaning(topic_partition)
        self.resume_cleaning((topic_partition,))

    async def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """End the cleaning of a log and keep it from being cleaned until it is resumed; returns when it has ended."""
        self._states.abort_and_pause(topic_partition)
        while not self._states.is_paused(topic_partition):
            await self._runtime.sleep_ms(ABORT_CHECK_MS)

    def resume_cleaning(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Undo one pause of each."""
        for topic_partition in topic_partitions:
            self._states.resume(topic_partition)

    def pause_cleaning_for_non_compacted_partitions(self) -> list[Log]:
        """The logs that retention may work on; ``resume_cleaning`` them. A topic may become compacted meanwhile."""
        logs = [
            log for log in self._logs.values() if not log.config.compact and log.topic_partition not in self._states
        ]
        for log in logs:
            self._states.abort_and_pause(log.topic_partition)
        return logs

    def deletable_logs(self) -> list[Log]:
        """The compacted logs that may lose old segments now; ``done_deleting`` gives them back."""
        logs = [log for log in self._logs.values() if self._is_cleanable(log)]
        for log in logs:
            self._states.start(log.topic_partition)
        return logs

    def done_deleting(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Give back what ``deletable_logs`` gave."""
        for topic_partition in topic_partitions:
            self._states.done(topic_partition)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def cleaner_checkpoints(self) -> dict[TopicPartition, int]:
        """Up to where each log is clean."""
        return {
            topic_partition: offset
            for checkpoint in self._checkpoints.values()
            for topic_partition, offset in checkpoint.offsets.items()
        }

    async def update_checkpoint(self, data_directory: str, topic_partition: TopicPartition, offset: int | None) -> None:
        """Note up to where a log is clean, or with None that there is no such log any more."""
        checkpoint = self._checkpoints.get(data_directory)
        if checkpoint is None:
            return
        if offset is None:
            checkpoint.offsets.pop(topic_partition, None)
        else:
            checkpoint.offsets[topic_partition] = offset
        await self._save(data_directory)

    async def maybe_truncate_checkpoint(
        self, data_directory: str, topic_partition: TopicPartition, offset: int
    ) -> None:
        """Let what was truncated and is appended anew be cleaned anew."""
        checkpoint = self._checkpoints.get(data_directory)
        if checkpoint is not None and checkpoint.offsets.get(topic_partition, 0) > offset:
            await self.update_checkpoint(data_directory, topic_partition, offset)

    async def alter_checkpoint_dir(self, topic_partition: TopicPartition, source: str, target: str) -> None:
        """Follow a log that moved from one data directory to another."""
        checkpoint = self._checkpoints.get(source)
        offset = checkpoint.offsets.get(topic_partition) if checkpoint is not None else None
        if offset is not None:
            await self.update_checkpoint(source, topic_partition, None)
            await self.update_checkpoint(target, topic_partition, offset)
        if topic_partition in self._uncleanable.get(source, ()):
            self._uncleanable[source].remove(topic_partition)
            self._uncleanable.setdefault(target, set()).add(topic_partition)

    def handle_log_dir_failure(self, data_directory: str) -> None:
        """Clean nothing in a directory that is offline."""
        _logger.warning("Stopping cleaning logs in dir %s", data_directory)
        self._checkpoints.pop(data_directory, None)

    async def _save(self, data_directory: str) -> None:
        try:
            await self._checkpoints[data_directory].save(self._logs)
        except OSError as error:
            # Cleaning again what was clean does no harm; whether the disk is offline is for its logs to find out.
            _logger.error("Failed to write the cleaner checkpoint in dir %s", data_directory, exc_info=error)

    # -- uncleanable partitions ---------------------------------------------------------------------------------------

    def uncleanable_partitions(self, data_directory: str) -> frozenset[TopicPartition]:
        """The partitions whose cleaning failed; they stay as they are until the broker restarts."""
        return frozenset(self._uncleanable.get(data_directory, ()))

    def mark_partition_uncleanable(self, log: Log, error: BaseException) -> None:
        """Leave a log alone from now on, and say so."""
        _logger.warning(
            "Unexpected exception thrown when cleaning log %s. Marking its partition (%s) as uncleanable",
            log.directory,
            log.topic_partition,
            exc_info=error,
        )
        self._uncleanable.setdefault(log.data_directory, set()).add(log.topic_partition)

    def maintain_uncleanable_partitions(self) -> None:
        """Forget deleted partitions: one of the same name may be fine."""
        for partitions in self._uncleanable.values():
            partitions.intersection_update(self._logs)
