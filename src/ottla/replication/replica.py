"""What a leader knows of a follower, by the fetches that it sends. Times are of the monotonic clock."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError

UNKNOWN_OFFSET = -1
NEVER_MS: Final = -(1 << 62)
"""Longer ago than any lag. Not 0: a machine that has just been switched on is still there on the monotonic clock."""


class Replica:
    """A follower as its leader sees it; offsets are -1 until its first fetch."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_time_ms",
        "last_fetch_leader_log_end_offset",
        "last_fetch_time_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_log_end_offset = 0
        self.last_fetch_time_ms = NEVER_MS
        self.last_caught_up_time_ms = NEVER_MS
        self.broker_epoch: int | None = None

    def update_fetch_state(
        self,
        fetch_offset: int,
        log_start_offset: int,
        fetch_time_ms: int,
        leader_end_offset: int,
        *,
        broker_epoch: int,
        registered_epoch: int | None,
    ) -> None:
        """Take over what a fetch tells; one from before the broker's last registration is NOT_LEADER_OR_FOLLOWER.

        A follower is caught up at the time of this fetch when it asks for the end of the log, and was so at its last
        fetch when it asks for what was the end then.
        """
        if broker_epoch != -1 and registered_epoch is not None and registered_epoch > broker_epoch:
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"Received stale fetch state update. broker epoch={broker_epoch} vs expected={registered_epoch}",
            )
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_time_ms = max(self.last_caught_up_time_ms, fetch_time_ms)
        elif fetch_offset >= self.last_fetch_leader_log_end_offset:
            self.last_caught_up_time_ms = max(self.last_caught_up_time_ms, self.last_fetch_time_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_log_end_offset = max(leader_end_offset, self.last_fetch_leader_log_end_offset)
        self.last_fetch_time_ms = fetch_time_ms
        self.broker_epoch = broker_epoch

    def reset(self, now_ms: int, leader_end_offset: int, *, is_new_leader: bool, is_in_sync: bool) -> None:
        """Begin a leader epoch: a follower in the ISR counts as caught up now, another one as never.

        A leader that stays one keeps the offsets that it knows.
        """
        since_ms = now_ms if is_in_sync else NEVER_MS
        self.last_caught_up_time_ms = since_ms
        if is_new_leader:
            self.log_start_offset = UNKNOWN_OFFSET
            self.log_end_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_log_end_offset = UNKNOWN_OFFSET
            self.last_fetch_time_ms = NEVER_MS
            self.broker_epoch = None
        else:
            self.last_fetch_leader_log_end_offset = leader_end_offset
            self.last_fetch_time_ms = since_ms

    def is_caught_up(self, leader_end_offset: int, now_ms: int, replica_lag_time_max_ms: int) -> bool:
        """Whether it has everything, or had so within ``replica.lag.time.max.ms``."""
        return (
            leader_end_offset == self.log_end_offset or now_ms - self.last_caught_up_time_ms <= replica_lag_time_max_ms
        )
