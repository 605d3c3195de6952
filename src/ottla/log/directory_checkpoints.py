"""The checkpoint files of one data directory that the log manager keeps: three offsets for each of its logs.

Writes happen away from the reactor, one after the other: each says what holds when its turn comes, so that an older
truth never replaces a newer one.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.log.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
)
from ottla.log.log import Log
from ottla.runtime.port import Runtime
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)


class Checkpointed(NamedTuple):
    """What the files say; a damaged one says nothing."""

    recovery_points: Mapping[TopicPartition, int] | None
    """None if nobody knows what was flushed, which is not the same as nothing."""
    log_start_offsets: Mapping[TopicPartition, int]
    high_watermarks: Mapping[TopicPartition, int]


class _Bounds(NamedTuple):
    """The most that the files may say of a log while it is being truncated."""

    recovery_point: int
    log_start_offset: int


class DirectoryCheckpoints:
    """See the module. ``logs`` gives the directory's logs, ``on_failure`` hears of a disk that cannot be written.

    ``on_shortage`` hears of a write that was refused because open files or memory were short: the next one may work.
    """

    def __init__(
        self,
        runtime: Runtime,
        path: str,
        logs: Callable[[], Iterable[Log]],
        on_failure: Callable[[str, OSError], None],
        on_shortage: Callable[[str], None] = logger.warning,
    ) -> None:
        files = runtime.files
        self._runtime = runtime
        self._path = path
        self._logs = logs
        self._on_failure = on_failure
        self._on_shortage = on_shortage
        self._recovery_points = OffsetCheckpoint(files, f"{path}/{RECOVERY_POINT_CHECKPOINT}")
        self._log_start_offsets = OffsetCheckpoint(files, f"{path}/{LOG_START_OFFSET_CHECKPOINT}")
        self._high_watermarks = OffsetCheckpoint(files, f"{path}/{REPLICATION_OFFSET_CHECKPOINT}")
        self._truncating: dict[TopicPartition, _Bounds] = {}
        self._last_turn: Awaitable[None] | None = None

    def read(self) -> Checkpointed:
        """All three files, at a start."""
        return Checkpointed(
            self._recovery_points.read_or_none(),
            self._log_start_offsets.read_or_empty(),
            self._high_watermarks.read_or_empty(),
        )

    def write_recovery_points(self) -> Awaitable[None]:
        """Write ``recovery-point-offset-checkpoint`` and ``replication-offset-checkpoint``; KafkaStorageError if that
        fails, after ``on_failure``.
        """
        return self._take_turn(self._write_recovery_points)

    def write_high_watermarks(self) -> Awaitable[None]:
        """Write ``replication-offset-checkpoint`` alone, which replication wants more often. Errors as above."""
        return self._take_turn(self._write_high_watermarks)

    def write_log_start_offsets(self) -> Awaitable[None]:
        """Write ``log-start-offset-checkpoint``: only starts that the first segment does not tell. Errors as above."""
        return self._take_turn(self._write_log_start_offsets)

    @asynccontextmanager
    async def truncating(self, log: Log, *, recovery_point: int, log_start_offset: int) -> AsyncIterator[None]:
        """Around a truncation: before it begins, and until it is over, the files promise no more than it will leave.

        Otherwise a crash would find a recovery point that speaks of bytes which have been replaced since, or a start
        beyond the end, and throw the log away.
        """
        topic_partition = log.topic_partition
        self._truncating[topic_partition] = _Bounds(recovery_point, log_start_offset)
        try:
            if log.recovery_point > recovery_point:
                await self.write_recovery_points()
            if log.log_start_offset > log_start_offset:
                await self.write_log_start_offsets()
            yield
        finally:
            del self._truncating[topic_partition]

    async def _write_recovery_points(self) -> None:
        logs = list(self._logs())
        points = {log.topic_partition: log.recovery_point for log in logs}
        for topic_partition, bounds in self._truncating.items():
            points[topic_partition] = min(points.get(topic_partition, 0), bounds.recovery_point)
        await self._write(self._recovery_points, points)
        await self._write_high_watermarks()

    async def _write_high_watermarks(self) -> None:
        await self._write(self._high_watermarks, {log.topic_partition: log.high_watermark for log in self._logs()})

    async def _write_log_start_offsets(self) -> None:
        starts = {}
        for log in self._logs():
            bounds = self._truncating.get(log.topic_partition)
            start = log.log_start_offset if bounds is None else min(log.log_start_offset, bounds.log_start_offset)
            if start > log.segments.first.base_offset:
                starts[log.topic_partition] = start
        await self._write(self._log_start_offsets, starts)

    async def _write(self, checkpoint: OffsetCheckpoint, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            await self._runtime.blocking(lambda: checkpoint.write(offsets))
        except OSError as error:
            message = f"Disk error while writing {checkpoint.path}: {in_words(error)}"
            if is_shortage(error):
                self._on_shortage(message)
                raise ResourceShortageError(message) from error
            logger.error(message)
            self._on_failure(self._path, error)
            raise KafkaStorageError(message) from error

    def _take_turn(self, job: Callable[[], Coroutine[Any, Any, None]]) -> Awaitable[None]:
        self._last_turn = self._runtime.spawn(self._after(self._last_turn, job))
        return self._last_turn

    async def _after(self, before: Awaitable[None] | None, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if before is not None:
            with suppress(KafkaStorageError):  # whoever asked for it hears of it
                await before
        await job()
