"""Heartbeats, sessions, leaving, and a coordinator that goes and comes back."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.group.classic.group import ClassicGroup
from ottla.group.records import GroupMetadataKey, GroupMetadataValue
from tests.group.classic_world import GROUP, INITIAL_DELAY_MS, REBALANCE_MS, SESSION_MS, World


def _last_value(world: World) -> GroupMetadataValue:
    value = world.serde.decode(*world.log[-1]).value
    assert isinstance(value, GroupMetadataValue)
    return value


class TestHeartbeat:
    """Who is alive, and who is refused."""

    def test_errors(self) -> None:
        world = World()
        assert world.heartbeat("m", 0) == ErrorCode.UNKNOWN_MEMBER_ID
        leader, _ = world.stable()
        assert world.heartbeat(leader, 1) == ErrorCode.NONE
        assert world.heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert world.heartbeat(leader, 0) == ErrorCode.ILLEGAL_GENERATION
        assert world.heartbeat(leader, 2) == ErrorCode.ILLEGAL_GENERATION
        world.join(leader)
        assert world.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS

    def test_members_may_begin_before_they_are_assigned(self) -> None:
        world = World()
        member_id, _ = world.join_with_id()
        world.advance(INITIAL_DELAY_MS)
        assert world.group.state_name == "CompletingRebalance"
        assert world.heartbeat(member_id, 1) == ErrorCode.NONE

    def test_silence_ends_a_session_and_makes_a_rebalance(self) -> None:
        world = World()
        leader, follower = world.stable()
        world.advance(SESSION_MS - 1)
        assert world.heartbeat(leader, 1) == ErrorCode.NONE
        world.advance(1)
        assert world.group.state_name == "PreparingRebalance"
        assert world.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert world.join(leader)[0].generation_id == 2

    def test_a_session_begins_with_the_answer_to_the_join(self) -> None:
        world = World()
        member_id, _ = world.join_with_id()
        world.advance(INITIAL_DELAY_MS)
        world.advance(SESSION_MS - 1)
        assert world.group.has_member(member_id)
        world.advance(1)
        assert not world.group.has_member(member_id)

    @pytest.mark.parametrize("hours", [5, -5])
    def test_a_wall_clock_that_is_set_ends_no_session_and_delays_no_group(self, hours: int) -> None:
        world = World()
        (member_id,) = world.stable(1)
        world.clock.set_now_ms(world.now_ms + hours * 3_600_000)
        world.advance(SESSION_MS - 1)
        assert world.group.has_member(member_id)
        _, answers = world.join_with_id(group_id="another")
        world.advance(1)
        assert not world.group.has_member(member_id)
        world.advance(INITIAL_DELAY_MS)
        assert answers[0].error_code == ErrorCode.NONE

    def test_a_commit_keeps_a_session_too(self) -> None:
        world = World()
        leader, follower = world.stable()
        world.advance(SESSION_MS - 1)
        world.heartbeat(leader, 1)
        group = world.group
        world.manager.extend_session(group, group.members.by_id[follower])
        world.advance(1)
        assert group.state_name == "Stable"

    def test_when_all_are_silent_the_group_is_empty_and_the_log_says_so(self) -> None:
        world = World()
        world.stable()
        world.advance(SESSION_MS)
        assert world.group.state_name == "Empty"
        value = _last_value(world)
        assert (value.generation, value.members, value.protocol, value.leader) == (2, [], None, None)
        assert value.protocol_type == "consumer"
        assert value.current_state_timestamp == world.now_ms
        assert not len(world.timers)

    def test_a_member_that_waits_for_a_rebalance_may_be_silent(self) -> None:
        world = World()
        leader, follower = world.stable()
        answers = world.join(leader)
        for _ in range(REBALANCE_MS // 1000):
            world.heartbeat(follower, 1)
            world.advance(1000)
        assert answers[0].error_code == ErrorCode.NONE


class TestLeave:
    """LeaveGroup, one by one or many."""

    def test_a_member_leaves_and_the_others_rebalance(self) -> None:
        world = World()
        leader, follower = world.stable()
        (response,) = world.leave((leader, None)).members
        assert (response.member_id, response.error_code) == (leader, ErrorCode.NONE)
        assert world.group.state_name == "PreparingRebalance"
        assert not world.timers.is_scheduled(f"heartbeat-{GROUP}-{leader}")
        assert world.join(follower)[0].leader == follower

    def test_the_last_one_leaves_the_group_empty(self) -> None:
        world = World()
        world.leave((world.stable(1)[0], None))
        assert world.group.state_name == "Empty"
        assert _last_value(world).generation == 2
        assert not len(world.timers)

    def test_several_at_once_each_with_its_error(self) -> None:
        world = World()
        dynamic, static, other = world.stable(1, ["a", "b"])
        response = world.leave(("m", None), (dynamic, None), ("", "a"), ("", "c"), ("", None), (static, "b"))
        assert [member.error_code for member in response.members] == [
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.NONE,
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.FENCED_INSTANCE_ID,
        ]
        assert [(member.member_id, member.group_instance_id) for member in response.members][2] == ("", "a")
        assert list(world.group.members.by_id) == [other]

    def test_an_id_that_was_given_out_can_leave(self) -> None:
        world = World()
        member_id = world.join()[0].member_id
        assert world.leave((member_id, None)).members[0].error_code == ErrorCode.NONE
        assert not world.group.members.pending_joins and not len(world.timers)

    def test_one_that_leaves_is_missing_no_more(self) -> None:
        world = World()
        leader, follower = world.stable()
        answers = world.join(leader)
        world.leave((follower, None))
        assert answers[0].generation_id == 2

    def test_whoever_waits_in_the_name_of_one_that_leaves_is_answered(self) -> None:
        world = World()
        leader, follower = world.stable()
        joining = world.join(leader)
        world.leave((leader, None))
        assert (joining[0].error_code, joining[0].member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
        world.join(follower)
        world.join(follower)
        third, _ = world.join_with_id()
        world.join(follower)
        assert world.group.state_name == "CompletingRebalance"
        waiting = world.sync(third, 3)
        world.leave((third, None))
        assert [answer.error_code for answer in waiting] == [ErrorCode.UNKNOWN_MEMBER_ID]

    def test_if_the_empty_group_cannot_be_written_it_is_empty_all_the_same(self) -> None:
        world = World()
        (member_id,) = world.stable(1)
        world.append_error = ErrorCode.NOT_COORDINATOR
        world.leave((member_id, None))
        assert world.group.state_name == "Empty"
        answers = world.join_with_id()[1]
        world.advance(INITIAL_DELAY_MS)
        assert answers[0].generation_id == 3


class TestNewCoordinator:
    """What the log keeps, and what it does not."""

    def test_a_stable_group_comes_back_as_it_was(self) -> None:
        world = World()
        member_ids = world.stable(2, ["i"])
        before = world.group
        world.reload()
        after = world.group
        assert after is not before
        for name in ("state", "generation_id", "protocol_type", "protocol_name", "subscribed_topics"):
            assert getattr(after, name) == getattr(before, name) or name == "state"
        assert before.state_name == "Dead" and after.state_name == "Stable"
        assert after.members.leader_id == member_ids[0]
        for member_id in member_ids:
            old, new = before.members.by_id[member_id], after.members.by_id[member_id]
            for name in ("client_id", "client_host", "session_timeout_ms", "rebalance_timeout_ms", "assignment"):
                assert getattr(old, name) == getattr(new, name)
        assert world.heartbeat(member_ids[0], 1) == ErrorCode.NONE
        world.advance(SESSION_MS)
        assert world.group.state_name == "Empty"

    def test_whoever_waits_is_told_to_look_elsewhere(self) -> None:
        world = World()
        leader, follower = world.stable()
        joining = world.join(leader)
        world.unload()
        assert (joining[0].error_code, joining[0].member_id) == (ErrorCode.NOT_COORDINATOR, leader)
        assert world.heartbeat(follower, 1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.join(leader)[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.sync(leader, 1)[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.leave((leader, None)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    def test_a_rebalance_under_way_is_forgotten(self) -> None:
        world = World()
        leader, follower = world.stable()
        world.join(leader)
        world.join(follower)
        world.reload()
        assert (world.group.state_name, world.group.generation_id) == ("Stable", 1)
        assert world.heartbeat(leader, 2) == ErrorCode.ILLEGAL_GENERATION
        assert world.join(leader) == []

    def test_a_tombstone_ends_a_group_with_its_timers(self) -> None:
        world = World()
        world.join()
        for record in world.group.tombstone_records():
            world.log.append(world.serde.encode(record))
            world._replay(*world.log[-1])
        assert world.groups.get(GROUP) is None
        assert not len(world.timers)

    def test_whoever_waits_in_a_group_that_ends_joins_again(self) -> None:
        world = World()
        leader, follower = world.stable()
        world.join(leader)
        world.join(follower)
        waiting = world.sync(follower, 2)
        world.holds_commits = True
        leading = world.sync(leader, 2, {leader: b"l"})
        before = world.group
        world.manager.replay_group_metadata(GroupMetadataKey(group=GROUP), None)
        assert [answer.error_code for answer in waiting + leading] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
        world.commit()
        assert before.state_name == "Dead" and not len(world.timers)

    def test_a_group_without_members_comes_back_empty(self) -> None:
        world = World()
        world.join()
        world.reload()
        assert world.group.state_name == "Empty"
        assert world.group.protocol_type is None


def test_a_group_that_was_a_consumer_group_is_taken_over() -> None:
    world = World()
    leader, follower = world.stable()
    members = [world.group.members.by_id[member_id] for member_id in (leader, follower)]
    group = ClassicGroup.from_consumer_group(GROUP, 7, members, world.now_ms)
    assert (group.state_name, group.generation_id, group.protocol_name) == ("Stable", 7, "range")
    assert group.subscribed_topics == frozenset({"topic"})
    world.groups.add(group)
    world.manager.adopt(group, None, world.now_ms)
    assert world.heartbeat(follower, 7) == ErrorCode.NONE
    world.manager.adopt(group, "a stale assignment", world.now_ms)
    assert world.heartbeat(follower, 7) == ErrorCode.REBALANCE_IN_PROGRESS
