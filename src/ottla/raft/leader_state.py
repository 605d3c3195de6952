"""A leader's view of its epoch: how far each replica has come, and so what is committed. Pure.

Something is committed when a majority of the voters has it on the disk *and* a record of the leader's own epoch is
among it: until its first control record is there, a leader knows no high watermark.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.raft.election_state import ElectionState
from ottla.raft.voter_set import ReplicaKey, VoterNode, VoterSet
from ottla.records.control_messages import KRaftControlMessage, KRaftVersionRecord, LeaderChangeMessage

OBSERVER_SESSION_TIMEOUT_MS = 300_000
"""An observer that has not fetched for this long is forgotten."""

_BOOTSTRAPPED = -1


class ReplicaInfo(NamedTuple):
    """A replica as DescribeQuorum tells of it; -1 for what is not known."""

    replica_id: int
    replica_directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class QuorumInfo(NamedTuple):
    """The quorum as its leader sees it."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    """-1 until the leader's first record is committed."""
    voters: tuple[ReplicaInfo, ...]
    observers: tuple[ReplicaInfo, ...]
    nodes: tuple[VoterNode, ...]


@dataclass(slots=True)
class ReplicaState:
    """How far one replica has come."""

    key: ReplicaKey
    end_offset: int | None = None
    last_fetch_ms: int = -1
    last_fetch_leader_end_offset: int = -1
    last_caught_up_ms: int = -1

    def update_follower(self, now_ms: int, fetch_offset: int, leader_end_offset: int | None) -> None:
        """A fetch has come: everything below ``fetch_offset`` is on the replica's disk."""
        if leader_end_offset is not None:
            if fetch_offset >= leader_end_offset:
                self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
            elif 0 < self.last_fetch_leader_end_offset <= fetch_offset:
                # It has what the leader had when it last asked, so it was caught up then.
                self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
            self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = fetch_offset


class LeaderState:
    """The leader's state in one epoch; ends in Unattached, Follower or Resigned."""

    name = "leader"

    def __init__(
        self,
        *,
        epoch: int,
        epoch_start_offset: int,
        local: VoterNode,
        voters: VoterSet,
        voters_offset: int | None,
        kraft_version: int,
        granting_voters: tuple[int, ...],
    ) -> None:
        """``voters_offset`` is where the voters stand in the log, -1 in the first snapshot, None nowhere."""
        self.epoch = epoch
        self.epoch_start_offset = epoch_start_offset
        self.local = local
        self.high_watermark: int | None = None
        self.granting_voters = granting_voters
        self._voters_at_start = voters
        self._voters_offset = voters_offset
        self._kraft_version = kraft_version
        self._voters = {voter.key.id: ReplicaState(voter.key) for voter in voters}
        self._observers: dict[ReplicaKey, ReplicaState] = {}

    def __repr__(self) -> str:
        return f"LeaderState(epoch={self.epoch}, epoch_start_offset={self.epoch_start_offset}, local={self.local.key})"

    @property
    def leader_id(self) -> int:
        """The node itself."""
        return self.local.key.id

    voted_key = None

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        """What must be remembered."""
        return ElectionState(self.epoch, self.leader_id, None, voter_ids)

    def start_of_epoch_messages(self) -> list[KRaftControlMessage]:
        """The leader's first records: that it leads, and the voters if the log has yet to name them as they are."""
        messages: list[KRaftControlMessage] = [
            LeaderChangeMessage(
                leader_id=self.leader_id, voters=self._voters_at_start.ids, granting_voters=self.granting_voters
            )
        ]
        if self._kraft_version >= 1:
            assert self._voters_offset is not None, "kraft.version is 1, but no voters are in the log"
            if self._voters_offset == _BOOTSTRAPPED or self._voters_at_start.needs_update(self.local):
                messages.append(KRaftVersionRecord(kraft_version=self._kraft_version))
                messages.append(self._voters_at_start.updated(self.local).to_record())
        return messages

    # -- progress -----------------------------------------------------------------------------------------------------

    def update_local_state(self, end_offset: int) -> bool:
        """The leader's own disk has everything below ``end_offset``; returns whether the high watermark rose."""
        state = self._voters[self.leader_id]
        assert state.end_offset is None or state.end_offset <= end_offset, f"{state} went back to {end_offset}"
        state.end_offset = end_offset
        return self._maybe_update_high_watermark()

    def update_replica_state(self, key: ReplicaKey, now_ms: int, fetch_offset: int) -> bool:
        """Another replica has fetched; returns whether the high watermark rose."""
        assert key.id != self.leader_id, f"{key} is the leader itself"
        state = self._voters.get(key.id)
        if state is None or not VoterNode(state.key).is_voter(key):
            state = self._observers.setdefault(key, ReplicaState(key))
        state.update_follower(now_ms, fetch_offset, self._voters[self.leader_id].end_offset)
        return key.id in self._voters and self._maybe_update_high_watermark()

    def _maybe_update_high_watermark(self) -> bool:
        ends = sorted(-1 if state.end_offset is None else state.end_offset for state in self._voters.values())
        committed = ends[(len(ends) - 1) // 2]
        if committed <= self.epoch_start_offset or committed <= (self.high_watermark or 0):
            return False
        self.high_watermark = committed
        return True

    # -- looking ------------------------------------------------------------------------------------------------------

    def describe(self, now_ms: int) -> QuorumInfo:
        """What DescribeQuorum answers."""
        self._observers = {
            key: state
            for key, state in self._observers.items()
            if now_ms - state.last_fetch_ms < OBSERVER_SESSION_TIMEOUT_MS
        }
        return QuorumInfo(
            self.leader_id,
            self.epoch,
            -1 if self.high_watermark is None else self.high_watermark,
            tuple(self._info(state, now_ms) for state in self._voters.values()),
            tuple(self._info(state, now_ms) for state in self._observers.values()),
            tuple(self._voters_at_start.updated(self.local)),
        )

    @property
    def observer_count(self) -> int:
        """How many replicas follow without a vote."""
        return len(self._observers)

    def _info(self, state: ReplicaState, now_ms: int) -> ReplicaInfo:
        is_leader = state.key.id == self.leader_id
        return ReplicaInfo(
            state.key.id,
            state.key.directory_id or ZERO_UUID,
            -1 if state.end_offset is None else state.end_offset,
            now_ms if is_leader else state.last_fetch_ms,
            now_ms if is_leader else state.last_caught_up_ms,
        )
