"""Where a consumer stands in one partition.

INITIALIZING → FETCHING | AWAIT_VALIDATION | AWAIT_RESET     a committed offset was found, or there is none
FETCHING → FETCHING | AWAIT_VALIDATION | AWAIT_RESET         read on; the leader changed; out of range or sought
AWAIT_VALIDATION → FETCHING | AWAIT_VALIDATION | AWAIT_RESET the new leader has the position, or not
AWAIT_RESET → FETCHING | AWAIT_RESET                         an offset was looked up or given
"""

from enum import Enum
from typing import Final, NamedTuple

from ottla.clients.consumer.offset_and_metadata import NO_LEADER_EPOCH
from ottla.clients.consumer.offset_reset_policy import OffsetResetPolicy

UNKNOWN_OFFSET: Final = -1


class FetchState(Enum):
    """Whether there is a position, and whether it can be trusted."""

    INITIALIZING = "initializing"
    FETCHING = "fetching"
    AWAIT_RESET = "await reset"
    AWAIT_VALIDATION = "await validation"


LEGAL: Final = {
    FetchState.INITIALIZING: frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
    FetchState.FETCHING: frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
    FetchState.AWAIT_RESET: frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET}),
    FetchState.AWAIT_VALIDATION: frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
}


class FetchPosition(NamedTuple):
    """The offset to read next, the epoch of the record before it, and the leader's epoch when that was last known."""

    offset: int
    offset_epoch: int = NO_LEADER_EPOCH
    current_leader_epoch: int = NO_LEADER_EPOCH


class PartitionState:
    """One assigned partition. Only :class:`SubscriptionState` changes it."""

    __slots__ = (
        "end_offset",
        "fetch_state",
        "held",
        "high_watermark",
        "is_epoch_doubted",
        "is_pending_callback",
        "is_pending_revocation",
        "last_stable_offset",
        "log_start_offset",
        "paused",
        "position",
        "preferred_read_replica",
        "preferred_until_ms",
        "reset_policy",
        "retry_at_ms",
    )

    def __init__(self) -> None:
        self.fetch_state = FetchState.INITIALIZING
        self.position: FetchPosition | None = None
        self.held: FetchPosition | None = None
        """Where the records begin that are on their way to the user and may still come back; commits go no further."""
        self.paused = False
        self.reset_policy: OffsetResetPolicy | None = None
        self.retry_at_ms = 0
        """When the next lookup (reset or validation) may go out."""
        self.high_watermark = UNKNOWN_OFFSET
        self.last_stable_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.end_offset = UNKNOWN_OFFSET
        """The end that this isolation level may read to, as last asked for by ``lag`` before anything was fetched."""
        self.preferred_read_replica = -1
        self.preferred_until_ms = 0
        self.is_epoch_doubted = False
        """Whether a leader did not know the position's epoch, which is newer than its own: one of us is behind."""
        self.is_pending_revocation = False
        self.is_pending_callback = False

    def become(self, state: FetchState) -> None:
        """Take a legal step."""
        assert state in LEGAL[self.fetch_state], f"a partition cannot go from {self.fetch_state} to {state}"
        self.fetch_state = state

    @property
    def has_valid_position(self) -> bool:
        """Whether records may be fetched from, and handed out at, the position."""
        return self.fetch_state is FetchState.FETCHING

    @property
    def is_fetchable(self) -> bool:
        """Whether records of it may be fetched and handed out now."""
        return (
            self.fetch_state is FetchState.FETCHING
            and not self.paused
            and not self.is_pending_revocation
            and not self.is_pending_callback
        )
