"""Who a classic member is, and where it stands between two rebalances."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ottla.clients.consumer.assignors.assignor import PartitionAssignor


class ClassicState(Enum):
    """UNJOINED → PREPARING_REBALANCE → COMPLETING_REBALANCE → STABLE → PREPARING_REBALANCE …, any → UNJOINED."""

    UNJOINED = "unjoined"
    """No JoinGroup was answered since the start or since the group dropped us."""
    PREPARING_REBALANCE = "preparing"
    """JoinGroup is on its way."""
    COMPLETING_REBALANCE = "completing"
    """Joined; the assignment is being made, here or by the leader."""
    STABLE = "stable"
    """The assignment came."""


class Generation(NamedTuple):
    """A member in one generation of its group."""

    generation_id: int = -1
    member_id: str = ""
    protocol_name: str | None = None


NO_GENERATION = Generation()


@dataclass(frozen=True, slots=True)
class ClassicSettings:
    """What a classic member is configured with."""

    group_id: str
    assignors: tuple[PartitionAssignor, ...]
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    retry_backoff_ms: int = 100
    rack_id: str | None = None
    exclude_internal_topics: bool = True
