"""The pure states of the quorum, and the file that remembers them."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError, KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.raft.config import QuorumConfig
from ottla.raft.control_state import ControlState, LogHistory
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
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.quorum_state import QuorumState
from ottla.raft.quorum_state_store import FileQuorumStateStore
from ottla.raft.voter_set import KRAFT_VERSIONS, ReplicaKey, VoterNode, VoterSet
from ottla.records.control import Endpoint, KRaftVersionRecord, LeaderChangeMessage
from tests.raft.quorum_of_one import DIRECTORY_ID, LOCAL
from tests.sim.crash_files import CrashFiles

OTHER = VoterNode(ReplicaKey(2, Uuid.random(Random(2))), (Endpoint(name="CONTROLLER", host="b", port=2),))
THIRD = VoterNode(ReplicaKey(3, Uuid.random(Random(3))))


class Memory:
    """A store that counts its writes."""

    def __init__(self, state: ElectionState | None = None) -> None:
        self.state = state
        self.written: list[ElectionState] = []

    def read(self) -> ElectionState | None:
        return self.state

    def write(self, state: ElectionState, kraft_version: int) -> None:
        self.state = state
        self.written.append(state)


def quorum(
    state: ElectionState | None = None, *voters: VoterNode, log_epoch: int = 0, start: bool = True
) -> tuple[QuorumState, Memory]:
    memory = Memory(state)
    made = QuorumState(LOCAL, ControlState(VoterSet(voters or (LOCAL,))), memory, QuorumConfig(), Random(1))
    if start:
        made.initialize(OffsetAndEpoch(0, log_epoch), 0)
    return made, memory


@pytest.mark.parametrize(
    ("election", "log_epoch", "expected", "epoch"),
    [
        (None, 0, UnattachedState, 0),
        (ElectionState(5), 5, UnattachedState, 5),
        (ElectionState(5), 6, UnattachedState, 6),
        (ElectionState(5, leader_id=1), 5, ResignedState, 5),
        (ElectionState(5, voted_key=LOCAL.key), 5, CandidateState, 5),
        (ElectionState(5, voted_key=ReplicaKey(1)), 5, CandidateState, 5),
        (ElectionState(5, voted_key=ReplicaKey(1, Uuid.random(Random(9)))), 5, UnattachedState, 5),
        (ElectionState(5, leader_id=2), 5, FollowerState, 5),
        (ElectionState(5, leader_id=9), 5, UnattachedState, 5),
        (ElectionState(5, leader_id=1), 6, UnattachedState, 6),
    ],
    ids=str,
)
def test_the_state_to_start_in(
    election: ElectionState | None, log_epoch: int, expected: type[object], epoch: int
) -> None:
    made, memory = quorum(election, LOCAL, OTHER, log_epoch=log_epoch)
    assert type(made.state) is expected
    assert made.state.epoch == epoch
    assert memory.written == [made.state.election((1, 2))]


def test_a_candidacy_is_remembered_before_it_is_entered() -> None:
    made, memory = quorum(ElectionState(4))
    made.become_prospective(0)
    assert len(memory.written) == 1
    made.become_candidate(0)
    assert memory.written[-1] == ElectionState(5, None, LOCAL.key, (1,))
    made.become_leader(10)
    assert memory.written[-1] == ElectionState(5, 1, None, (1,))
    made.become_resigned(0)
    assert len(memory.written) == 3


def test_a_state_that_cannot_be_remembered_is_not_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    made, memory = quorum()
    made.become_prospective(0)

    def fail(state: ElectionState, kraft_version: int) -> None:
        raise KafkaStorageError("no disk")

    monkeypatch.setattr(memory, "write", fail)
    with pytest.raises(KafkaStorageError):
        made.become_candidate(0)
    assert isinstance(made.state, ProspectiveState)
    assert made.state.epoch == 0


@pytest.mark.parametrize("source", list(TRANSITIONS), ids=lambda source: source.__name__)
def test_only_the_transitions_of_the_table_happen(source: type[EpochState]) -> None:
    def reach() -> QuorumState:
        made, _ = quorum(ElectionState(1))
        if source is UnattachedState:
            return made
        if source is FollowerState:
            made.become_follower(2, 2, 0)
            return made
        made.become_prospective(0)
        if source is ProspectiveState:
            return made
        made.become_candidate(0)
        if source is CandidateState:
            return made
        made.become_leader(0)
        if source is ResignedState:
            made.become_resigned(0)
        return made

    moves: dict[type[EpochState], Callable[[QuorumState], object]] = {
        UnattachedState: lambda made: made.become_unattached(9, None, 0),
        ProspectiveState: lambda made: made.become_prospective(0),
        CandidateState: lambda made: made.become_candidate(0),
        LeaderState: lambda made: made.become_leader(0),
        FollowerState: lambda made: made.become_follower(9, 2, 0),
        ResignedState: lambda made: made.become_resigned(0),
    }
    for target, move in moves.items():
        made = reach()
        assert type(made.state) is source
        if target in TRANSITIONS[source]:
            move(made)
            assert type(made.state) is target
        else:
            with pytest.raises(AssertionError):
                move(made)


def test_a_vote_is_kept_within_its_epoch_only() -> None:
    made, _ = quorum(ElectionState(5, voted_key=OTHER.key), LOCAL, OTHER)
    made.become_prospective(0)
    made.become_unattached(5, None, 0)
    assert made.state.voted_key == OTHER.key
    made.become_follower(6, 2, 0)
    assert made.state.voted_key is None


def test_two_of_three_votes_win_and_two_refusals_lose() -> None:
    votes = EpochElection((1, 2, 3), 1)
    assert not votes.is_vote_granted
    assert votes.unrecorded_voters == (2, 3)
    assert votes.record_vote(3, granted=False)
    assert not votes.is_vote_rejected
    assert votes.record_vote(2, granted=True)
    assert not votes.record_vote(2, granted=True)
    assert votes.is_vote_granted
    assert votes.granting_voters == (1, 2)
    lost = EpochElection((1, 2, 3), 1)
    lost.record_vote(2, granted=False)
    lost.record_vote(3, granted=False)
    assert lost.is_vote_rejected


# -- the leader -------------------------------------------------------------------------------------------------------


def leader(
    *voters: VoterNode, start: int = 10, kraft_version: int = 0, voters_offset: int | None = None
) -> LeaderState:
    return LeaderState(
        epoch=3,
        epoch_start_offset=10,
        local=LOCAL,
        voters=VoterSet(voters),
        voters_offset=voters_offset,
        kraft_version=kraft_version,
        granting_voters=(1,),
    )


def test_nothing_is_committed_before_a_record_of_the_leaders_own_epoch() -> None:
    state = leader(LOCAL)
    assert not state.update_local_state(10)
    assert state.high_watermark is None
    assert state.update_local_state(11)
    assert state.high_watermark == 11
    assert not state.update_local_state(11)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(0, 30)), max_size=30))
def test_the_high_watermark_is_the_offset_that_a_majority_has(updates: list[tuple[int, int]]) -> None:
    state = leader(LOCAL, OTHER, THIRD)
    ends = {1: -1, 2: -1, 3: -1}
    committed = None
    keys = {2: OTHER.key, 3: THIRD.key}
    for node, offset in updates:
        end = ends[node] = max(offset, ends[node])
        rose = state.update_local_state(end) if node == 1 else state.update_replica_state(keys[node], 0, end)
        majority = sorted(ends.values())[1]
        expected = majority if majority > 10 else None
        assert rose == (expected != committed)
        committed = expected
        assert state.high_watermark == committed


def test_a_follower_was_caught_up_when_it_had_what_the_leader_had_at_its_last_fetch() -> None:
    state = leader(LOCAL, OTHER)
    state.update_local_state(20)
    state.update_replica_state(OTHER.key, 100, 15)
    assert state.describe(0).voters[1][2:] == (15, 100, -1)
    state.update_local_state(30)
    state.update_replica_state(OTHER.key, 200, 20)
    assert state.describe(0).voters[1][2:] == (20, 200, 100)
    state.update_replica_state(OTHER.key, 300, 30)
    assert state.describe(0).voters[1][2:] == (30, 300, 300)


def test_observers_are_counted_and_forgotten() -> None:
    state = leader(LOCAL)
    state.update_local_state(20)
    assert not state.update_replica_state(ReplicaKey(9), 100, 20)
    assert [observer.replica_id for observer in state.describe(200).observers] == [9]
    assert state.describe(100 + 300_000).observers == ()


def test_the_first_records_of_an_epoch() -> None:
    first = LeaderChangeMessage(leader_id=1, voters=(1,), granting_voters=(1,))
    assert leader(LOCAL).start_of_epoch_messages() == [first]
    version, voters = KRaftVersionRecord(kraft_version=1), VoterSet([LOCAL]).to_record()
    assert leader(LOCAL, kraft_version=1, voters_offset=-1).start_of_epoch_messages() == [first, version, voters]
    assert leader(LOCAL, kraft_version=1, voters_offset=2).start_of_epoch_messages() == [first]
    moved = VoterNode(LOCAL.key, (Endpoint(name="CONTROLLER", host="old", port=1),), KRAFT_VERSIONS)
    assert leader(moved, kraft_version=1, voters_offset=2).start_of_epoch_messages() == [first, version, voters]


# -- voters and control records ---------------------------------------------------------------------------------------


def test_static_voters() -> None:
    voters = VoterSet.from_static("2@b:2, 1@[::1]:9093", "CONTROLLER")
    assert voters.ids == (1, 2)
    node = voters.node(1)
    assert node is not None
    assert node.endpoint("CONTROLLER") == Endpoint(name="CONTROLLER", host="::1", port=9093)
    assert voters.is_voter(LOCAL.key)
    assert not voters.is_only_voter(LOCAL.key)
    for bad in ("1", "1@b", "x@b:1", "1@:1", "1@b:y"):
        with pytest.raises(InvalidConfigError, match=r"controller\.quorum\.voters"):
            VoterSet.from_static(bad, "CONTROLLER")


def test_a_dynamic_voter_is_its_directory() -> None:
    voters = VoterSet.from_record(VoterSet([LOCAL]).to_record())
    assert voters == VoterSet([LOCAL])
    assert voters.is_only_voter(LOCAL.key)
    assert not voters.is_voter(ReplicaKey(1, Uuid.random(Random(9))))
    assert not voters.is_voter(ReplicaKey(1))


def test_control_records_hold_from_their_offset_on() -> None:
    control = ControlState(VoterSet([OTHER]))
    assert control.voters.ids == (2,)
    control.handle_snapshot(-1, [KRaftVersionRecord(kraft_version=1), VoterSet([LOCAL]).to_record()])
    assert (control.voters.ids, control.voters_offset, control.kraft_version) == ((1,), -1, 1)
    control.handle_log_batch(7, [None, VoterSet([LOCAL, OTHER]).to_record()])
    assert control.voters_offset == 8
    before, after = control.voters_at(7), control.voters_at(8)
    assert before is not None and after is not None
    assert (before.ids, after.ids) == ((1,), (1, 2))
    control.truncate_new(8)
    assert control.voters.ids == (1,)
    control.handle_log_batch(9, [VoterSet([LOCAL, OTHER]).to_record()])
    control.truncate_old(9)
    assert control.voters_at(8) is None


@given(st.lists(st.integers(0, 20), unique=True).map(sorted), st.integers(0, 21))
def test_a_history_keeps_what_holds_at_a_cut(offsets: list[int], cut: int) -> None:
    history: LogHistory[int] = LogHistory()
    for offset in offsets:
        history.add(offset, offset)
    history.truncate_old(cut)
    for offset in range(cut, 21):
        assert history.at(offset) == max((known for known in offsets if known <= offset), default=None)
    history.truncate_new(cut)
    last = history.last
    assert last is None or last[0] < cut


# -- the file ---------------------------------------------------------------------------------------------------------


def store() -> FileQuorumStateStore:
    files = CrashFiles()
    files.make_dir("/d")
    return FileQuorumStateStore(files, "/d")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "state",
    [
        ElectionState(0, None, None, ()),
        ElectionState(7, 1, None, (1, 2)),
        ElectionState(7, None, ReplicaKey(1, DIRECTORY_ID), (1,)),
    ],
    ids=str,
)
def test_what_is_written_is_read(version: int, state: ElectionState) -> None:
    kept = store()
    kept.write(state, version)
    read = kept.read()
    assert read is not None
    assert (read.epoch, read.leader_id) == (state.epoch, state.leader_id)
    assert read.voter_ids == (state.voter_ids if version == 0 else ())
    if state.voted_key is not None:
        assert read.voted_key == (state.voted_key if version else ReplicaKey(state.voted_key.id))
    kept.clear()
    assert kept.read() is None


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"data_version":2}', b'{"data_version":1,"leaderId":1}', b'{"data_version":1'],
)
def test_a_damaged_file_is_named(content: bytes) -> None:
    with pytest.raises(KafkaStorageError, match="/d/quorum-state"):
        ElectionState.decode(content, "/d/quorum-state")
