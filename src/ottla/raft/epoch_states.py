"""The states of a replica in an epoch, other than leading it. Pure; :mod:`ottla.raft.quorum_state` moves between them.

``election`` is what must be on the disk before a replica acts in a state.
"""

from dataclasses import dataclass

from ottla.raft.election_state import ElectionState
from ottla.raft.epoch_election import EpochElection
from ottla.raft.leader_state import LeaderState
from ottla.raft.voter_set import ReplicaKey


@dataclass(frozen=True, slots=True)
class UnattachedState:
    """Knows the epoch, but follows nobody; may have voted."""

    epoch: int
    leader_id: int | None
    voted_key: ReplicaKey | None
    high_watermark: int | None
    election_deadline_ms: int

    @property
    def name(self) -> str:
        """As the metric current-state calls it."""
        return "unattached-voted" if self.voted_key is not None else "unattached"

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, self.leader_id, self.voted_key, voter_ids)


@dataclass(frozen=True, slots=True)
class ProspectiveState:
    """Asks whether it would win, before it raises the epoch for all."""

    epoch: int
    leader_id: int | None
    voted_key: ReplicaKey | None
    votes: EpochElection
    high_watermark: int | None
    election_deadline_ms: int

    @property
    def name(self) -> str:
        """As the metric current-state calls it."""
        return "prospective-voted" if self.voted_key is not None else "prospective"

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, self.leader_id, self.voted_key, voter_ids)


@dataclass(frozen=True, slots=True)
class CandidateState:
    """Stands for election in an epoch of its own, in which it has voted for itself."""

    epoch: int
    local_key: ReplicaKey
    votes: EpochElection
    high_watermark: int | None
    election_deadline_ms: int

    name = "candidate"
    leader_id = None

    @property
    def voted_key(self) -> ReplicaKey:
        """Itself."""
        return self.local_key

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, None, self.local_key, voter_ids)


@dataclass(frozen=True, slots=True)
class FollowerState:
    """Copies a leader's log."""

    epoch: int
    leader_id: int
    voted_key: ReplicaKey | None
    high_watermark: int | None
    fetch_deadline_ms: int

    name = "follower"

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, self.leader_id, self.voted_key, voter_ids)


@dataclass(frozen=True, slots=True)
class ResignedState:
    """Led this epoch, and will neither lead nor vote in it again: what it wrote last may be lost."""

    epoch: int
    leader_id: int
    election_deadline_ms: int

    name = "unattached"
    voted_key = None
    high_watermark = None

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, self.leader_id, None, voter_ids)


EpochState = UnattachedState | ProspectiveState | CandidateState | FollowerState | ResignedState | LeaderState

TRANSITIONS: dict[type[EpochState], frozenset[type[EpochState]]] = {
    UnattachedState: frozenset({UnattachedState, ProspectiveState, FollowerState}),
    ProspectiveState: frozenset({UnattachedState, CandidateState, FollowerState}),
    CandidateState: frozenset({UnattachedState, ProspectiveState, FollowerState, LeaderState}),
    LeaderState: frozenset({UnattachedState, FollowerState, ResignedState}),
    FollowerState: frozenset({UnattachedState, ProspectiveState, FollowerState}),
    # Only a replica that is alone stands again at once; with others it first lets one of them win (Unattached).
    ResignedState: frozenset({UnattachedState, ProspectiveState, FollowerState}),
}
"""Where each state may lead. Observers only ever are Unattached or Follower."""
