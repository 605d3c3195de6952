"""What the log manager does again and again: retention, flushes by time, checkpoints, deletions, expiry, cleaning.

The timetable is data; :meth:`Housekeeping.run_due` does what is due now and tells when to come back, so that a
simulator can drive it as well as the reactor.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ottla.log.manager import LogManager
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

_DELETION_INTERVAL_MS = 1_000


@dataclass(slots=True)
class _Chore:
    name: str
    interval_ms: int
    due_ms: int
    action: Callable[[], Awaitable[None]]


class Housekeeping:
    """The chores of one log manager, from ``log.initial.task.delay.ms`` after its start on."""

    def __init__(self, runtime: Runtime, manager: LogManager) -> None:
        config = manager.config
        self._runtime = runtime
        self._manager = manager
        self._stopped = False
        first_ms = runtime.clock.monotonic_ms() + config.log_initial_task_delay_ms
        self._chores = [
            _Chore(name, interval_ms, first_ms, action)
            for name, interval_ms, action in (
                ("log-retention", config.log_retention_check_interval_ms, self._retention),
                ("log-flusher", config.log_flush_scheduler_interval_ms, manager.flush_dirty_logs),
                (
                    "recovery-point-checkpoint",
                    config.log_flush_offset_checkpoint_interval_ms,
                    manager.checkpoint_recovery_points,
                ),
                (
                    "log-start-offset-checkpoint",
                    config.log_flush_start_offset_checkpoint_interval_ms,
                    manager.checkpoint_log_start_offsets,
                ),
                ("producer-expiry", config.producer_id_expiration_check_interval_ms, self._producer_expiry),
                ("delete-files", _DELETION_INTERVAL_MS, self._deletions),
            )
        ]

    async def run_due(self) -> int:
        """Do every chore that is due; returns the milliseconds until the next one is."""
        for chore in self._chores:
            now_ms = self._runtime.clock.monotonic_ms()
            if chore.due_ms <= now_ms and not self._stopped:
                logger.debug("Running %s", chore.name)
                await chore.action()
                chore.due_ms = now_ms + chore.interval_ms
        return max(min(chore.due_ms for chore in self._chores) - self._runtime.clock.monotonic_ms(), 0)

    async def run(self) -> None:
        """Keep house, and have the cleaners at work beside it, until :meth:`stop`."""
        cleaners = []
        if self._manager.config.log_cleaner_enable:
            cleaners = [
                self._runtime.spawn(self._manager.cleaner.run(cleaner_id))
                for cleaner_id in range(self._manager.config.log_cleaner_threads)
            ]
        while not self._stopped:
            await self._runtime.sleep_ms(min(await self.run_due(), _DELETION_INTERVAL_MS))
        self._manager.cleaner.shutdown()
        for cleaner in cleaners:
            await cleaner

    def stop(self) -> None:
        """End :meth:`run` soon."""
        self._stopped = True

    async def _retention(self) -> None:
        self._manager.clean_up_logs()

    async def _producer_expiry(self) -> None:
        self._manager.expire_producers()

    async def _deletions(self) -> None:
        self._manager.context.deletions.run_due()
