"""The state of this replica in the quorum, and how it changes. Pure: its memory is a port, time is an argument.

That time is the monotonic clock's: a wall clock that is set must not call an election, or put one off.

::

    start ─┬─ led the epoch ──────────→ Resigned ──┐
           ├─ voted for itself in it ─→ Candidate  │
           ├─ knows another leader ───→ Follower ──┤
           └─ else ───────────────────→ Unattached ┴→ Prospective → Candidate (epoch + 1) → Leader → Resigned

So a voter that is alone leads one epoch higher after each start, and in the very epoch that it stood for if it ended
between its vote and its victory. :data:`ottla.raft.epoch_states.TRANSITIONS` has all transitions.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ottla.raft.config import QuorumConfig
from ottla.raft.control_state import ControlState
from ottla.raft.election_state import ElectionState
from ottla.raft.epoch_election import EpochElection
from ottla.raft.epoch_states import (
    TRANSITIONS,
    CandidateState,
    EpochState,
    FollowerState,
    ProspectiveState,
    ResignedState,
    UnattachedState,
)
from ottla.raft.leader_state import LeaderState
from ottla.raft.offset_and_epoch import LeaderAndEpoch, OffsetAndEpoch
from ottla.raft.voter_set import ReplicaKey, VoterNode

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger(__name__)

_NEVER_MS = (1 << 63) - 1


class QuorumStateStore(Protocol):
    """Where elections are remembered."""

    def read(self) -> ElectionState | None:
        """The latest state."""

    def write(self, state: ElectionState, kraft_version: int) -> None:
        """Replace it, durably."""


class QuorumState:
    """See the module. ``state`` is None until ``initialize``."""

    def __init__(
        self,
        local: VoterNode,
        control: ControlState,
        store: QuorumStateStore,
        config: QuorumConfig,
        rng: "Random",
    ) -> None:
        """``local`` is this replica as a voter, whether it is one or not."""
        self.local = local
        self._control = control
        self._store = store
        self._config = config
        self._rng = rng
        self._state: EpochState | None = None

    @property
    def state(self) -> EpochState:
        """The state it is in."""
        assert self._state is not None, "the quorum state is not initialized"
        return self._state

    @property
    def is_initialized(self) -> bool:
        """Whether there is a state."""
        return self._state is not None

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        """Who leads, as far as this replica knows."""
        return LeaderAndEpoch(self.state.leader_id, self.state.epoch)

    @property
    def local_key(self) -> ReplicaKey:
        """The replica itself."""
        return self.local.key

    @property
    def is_observer(self) -> bool:
        """Whether this replica has no vote."""
        return not self._control.voters.is_voter(self.local_key)

    @property
    def leader(self) -> LeaderState | None:
        """The leader's state, while this replica leads."""
        return self._state if isinstance(self._state, LeaderState) else None

    # -- transitions --------------------------------------------------------------------------------------------------

    def initialize(self, log_end: OffsetAndEpoch, now_ms: int) -> None:
        """Find the state to start in, from what was remembered and from the end of the log."""
        voters = self._control.voters
        election = self._store.read() or ElectionState(0, None, None, voters.ids)
        deadline_ms = now_ms + self.random_election_timeout_ms()
        state: EpochState
        if election.epoch < log_end.epoch:
            logger.warning(
                "Epoch from quorum store file is %d, which is smaller than last written epoch %d in the log",
                election.epoch,
                log_end.epoch,
            )
            state = UnattachedState(log_end.epoch, None, None, None, deadline_ms)
        elif election.leader_id == self.local_key.id:
            # It may have lost what it wrote last; the same offset in the same epoch must never hold another record.
            state = ResignedState(election.epoch, self.local_key.id, deadline_ms)
        elif election.is_voted_candidate(self.local_key) and not self.is_observer:
            votes = EpochElection(voters.ids, self.local_key.id)
            state = CandidateState(election.epoch, self.local_key, votes, None, deadline_ms)
        elif election.leader_id is not None and voters.node(election.leader_id) is not None:
            fetch_deadline_ms = now_ms + self._config.fetch_timeout_ms
            state = FollowerState(election.epoch, election.leader_id, election.voted_key, None, fetch_deadline_ms)
        else:
            state = UnattachedState(election.epoch, election.leader_id, election.voted_key, None, deadline_ms)
        self._durably(state)

    def become_unattached(self, epoch: int, leader_id: int | None, now_ms: int) -> None:
        """A higher epoch is known; or this one goes on without a winner, or after this leader resigned."""
        current = self.state
        assert epoch > current.epoch or (epoch == current.epoch and isinstance(current, ProspectiveState)), (
            f"Cannot transition to Unattached with epoch {epoch} from current state {current}"
        )
        voted_key = current.voted_key if epoch == current.epoch else None
        deadline_ms = _NEVER_MS if self.is_observer else self._remaining_deadline_ms(now_ms)
        self._durably(UnattachedState(epoch, leader_id, voted_key, current.high_watermark, deadline_ms))

    def _remaining_deadline_ms(self, now_ms: int) -> int:
        """Nominees and those who waited already keep their deadline; whoever led or followed draws a new one."""
        current = self.state
        if isinstance(current, LeaderState | FollowerState):
            return now_ms + self.random_election_timeout_ms()
        if isinstance(current, ProspectiveState) and current.votes.is_vote_rejected:
            return now_ms + self.random_election_timeout_ms()
        return current.election_deadline_ms

    def become_follower(self, epoch: int, leader_id: int, now_ms: int) -> None:
        """Another replica leads."""
        current = self.state
        assert leader_id != self.local_key.id, f"cannot follow itself in epoch {epoch}"
        assert epoch > current.epoch or (
            epoch == current.epoch and not isinstance(current, FollowerState | LeaderState)
        ), f"Cannot transition to Follower with leader {leader_id} and epoch {epoch} from state {current}"
        voted_key = current.voted_key if epoch == current.epoch else None
        deadline_ms = now_ms + self._config.fetch_timeout_ms
        self._durably(FollowerState(epoch, leader_id, voted_key, current.high_watermark, deadline_ms))

    def become_prospective(self, now_ms: int) -> ProspectiveState:
        """Nobody leads for too long: ask for votes, in the same epoch. Nothing new to remember."""
        self._require_vote("Prospective")
        current = self.state
        state = ProspectiveState(
            current.epoch,
            current.leader_id,
            current.voted_key,
            EpochElection(self._control.voters.ids, self.local_key.id),
            current.high_watermark,
            now_ms + self.random_election_timeout_ms(),
        )
        self._in_memory(state)
        return state

    def become_candidate(self, now_ms: int) -> CandidateState:
        """Stand for election in the next epoch, with this replica's own vote."""
        self._require_vote("Candidate")
        current = self.state
        state = CandidateState(
            current.epoch + 1,
            self.local_key,
            EpochElection(self._control.voters.ids, self.local_key.id),
            current.high_watermark,
            now_ms + self.random_election_timeout_ms(),
        )
        self._durably(state)
        return state

    def become_leader(self, epoch_start_offset: int) -> LeaderState:
        """A majority has voted for this candidate. The high watermark is unknown until a record of the epoch is."""
        self._require_vote("Leader")
        current = self.state
        assert isinstance(current, CandidateState), f"Cannot transition to Leader from current state {current}"
        assert current.votes.is_vote_granted, "Cannot become leader without majority votes granted"
        state = LeaderState(
            epoch=current.epoch,
            epoch_start_offset=epoch_start_offset,
            local=self.local,
            voters=self._control.voters,
            voters_offset=self._control.voters_offset,
            kraft_version=self._control.kraft_version,
            granting_voters=current.votes.granting_voters,
        )
        self._durably(state)
        return state

    def become_resigned(self, now_ms: int) -> ResignedState:
        """Step down. Not written: a leader that starts again is in this state anyway."""
        assert self.leader is not None, f"Invalid transition to Resigned state from {self.state}"
        state = ResignedState(self.state.epoch, self.local_key.id, now_ms + self.random_election_timeout_ms())
        self._in_memory(state)
        return state

    def random_election_timeout_ms(self) -> int:
        """One to two election timeouts, so that replicas do not stand at the same time for ever."""
        timeout_ms = self._config.election_timeout_ms
        return timeout_ms + self._rng.randrange(timeout_ms) if timeout_ms else 0

    def _require_vote(self, target: str) -> None:
        assert not self.is_observer, (
            f"Cannot transition to {target} since {self.local_key} is not one of the voters {self._control.voters}"
        )

    def _durably(self, state: EpochState) -> None:
        self._move(state, lambda: self._store.write(state.election(self._control.voters.ids), self._kraft_version))

    def _in_memory(self, state: EpochState) -> None:
        self._move(state, lambda: None)

    @property
    def _kraft_version(self) -> int:
        return self._control.kraft_version

    def _move(self, state: EpochState, remember: Callable[[], None]) -> None:
        """Remember, then be; a state that could not be remembered is not entered."""
        current = self._state
        assert current is None or type(state) in TRANSITIONS[type(current)], f"cannot go from {current} to {state}"
        remember()
        self._state = state
        logger.info("Completed transition to %s from %s", state, current)
