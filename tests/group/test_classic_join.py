"""JoinGroup: ids, the initial delay, rejoins, protocols, the size of a group."""

import re

import pytest

from ottla.common.error_code import ErrorCode
from tests.group.classic_world import (
    GROUP,
    INITIAL_DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    World,
    subscription,
)

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def test_a_new_dynamic_member_first_gets_an_id() -> None:
    world = World()
    (answer,) = world.join(client_id="app")
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(f"app-{UUID}", answer.member_id)
    assert world.group.state_name == "Empty"
    assert list(world.group.members.pending_joins) == [answer.member_id]
    assert len(world.log) == 1  # the group exists


@pytest.mark.parametrize("api_version", [0, 3])
def test_old_clients_join_at_once(api_version: int) -> None:
    world = World()
    answers = world.join(api_version=api_version)
    assert answers == []
    world.advance(INITIAL_DELAY_MS)
    assert answers[0].error_code == ErrorCode.NONE
    assert answers[0].leader == answers[0].member_id


def test_version_0_has_one_timeout() -> None:
    world = World()
    world.join(api_version=0)
    (member,) = world.group.members.by_id.values()
    assert member.rebalance_timeout_ms == SESSION_MS


def test_a_static_member_joins_at_once_under_its_instance_id() -> None:
    world = World()
    answers = world.join(instance_id="instance")
    world.advance(INITIAL_DELAY_MS)
    assert re.fullmatch(f"instance-{UUID}", answers[0].member_id)


