"""Bringing a log to the disk, away from the reactor.

On the reactor: decide which segments, write their indexes out. In a thread: fsync. On the reactor again: close the
indexes, and move the recovery point, unless the log was truncated or closed meanwhile.
"""

from collections.abc import Awaitable
from time import perf_counter_ns

from ottla.log.disk_guard import DiskGuard
from ottla.log.local_log import LocalLog
from ottla.log.producer_state import ProducerStateManager
from ottla.log.segment import LogSegment
from ottla.log.shared_flush import SharedFlush
from ottla.runtime.shortage import SHORTAGE_TRIES, SHORTAGE_WAIT_MS, is_shortage


class LogFlusher:
    """Flushes of one log."""

    def __init__(self, local: LocalLog, producer_state: ProducerStateManager, disk: DiskGuard) -> None:
        self._local = local
        self._producer_state = producer_state
        self._disk = disk
        self._runtime = local.context.runtime
        self._flush_time_us = local.context.metrics.flush_time_us
        self._shared = SharedFlush(self._runtime, self._flush_to)
        self._unsynced_snapshots: list[int] = []
        self._unsynced_sealed: list[LogSegment] = []
        self._truncations = 0

    def flush(self) -> Awaitable[None]:
        """Flush everything appended so far; waiters share one fsync."""
        return self._shared.request(self._local.log_end_offset)

    def flush_sealed(self, end_offset: int, *, has_snapshot: bool) -> Awaitable[None]:
        """Flush the segments below ``end_offset``, where a new one begins, and the producer snapshot taken there."""
        if has_snapshot:
            self._unsynced_snapshots.append(end_offset)
        sealed = self._local.segments.floor(end_offset - 1)
        if sealed is not None:
            # Sealing has trimmed its files and written its last time index entry, even if all records are on the disk.
            self._unsynced_sealed.append(sealed)
        return self._shared.request(end_offset)

    def forget_running_flush(self) -> None:
        """The log is being truncated: a flush under way must not speak for what follows."""
        self._truncations += 1

    async def _flush_to(self, end_offset: int) -> None:
        """Flush, and wait a while for open files where there are none to be had."""
        tries_left = SHORTAGE_TRIES
        while True:
            try:
                await self._try_flush(end_offset)
            except OSError as error:
                tries_left -= 1
                if not is_shortage(error) or not tries_left:
                    raise self._disk.failed("flushing", error) from error
                await self._runtime.sleep_ms(SHORTAGE_WAIT_MS)
            else:
                return

    async def _try_flush(self, end_offset: int) -> None:
        self._disk.check()
        local, files, producer_state = self._local, self._runtime.files, self._producer_state
        recovery_point, truncations, directory = local.recovery_point, self._truncations, local.directory
        if end_offset <= recovery_point and not self._unsynced_snapshots and not self._unsynced_sealed:
            return
        snapshots, self._unsynced_snapshots = self._unsynced_snapshots, []
        segments = local.segments.between(recovery_point, end_offset) if end_offset > recovery_point else []
        segments = [one for one in self._unsynced_sealed if one not in segments] + segments
        self._unsynced_sealed.clear()
        sealed = [segment for segment in segments if segment is not local.segments.active]

        def sync() -> None:
            # The recovery point promises all of it: records, indexes, producers, and that the files have their names.
            for offset in snapshots:
                producer_state.flush_snapshot(offset)
            for segment in segments:
                segment.sync()
            files.sync_dir(directory)

        try:
            started_ns = perf_counter_ns()
            for segment in segments:
                segment.begin_sync()
            await self._runtime.blocking(sync)
            self._flush_time_us.record((perf_counter_ns() - started_ns) // 1000)
        except OSError:
            self._disk.check()  # closed by a failure elsewhere in the directory: nobody may take it for flushed
            if local.is_closed:
                return  # its files went away under the flush, on purpose
            self._unsynced_snapshots = snapshots + self._unsynced_snapshots
            self._unsynced_sealed += [one for one in sealed if local.segments.floor(one.base_offset) is one]
            if local.directory == directory and all(local.segments.floor(one.base_offset) is one for one in segments):
                raise
            # A renamed directory or a deleted segment: look again at what the log is now.
            await self._try_flush(min(end_offset, local.log_end_offset))
            return
        finally:
            for segment in segments:
                segment.end_sync()
        if self._truncations == truncations and end_offset > local.recovery_point:
            local.recovery_point = end_offset
            local.last_flush_ms = self._runtime.clock.monotonic_ms()
