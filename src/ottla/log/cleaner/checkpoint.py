"""``cleaner-offset-checkpoint``: up to where each log of a data directory is clean."""

import logging
from collections.abc import Callable, Container

from ottla.common.error_words import in_words
from ottla.common.topic_partition import TopicPartition
from ottla.log.checkpoints import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint
from ottla.runtime.port import Runtime

_logger = logging.getLogger(__name__)


class CleanerCheckpoint:
    """The offsets of one data directory, in memory and, after ``save``, on the disk.

    An offset that is lost in a crash costs a cleaning that was done already, nothing else.
    """

    def __init__(self, runtime: Runtime, data_directory: str) -> None:
        self._runtime = runtime
        self._file = OffsetCheckpoint(runtime.files, f"{data_directory}/{CLEANER_OFFSET_CHECKPOINT}")
        self.offsets: dict[TopicPartition, int] = self._read()
        self._saved = True
        self._saving = False

    def _read(self) -> dict[TopicPartition, int]:
        try:
            return self._file.read_or_empty()
        except OSError as error:
            # Whether the disk is offline is for its logs to find out.
            _logger.error("Failed to read %s: %s", self._file.path, in_words(error))
            return {}

    async def save(self, existing: Container[TopicPartition]) -> None:
        """Write the offsets of partitions that still exist, away from the reactor; calls meanwhile share a write."""
        self._saved = False
        if self._saving:
            return  # whoever is writing looks again
        self._saving = True
        try:
            while not self._saved:
                self._saved = True
                self.offsets = {
                    partition: offset for partition, offset in self.offsets.items() if partition in existing
                }
                await self._runtime.blocking(self._writer())
        finally:
            self._saving = False

    def _writer(self) -> Callable[[], None]:
        offsets = dict(self.offsets)
        return lambda: self._file.write(offsets)
