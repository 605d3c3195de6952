"""Where a member of a consumer group stands."""

from enum import Enum
from typing import Final

from ottla.clients.consumer.membership import MembershipState


class ConsumerState(Enum):
    """How a member moves.

    UNSUBSCRIBED → JOINING → RECONCILING → ACKNOWLEDGING → STABLE → RECONCILING …; JOINING → STABLE when nothing is to
    be assigned. From any of these: → FENCED → JOINING, → STALE → JOINING when the user polls again, → FATAL, and
    → UNSUBSCRIBED.
    """

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    """A heartbeat with epoch 0 says everything."""
    RECONCILING = "reconciling"
    """The target differs from what the user has."""
    ACKNOWLEDGING = "acknowledging"
    """The user has the target; the coordinator does not know that yet."""
    STABLE = "stable"
    FENCED = "fenced"
    """Out of the group; joins again when the user knows."""
    STALE = "stale"
    """Out of the group by itself: the user did not poll."""
    FATAL = "fatal"


IN_GROUP: Final = frozenset(
    {ConsumerState.JOINING, ConsumerState.RECONCILING, ConsumerState.ACKNOWLEDGING, ConsumerState.STABLE}
)
SEEN_AS: Final = {
    ConsumerState.UNSUBSCRIBED: MembershipState.UNJOINED,
    ConsumerState.JOINING: MembershipState.JOINING,
    ConsumerState.RECONCILING: MembershipState.RECONCILING,
    ConsumerState.ACKNOWLEDGING: MembershipState.RECONCILING,
    ConsumerState.STABLE: MembershipState.STABLE,
    ConsumerState.FENCED: MembershipState.FENCED,
    ConsumerState.STALE: MembershipState.STALLED,
    ConsumerState.FATAL: MembershipState.FATAL,
}
