"""Ends offsets and groups that nobody has needed for long."""

from typing import Final

from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.group_store import GroupStore
from ottla.group.offsets.removal import OffsetRemoval
from ottla.group.offsets.store import OffsetStore

TIMER_KEY: Final = "expire-group-metadata"
OFFSETS_PER_SLICE: Final = 2_000
"""About a millisecond's work."""
_PAUSE_MS: Final = 1


class GroupExpiration:
    """Looks through all groups every ``offsets.retention.check.interval.ms``, in slices with a pause between them."""

    __slots__ = ("_config", "_groups", "_left", "_offsets", "_removal", "_timers")

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        timers: Timers,
        groups: GroupStore,
        offsets: OffsetStore,
        removal: OffsetRemoval,
    ) -> None:
        self._config = config
        self._timers = timers
        self._groups = groups
        self._offsets = offsets
        self._removal = removal
        self._left: list[str] = []  # the groups that this round has still to look at

    def start(self) -> None:
        """Begin the first round after the interval."""
        interval_ms = self._config.offsets_retention_check_interval_ms
        self._timers.schedule(TIMER_KEY, interval_ms, self.cleanup_group_metadata)

    def stop(self) -> None:
        """No more rounds."""
        self._timers.cancel(TIMER_KEY)

    def cleanup_group_metadata(self, now_ms: int) -> CoordinatorResult[None]:
        """Begin a round; the timer goes on with it."""
        self._left = list(self._groups.groups)
        return self._slice(now_ms)

    def _slice(self, now_ms: int) -> CoordinatorResult[None]:
        records: list[CoordinatorRecord] = []
        budget = OFFSETS_PER_SLICE
        while self._left and budget > 0:
            group = self._groups.get(self._left.pop())
            if group is not None:
                budget -= 1 + self._offsets.num_offsets_of(group.group_id)
                if self._removal.cleanup_expired_offsets(group, records, now_ms) and group.is_empty:
                    records += group.tombstone_records()
        if self._left:
            self._timers.schedule(TIMER_KEY, _PAUSE_MS, self._slice)
        else:
            self.start()
        return CoordinatorResult(records, None, is_atomic=False)
