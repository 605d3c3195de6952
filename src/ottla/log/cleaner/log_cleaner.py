"""The log cleaner: has worker processes clean the filthiest compacted logs, and swaps the results in.

Up to ``log.cleaner.threads`` runs go on at the same time, each by a caller of :meth:`LogCleaner.run`. A run ends early
when its log is wanted for something else; the groups of segments that were swapped in by then stay.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Final

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError, KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.log import names
from ottla.log.cleaner.filter import LastRecord
from ottla.log.cleaner.manager import ABORT_CHECK_MS, LogCleanerManager
from ottla.log.cleaner.offset_map import SECRET_BYTES
from ottla.log.cleaner.plan import LogToClean
from ottla.log.cleaner.stats import CleanerStats
from ottla.log.cleaner.task import CleanedGroup, CleanerProgress, CleaningDone, CleanTask
from ottla.log.cleaner.throttle import Throttler
from ottla.log.cleaner.worker import clean_segments, remove_cleaned_files
from ottla.log.log import Log
from ottla.log.segment import LogSegment
from ottla.runtime.port import Runtime
from ottla.runtime.shortage import is_shortage

_logger = logging.getLogger(__name__)

REPORT_BYTES_MAX: Final = 8 << 20
"""How much a worker reads and writes at most before it can be paused or ended."""
REPORTS_PER_SECOND: Final = 10
COMPILED_BYTES_MIN: Final = 16 << 20
"""Loading numba takes as long as cleaning about this much without it."""
OFFSET_MAP_BYTES_MAX: Final = (1 << 31) - 1


class LogCleaningAbortedError(Exception):
    """Somebody wants the log for himself; what was swapped in stays."""


class LogCleaner(LogCleanerManager):
    """See the module."""

    def __init__(
        self,
        runtime: Runtime,
        config: BrokerLogConfig,
        logs: Mapping[TopicPartition, Log],
        data_directories: Iterable[str],
        before_swaps: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """``before_swaps`` is awaited with the data directory before a run replaces segments in it: the recovery point
        there must cover them, because compaction leaves gaps, which recovery takes for a loss.
        """
        super().__init__(runtime, logs, data_directories)
        self._before_swaps = before_swaps
        self._config = config
        self._throttler = Throttler(config.log_cleaner_io_max_bytes_per_second, runtime.clock.monotonic_ms())
        self._shutdown = False
        self.last_stats: dict[int, CleanerStats] = {}

    async def run(self, cleaner_id: int = 0) -> None:
        """Clean what is filthy, and pause for ``log.cleaner.backoff.ms`` when nothing is; returns after shutdown."""
        while not self._shutdown:
            if await self.clean_filthiest(cleaner_id) is None:
                await self._pause(self._config.log_cleaner_backoff_ms, None)

    def shutdown(self) -> None:
        """End all runs soon; they leave the logs as they are."""
        self._shutdown = True

    def reconfigure(self, config: BrokerLogConfig) -> None:
        """Take over changed settings, for the runs that begin from now on; the I/O rate changes at once."""
        self._config = config
        self._throttler.bytes_per_second = config.log_cleaner_io_max_bytes_per_second

    async def clean_filthiest(self, cleaner_id: int = 0) -> CleanerStats | None:
        """Clean the filthiest log; None if none is filthy enough or the run did not come to its end."""
        self.maintain_uncleanable_partitions()
        found = await self.grab_filthiest_compacted_log()
        if found is None:
            return None
        log, to_clean = found
        topic_partition, end_offset = log.topic_partition, to_clean.first_dirty_offset
        try:
            end_offset, stats = await self._clean(log, to_clean)
        except LogCleaningAbortedError:
            _logger.info("Cleaning of log %s was aborted", topic_partition)
            return None
        except KafkaStorageError:
            return None  # everybody knows: its directory is offline, or open files are short
        except (KafkaError, AssertionError, ChildProcessError) as error:
            self.mark_partition_uncleanable(log, error)
            return None
        except OSError as error:
            if is_shortage(error):
                log.context.shortages.report(f"Error while cleaning {topic_partition}: {in_words(error)}")
                return None
            _logger.error(
                "Failed to clean up log for %s in dir %s", topic_partition, log.data_directory, exc_info=error
            )
            log.context.on_disk_failure(log.data_directory, error)
            return None
        finally:
            if self._states.done(topic_partition):
                await self.update_checkpoint(log.data_directory, topic_partition, end_offset)
        self.last_stats[cleaner_id] = stats
        _logger.info(stats.describe(cleaner_id, str(topic_partition), to_clean.first_dirty_offset, end_offset))
        if stats.invalid_messages_read:
            _logger.warning("\tFound %d invalid messages during compaction.", stats.invalid_messages_read)
        return stats

    async def _clean(self, log: Log, to_clean: LogToClean) -> tuple[int, CleanerStats]:
        task = self.task(log, to_clean)
        if self._before_swaps is not None:
            await self._before_swaps(log.data_directory)
        segments = {segment.base_offset: segment for segment in log.segments.values()}
        try:
            async with aclosing(self._runtime.work(clean_segments, task)) as reports:
                async for report in reports:
                    self._check_done(log)
                    if isinstance(report, CleaningDone):
                        return report.end_offset, report.stats
                    if isinstance(report, CleanedGroup):
                        self._swap(log, [segments[base_offset] for base_offset in report.base_offsets])
                    elif isinstance(report, CleanerProgress):
                        pause_ms = self._throttler.observe(report.io_bytes, self._runtime.clock.monotonic_ms())
                        await self._pause(pause_ms, log)
        except BaseException:
            for base_offset in task.base_offsets:
                remove_cleaned_files(self._runtime.files, task.directory, base_offset)
            raise
        raise AssertionError(f"the worker ended without a word about {log.topic_partition}")

    def task(self, log: Log, to_clean: LogToClean) -> CleanTask:
        """What a worker is told to clean this log now."""
        config = self._config
        threads = max(config.log_cleaner_threads, 1)
        io_buffer_bytes = config.log_cleaner_io_buffer_size // threads // 2
        report_bytes = config.log_cleaner_io_max_bytes_per_second / REPORTS_PER_SECOND
        last_records = {
            producer_id: LastRecord(
                entry.last_data_offset if entry.last_data_offset >= 0 else None, entry.producer_epoch
            )
            for producer_id, entry in log.producer_state.active_producers.items()
            if entry.last_data_offset < to_clean.first_uncleanable_offset
        }
        return CleanTask(
            files=self._runtime.files,
            clock=self._runtime.clock,
            topic_partition=log.topic_partition,
            directory=log.directory,
            config=log.config,
            base_offsets=tuple(log.segments.base_offsets),
            first_dirty_offset=to_clean.first_dirty_offset,
            first_uncleanable_offset=to_clean.first_uncleanable_offset,
            now_ms=self._runtime.clock.now_ms(),
            last_records=last_records,
            secret=self._runtime.rng.randbytes(SECRET_BYTES),
            offset_map_bytes=min(config.log_cleaner_dedupe_buffer_size // threads, OFFSET_MAP_BYTES_MAX),
            load_factor=config.log_cleaner_io_buffer_load_factor,
            io_buffer_bytes=io_buffer_bytes,
            report_bytes=int(min(max(report_bytes, io_buffer_bytes), REPORT_BYTES_MAX)),
            compiled=None if to_clean.total_bytes >= COMPILED_BYTES_MIN else False,
        )

    def _swap(self, log: Log, old_segments: list[LogSegment]) -> None:
        segments = log.segments
        assert all(segments[old.base_offset] is old for old in old_segments), (
            f"segments of {log.topic_partition} changed"
        )
        cleaned = LogSegment(
            self._runtime.files,
            self._runtime.clock,
            log.directory,
            old_segments[0].base_offset,
            log.config,
            suffix=names.CLEANED_SUFFIX,
            index_cache=log.context.index_cache,
        )
        _logger.info("Swapping in cleaned segment %s for segment(s) %s in log %s", cleaned, old_segments, log)
        log.replace_segments([cleaned], old_segments)

    def _check_done(self, log: Log) -> None:
        is_current = self._logs.get(log.topic_partition) is log
        if self._shutdown or not is_current or self._states.is_aborted(log.topic_partition):
            raise LogCleaningAbortedError

    async def _pause(self, duration_ms: int, log: Log | None) -> None:
        """Wait, but not on when the run should end."""
        while duration_ms > 0 and not self._shutdown:
            if log is not None:
                self._check_done(log)
            await self._runtime.sleep_ms(min(duration_ms, ABORT_CHECK_MS))
            duration_ms -= ABORT_CHECK_MS