def test_an_unknown_member_id_is_refused() -> None:
    world = World()
    assert world.join("nobody")[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.groups.get(GROUP) is None
    world.stable()
    assert world.join("nobody")[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_nobody_uses_expires_with_its_session() -> None:
    world = World()
    member_id = world.join()[0].member_id
    world.advance(SESSION_MS)
    assert not world.group.members.pending_joins
    assert world.join(member_id)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert not len(world.timers)


def test_a_rebalance_waits_for_ids_that_were_given_out() -> None:
    world = World()
    first, *_ = world.stable(1)
    world.join(session_ms=SESSION_MS // 2)
    answers = world.join(first)
    assert answers == []
    world.advance(SESSION_MS // 2)
    assert answers[0].generation_id == 2


def test_the_first_generation_waits_for_the_initial_delay() -> None:
    world = World()
    member_id, answers = world.join_with_id()
    world.advance(INITIAL_DELAY_MS - 1)
    assert answers == []
    world.advance(1)
    (answer,) = answers
    assert (answer.error_code, answer.generation_id, answer.leader) == (ErrorCode.NONE, 1, member_id)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert [member.member_id for member in answer.members] == [member_id]
    assert answer.members[0].metadata == subscription("topic")


def test_the_initial_delay_is_extended_while_members_come_but_not_beyond_the_rebalance_timeout() -> None:
    world = World()
    delay_ms = INITIAL_DELAY_MS
    answers = world.join_with_id(rebalance_ms=2 * delay_ms + 500)[1]
    started_ms = world.now_ms
    while not answers:
        world.join_with_id()  # somebody comes in every interval, for ever
        world.advance(500)
        assert world.now_ms - started_ms <= 3 * REBALANCE_MS, "it never ends"
    # One delay, and then whole delays until the timeout has no room for another: 3000 + 3000 + (500 at most).
    assert 2 * delay_ms <= world.now_ms - started_ms <= 2 * delay_ms + 500 + 500


def test_without_an_initial_delay_the_group_begins_with_the_next_tick() -> None:
    world = World()
    world.config.__dict__["group_initial_rebalance_delay_ms"] = 0
    answers = world.join(instance_id="i")
    world.advance(0)
    assert answers[0].generation_id == 1


def test_a_follower_that_missed_its_answer_gets_it_again() -> None:
    world = World()
    leader, follower = world.stable()
    (answer,) = world.join(follower)
    assert (answer.error_code, answer.generation_id, answer.leader) == (ErrorCode.NONE, 1, leader)
    assert not answer.members
    assert world.group.state_name == "Stable"


def test_a_leader_that_joins_makes_a_rebalance() -> None:
    world = World()
    leader, follower = world.stable()
    first, second = world.join(leader), []
    assert world.group.state_name == "PreparingRebalance"
    assert world.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    second = world.join(follower)
    assert [answer.generation_id for answer in first + second] == [2, 2]
    assert [member.member_id for member in first[0].members] == [leader, follower]


def test_other_metadata_makes_a_rebalance() -> None:
    world = World()
    _, follower = world.stable()
    assert world.join(follower, protocols=[("range", subscription("other"))]) == []
    assert world.group.state_name == "PreparingRebalance"


def test_in_completing_rebalance_the_same_metadata_gets_the_answer_again_and_other_metadata_rebalances() -> None:
    world = World()
    leader, follower = world.stable()
    world.join(leader)
    world.join(follower)
    assert world.group.state_name == "CompletingRebalance"
    (again,) = world.join(leader)
    assert (again.generation_id, len(again.members)) == (2, 2)
    waiting = world.sync(follower, 2)
    assert world.join(leader, protocols=[("range", subscription("other"))]) == []
    assert waiting[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_do_not_rejoin_in_time_are_gone() -> None:
    world = World()
    leader, follower = world.stable()
    answers = world.join(leader)
    for _ in range(REBALANCE_MS // 1000):
        assert answers == []
        world.heartbeat(follower, 1)  # alive, but it does not rejoin
        world.advance(1000)
    assert answers[0].generation_id == 2
    assert world.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_if_the_leader_does_not_rejoin_in_time_another_one_leads() -> None:
    world = World()
    rebalance_ms = SESSION_MS // 2
    leader, follower = world.stable(0, ["a", "b"], rebalance_ms=rebalance_ms)
    answers = world.join(follower, instance_id="b", protocols=[("range", b"other")], rebalance_ms=rebalance_ms)
    world.advance(rebalance_ms)
    assert [member.member_id for member in answers[0].members] == [leader, follower]
    assert answers[0].leader == follower


def test_a_second_join_takes_the_place_of_the_first() -> None:
    world = World()
    leader, _ = world.stable()
    first = world.join(leader)
    second = world.join(leader)
    assert [answer.error_code for answer in first] == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert second == []
    assert world.group.members.num_awaiting_join == 1


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("connect", [("range", b"")]), ("consumer", [("sticky", b"")]), ("consumer", []), ("", [("range", b"")])],
)
def test_protocols_that_not_all_support_are_refused(protocol_type: str, protocols: list[tuple[str, bytes]]) -> None:
    world = World()
    leader, _ = world.stable()
    for member_id in ("", leader):
        (answer,) = world.join(member_id, protocol_type=protocol_type, protocols=protocols)
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert answer.member_id == member_id
    assert world.group.state_name == "Stable"


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", [("range", b"")]), ("consumer", [])])
def test_a_group_is_not_made_for_nothing(protocol_type: str, protocols: list[tuple[str, bytes]]) -> None:
    world = World()
    (answer,) = world.join(protocol_type=protocol_type, protocols=protocols)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.groups.get(GROUP) is None


def test_the_protocol_with_the_most_votes_is_chosen_among_those_that_all_support() -> None:
    world = World()
    for names in (["a", "b", "c"], ["c", "b"], ["d", "b", "c"], ["b", "c"]):
        answers = world.join_with_id(protocols=[(name, b"") for name in names])[1]
    world.advance(2 * INITIAL_DELAY_MS)
    assert answers[0].protocol_name == "b"


def test_a_new_member_that_waits_too_long_has_to_join_again() -> None:
    world = World()
    leader, _ = world.stable(2, rebalance_ms=400_000)
    answers = world.join_with_id(rebalance_ms=400_000)[1]
    for _ in range(300):
        world.heartbeat(leader, 1)
        assert answers == []
        world.advance(1000)
    (answer,) = answers
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


class TestMaxSize:
    """group.max.size."""

    def test_a_full_group_refuses_new_members_and_keeps_its_own(self) -> None:
        world = World(group_max_size=2)
        leader, follower = world.stable()
        (answer,) = world.join()
        assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        assert world.join(follower)[0].error_code == ErrorCode.NONE
        first, second = world.join(leader), world.join(follower)
        assert [answer.generation_id for answer in first + second] == [2, 2]

    def test_while_members_rejoin_those_that_wait_are_counted(self) -> None:
        world = World(group_max_size=2)
        leader, follower = world.stable()
        first = world.join(leader)
        new_id, new = world.join_with_id()  # two wait now
        late = world.join(follower)
        assert late[0].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert not world.group.has_member(follower)
        assert not world.timers.is_scheduled(f"heartbeat-{GROUP}-{follower}")
        assert [member.member_id for member in first[0].members] == [leader, new_id]
        assert new[0].generation_id == 2

    def test_a_group_that_is_too_large_when_it_is_loaded_rebalances_and_shrinks(self) -> None:
        world = World()
        member_ids = world.stable(4)
        world.config.__dict__["group_max_size"] = 3
        world.reload()
        assert world.group.state_name == "PreparingRebalance"
        answers = [world.join(member_id) for member_id in member_ids]
        assert answers[3][0].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert [answer[0].error_code for answer in answers[:3]] == [0, 0, 0]
        assert world.group.num_members == 3


class TestNewGroup:
    """The record that makes a group, and what becomes of the join when it fails."""

    def test_a_failed_append_leaves_nothing(self) -> None:
        world = World()
        world.append_error = ErrorCode.NOT_COORDINATOR
        (answer,) = world.join(instance_id="i")
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
        assert world.groups.get(GROUP) is None
        assert not len(world.timers) and not world.log

    def test_members_that_come_before_the_commit_join_the_same_group(self) -> None:
        world = World()
        world.holds_commits = True
        first, second = world.join(instance_id="a"), world.join(instance_id="b")
        assert len(world.log) == 1
        assert world.group.num_members == 1
        world.commit()
        assert world.group.num_members == 2
        world.advance(2 * INITIAL_DELAY_MS)
        assert [answer.generation_id for answer in first + second] == [1, 1]

    def test_if_the_same_instance_came_twice_before_the_commit_the_first_one_tries_again(self) -> None:
        world = World()
        world.holds_commits = True
        first, second = world.join(instance_id="a"), world.join(instance_id="a")
        world.commit()
        assert first[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS
        assert second == []
