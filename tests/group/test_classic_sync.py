"""SyncGroup: the leader's assignment, who waits for it, and what becomes of it when it cannot be written."""

import pytest

from ottla.common.error_code import ErrorCode
from tests.group.classic_world import INITIAL_DELAY_MS, REBALANCE_MS, SESSION_MS, World


def _joined(world: World, count: int = 2) -> list[str]:
    waiting = [world.join_with_id() for _ in range(count)]
    world.advance(2 * INITIAL_DELAY_MS)
    assert all(answers[0].generation_id == 1 for _, answers in waiting)
    return [member_id for member_id, _ in waiting]


def test_everybody_gets_what_the_leader_gave() -> None:
    world = World()
    leader, follower, unassigned = _joined(world, 3)
    waiting = world.sync(follower, 1)
    assert waiting == []
    (first,) = world.sync(leader, 1, {leader: b"l", follower: b"f", "stranger": b"s"})
    assert (first.error_code, first.assignment) == (ErrorCode.NONE, b"l")
    assert (first.protocol_type, first.protocol_name) == ("consumer", "range")
    assert waiting[0].assignment == b"f"
    assert world.sync(unassigned, 1)[0].assignment == b""
    assert world.group.state_name == "Stable"
    assert world.metrics.completed_rebalances.value == 1
    assert world.sync(follower, 1)[0].assignment == b"f"


def test_nobody_gets_an_assignment_before_it_is_committed() -> None:
    world = World()
    leader, follower = _joined(world)
    world.holds_commits = True
    first, second = world.sync(leader, 1, {leader: b"l", follower: b"f"}), world.sync(follower, 1)
    assert first == second == []
    assert world.group.state_name == "CompletingRebalance"
    world.commit()
    assert [answer.assignment for answer in first + second] == [b"l", b"f"]


def test_an_assignment_that_is_not_committed_when_a_rebalance_begins_is_void() -> None:
    world = World()
    leader, follower = _joined(world)
    world.holds_commits = True
    waiting = world.sync(leader, 1, {leader: b"l"})
    world.join(follower, protocols=[("range", b"other")])
    assert waiting[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    world.commit()
    assert world.group.state_name == "PreparingRebalance"
    assert world.group.members.by_id[leader].assignment == b""


def test_an_assignment_of_an_old_generation_that_is_committed_late_is_void() -> None:
    world = World()
    leader, follower = _joined(world)
    world.holds_commits = True
    world.sync(leader, 1, {leader: b"old", follower: b"old"})
    world.join(follower, protocols=[("range", b"other")])
    world.join(leader)
    waiting = world.sync(follower, 2)
    world.commit()
    assert (world.group.generation_id, world.group.state_name, waiting) == (2, "CompletingRebalance", [])
    world.holds_commits = False
    assert world.sync(leader, 2, {leader: b"new", follower: b"new"})[0].assignment == b"new"
    assert waiting[0].assignment == b"new"


def test_the_first_assignment_of_a_generation_counts() -> None:
    world = World()
    leader, follower = _joined(world)
    world.holds_commits = True
    first = world.sync(leader, 1, {leader: b"first"})
    written = len(world.log)
    second = world.sync(leader, 1, {leader: b"second"})
    assert len(world.log) == written
    assert first[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    world.commit()
    assert second[0].assignment == b"first"
    world.holds_commits = False
    world.reload()
    assert world.sync(leader, 1)[0].assignment == b"first"
    assert world.heartbeat(follower, 1) == ErrorCode.NONE


@pytest.mark.parametrize("is_late", [False, True])
def test_if_the_assignment_cannot_be_written_everybody_is_told_and_the_group_rebalances(is_late: bool) -> None:
    world = World()
    leader, follower = _joined(world)
    waiting = world.sync(follower, 1)
    if is_late:
        world.holds_commits = True
    else:
        world.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    first = world.sync(leader, 1, {leader: b"l", follower: b"f"})
    world.commit(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world.holds_commits = False
    for (answer,) in (first, waiting):
        assert (answer.error_code, answer.assignment) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, b"")
        assert (answer.protocol_type, answer.protocol_name) == (None, None)
    assert world.group.state_name == "PreparingRebalance"
    answers = world.join(leader) + world.join(follower)
    assert [answer.generation_id for answer in world.join(leader)] == [2]
    assert answers[0].generation_id == 2
    assert world.sync(leader, 2, {leader: b"l"})[0].assignment == b"l"


def test_who_may_sync() -> None:
    world = World()
    assert world.sync("m", 0)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.join()
    assert world.sync("m", 0)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID  # the group is empty
    world = World()
    leader, follower = world.stable()
    assert world.sync("m", 1)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync(leader, 0)[0].error_code == ErrorCode.ILLEGAL_GENERATION
    assert world.sync(leader, 2)[0].error_code == ErrorCode.ILLEGAL_GENERATION
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync(leader, 1, protocol_type="connect")[0].error_code == inconsistent
    assert world.sync(leader, 1, protocol_name="sticky")[0].error_code == inconsistent
    assert world.sync(leader, 1, protocol_type="consumer", protocol_name="range")[0].error_code == ErrorCode.NONE
    world.join(leader)
    assert world.sync(follower, 1)[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_never_sync_are_gone_after_the_rebalance_timeout() -> None:
    world = World()
    leader, follower = _joined(world)
    world.sync(leader, 1, {leader: b"l", follower: b"f"})
    for _ in range(REBALANCE_MS // 1000):
        assert world.group.state_name == "Stable"
        world.heartbeat(leader, 1)
        world.heartbeat(follower, 1)  # alive, but without an assignment
        world.advance(1000)
    assert world.group.state_name == "PreparingRebalance"
    assert not world.group.has_member(follower)
    assert world.join(leader)[0].generation_id == 2


def test_if_the_leader_never_syncs_another_one_leads() -> None:
    world = World()
    leader, follower = _joined(world)
    waiting = world.sync(follower, 1)
    for _ in range(REBALANCE_MS // 1000):
        assert waiting == []
        world.heartbeat(leader, 1)
        world.advance(1000)
    assert waiting[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not world.group.has_member(leader)
    assert world.join(follower)[0].leader == follower


def test_sessions_do_not_end_while_members_wait_for_the_commit() -> None:
    world = World()
    leader, follower = _joined(world)
    world.holds_commits = True
    first, second = world.sync(leader, 1, {leader: b"l", follower: b"f"}), world.sync(follower, 1)
    world.advance(3 * SESSION_MS)
    world.heartbeat(leader, 1)  # so that the time is known
    world.commit()
    assert [answer.assignment for answer in first + second] == [b"l", b"f"]
    world.advance(SESSION_MS - 1)
    assert world.group.num_members == 2
    world.advance(1)
    assert world.group.num_members == 0


def test_waiting_syncs_are_answered_when_the_coordinator_leaves() -> None:
    world = World()
    leader, follower = _joined(world)
    waiting = world.sync(follower, 1)
    world.holds_commits = True
    first = world.sync(leader, 1, {leader: b"l"})
    world.reload()
    assert [answer.error_code for answer in waiting + first] == [ErrorCode.NOT_COORDINATOR] * 2
