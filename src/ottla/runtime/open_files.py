"""Descriptors, of which a process has only so many: how many are in use, and for what there are enough.

The last ``reserve`` of them are for files: segments that roll, checkpoints, index files during a flush, worker
processes. Connections wait in the kernel's backlog below the reserve; those of other brokers and of controllers, below
half of it. A new partition is refused while twice the reserve is left, so that there is always room to connect.
"""

import os
import resource
import sys
from collections.abc import Callable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, ResourceShortageError
from ottla.runtime.port import Clock

RESERVE_MIN: Final = 16
RESERVE_MAX: Final = 256
SAMPLE_MS: Final = 1_000
PROMISE_MS: Final = 60_000
RAISE_THE_LIMIT: Final = "Raise the limit (ulimit -n, or LimitNOFILE= of a systemd unit)"

_PROC: Final = "/proc/self/fd"
_DEV: Final = "/dev/fd"


def open_files_limit() -> int:
    """How many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def open_files_in_use() -> int:
    """How many descriptors this process has; 0 where nothing tells."""
    try:
        # Linux 6.2 and newer tell the number at once; counting tens of thousands of them takes milliseconds.
        known = os.stat(_PROC).st_size
    except OSError:
        known = 0
    try:
        return known or len(os.listdir(_DEV))
    except FileNotFoundError:
        return 0
    except OSError:  # none is left to look with
        return open_files_limit()


class OpenFiles:
    """The budget of this process. It looks at the system now and then, and counts in between."""

    def __init__(
        self,
        clock: Clock,
        limit: Callable[[], int] = open_files_limit,
        in_use: Callable[[], int] = open_files_in_use,
    ) -> None:
        self._clock = clock
        self._read_limit = limit
        self._read_in_use = in_use
        self._next_look_ms = -1
        self._looks_after = 0
        self._promised = 0
        self._promised_until_ms = 0
        self.limit = 0
        self.in_use = 0

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def reserve(self) -> int:
        """How many are kept for files."""
        return min(max(self.limit // 10, RESERVE_MIN), RESERVE_MAX)

    def _look(self) -> None:
        """See how many are in use, unless what was seen last is recent, and far from the reserve."""
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._next_look_ms or self.in_use >= self._looks_after:
            self.limit, self.in_use = self._read_limit(), self._read_in_use()
            self._next_look_ms = now_ms + SAMPLE_MS
            self._looks_after = self.in_use + (self.limit - self.in_use - self.reserve) // 2

    def describe(self) -> str:
        """The figures, for people."""
        return f"{self.in_use} of {self.limit} open files are in use"

    # -- connections --------------------------------------------------------------------------------------------------

    def may_connect(self, *, is_internal: bool = False) -> bool:
        """Whether another connection may be accepted; ``is_internal`` if it is a broker's or a controller's."""
        self._look()
        kept = self.reserve // 2 if is_internal else self.reserve
        return self.limit - self.in_use > kept

    def connected(self) -> None:
        """A connection was accepted."""
        self.in_use += 1

    # -- partitions ---------------------------------------------------------------------------------------------------

    def require_room(self, partitions: int) -> None:
        """POLICY_VIOLATION when so many new partitions would come too near to the reserve."""
        self._look()
        if self._clock.monotonic_ms() >= self._promised_until_ms:
            self._promised = 0
        kept = 2 * self.reserve
        if self.limit - self.in_use - self._promised - partitions < kept:
            promised = f", {self._promised} are promised to others" if self._promised else ""
            raise ApiError(
                ErrorCode.POLICY_VIOLATION,
                f"{partitions} more partitions need as many open files: {self.describe()}{promised}, and {kept} are "
                f"kept for connections and for segments to come. {RAISE_THE_LIMIT}, or delete topics.",
            )

    def promise(self, partitions: int) -> None:
        """So many partitions are about to be opened; what has not begun within a minute is forgotten."""
        self._promised += partitions
        self._promised_until_ms = self._clock.monotonic_ms() + PROMISE_MS

    def opened_partition(self) -> None:
        """One of them is."""
        self.in_use += 1
        if self._promised:
            self._promised -= 1
            self._promised_until_ms = self._clock.monotonic_ms() + PROMISE_MS

    # -- start --------------------------------------------------------------------------------------------------------

    def require_for_start(self, segments: int) -> None:
        """ResourceShortageError when so many segments cannot be opened, and a few other files beside them."""
        self.limit, self.in_use = self._read_limit(), self._read_in_use()
        if self.in_use + segments + RESERVE_MIN > self.limit:
            raise self.too_few_for(segments)

    def too_few_for(self, segments: int) -> ResourceShortageError:
        """The error of a start that cannot open what it has to."""
        needed = self.in_use + segments + 2 * self.reserve
        return ResourceShortageError(
            f"This node needs about {needed} open files, {segments} of them for segments, but the limit is "
            f"{self.limit}. {RAISE_THE_LIMIT}."
        )
