"""Why a connection is not read from: a state machine, as in Apache's KafkaChannel.

========================================  =================  ========================================
state                                     event              next
========================================  =================  ========================================
MUTED                                     REQUEST_RECEIVED   MUTED_AND_RESPONSE_PENDING
MUTED_AND_RESPONSE_PENDING                RESPONSE_SENT      MUTED
MUTED_AND_RESPONSE_PENDING                THROTTLE_STARTED   MUTED_AND_THROTTLED_AND_RESPONSE_PENDING
MUTED_AND_THROTTLED_AND_RESPONSE_PENDING  RESPONSE_SENT      MUTED_AND_THROTTLED
MUTED_AND_THROTTLED_AND_RESPONSE_PENDING  THROTTLE_ENDED     MUTED_AND_RESPONSE_PENDING
MUTED_AND_THROTTLED                       THROTTLE_ENDED     MUTED
========================================  =================  ========================================

Besides, ``mute`` leads from NOT_MUTED to MUTED and ``unmute`` back; from every other state they lead nowhere. Any other
event is a bug of ours.
"""

from enum import Enum, auto
from typing import Final


class MuteState(Enum):
    """Read, or not, and for which reasons not."""

    NOT_MUTED = auto()
    MUTED = auto()
    MUTED_AND_RESPONSE_PENDING = auto()
    MUTED_AND_THROTTLED = auto()
    MUTED_AND_THROTTLED_AND_RESPONSE_PENDING = auto()


class MuteEvent(Enum):
    """What happens to a muted channel."""

    REQUEST_RECEIVED = auto()
    RESPONSE_SENT = auto()
    THROTTLE_STARTED = auto()
    THROTTLE_ENDED = auto()


TRANSITIONS: Final = {
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT): MuteState.MUTED,
    (
        MuteState.MUTED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_STARTED,
    ): MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT): MuteState.MUTED_AND_THROTTLED,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_ENDED,
    ): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED): MuteState.MUTED,
}


def mute(state: MuteState) -> MuteState:
    """Stop reading; a channel that is muted for more reasons stays so."""
    return MuteState.MUTED if state is MuteState.NOT_MUTED else state


def unmute(state: MuteState) -> MuteState:
    """Read again, unless a response is pending or the channel is throttled."""
    return MuteState.NOT_MUTED if state is MuteState.MUTED else state


def after(state: MuteState, event: MuteEvent) -> MuteState:
    """The state that an event leads to."""
    found = TRANSITIONS.get((state, event))
    assert found is not None, f"cannot transition from {state.name} for {event.name}"
    return found
