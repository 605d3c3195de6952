"""Static members: they come back under another id without a rebalance, and whoever had their place is fenced."""

import pytest

from ottla.common.error_code import ErrorCode
from tests.group.classic_world import GROUP, INITIAL_DELAY_MS, REBALANCE_MS, SESSION_MS, World, subscription


def _restart(world: World, instance_id: str, **options: object) -> str:
    (answer,) = world.join(instance_id=instance_id, **options)  # type: ignore[arg-type]
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    return answer.member_id


def test_a_follower_comes_back_without_a_rebalance() -> None:
    world = World()
    leader, old = world.stable(1, ["i"])
    written = len(world.log)
    (answer,) = world.join(instance_id="i")
    new = answer.member_id
    assert new != old and answer.leader == leader
    assert (answer.generation_id, answer.skip_assignment, answer.members) == (1, False, ())
    assert world.group.state_name == "Stable"
    assert len(world.log) == written + 1
    assert world.sync(new, 1, instance_id="i")[0].assignment == b"1"
    assert world.heartbeat(new, 1, "i") == ErrorCode.NONE


def test_a_leader_comes_back_and_is_told_to_skip_the_assignment() -> None:
    world = World()
    old, follower = world.stable(0, ["a", "b"])
    (answer,) = world.join(instance_id="a")
    assert answer.skip_assignment and answer.leader == answer.member_id != old
    assert [member.member_id for member in answer.members] == [follower, answer.member_id]
    assert world.group.state_name == "Stable"


def test_an_old_client_that_leads_takes_itself_for_a_follower() -> None:
    world = World()
    old, _ = world.stable(0, ["a", "b"])
    (answer,) = world.join(instance_id="a", api_version=8)
    assert (answer.skip_assignment, answer.leader, answer.members) == (False, old, ())
    assert answer.member_id != old


def test_other_metadata_makes_no_rebalance_while_the_same_protocol_is_chosen() -> None:
    world = World()
    world.stable(0, ["a", "b"])
    _restart(world, "b", protocols=[("range", subscription("other"))])
    assert world.group.state_name == "Stable"


def test_another_protocol_makes_a_rebalance() -> None:
    world = World()
    both = [("range", b"r"), ("sticky", b"s")]
    world.stable(0, ["a", "b", "c"], protocols=both)
    reverse = list(reversed(both))
    _restart(world, "a", protocols=reverse)
    assert world.join(instance_id="b", protocols=reverse) == []
    assert world.group.state_name == "PreparingRebalance"


def test_whoever_had_its_place_is_fenced_from_then_on() -> None:
    world = World()
    _, old = world.stable(1, ["i"])
    new = _restart(world, "i")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat(old, 1, "i") == fenced
    assert world.sync(old, 1, instance_id="i")[0].error_code == fenced
    assert world.join(old, instance_id="i")[0].error_code == fenced
    assert world.leave((old, "i")).members[0].error_code == fenced
    with pytest.raises(Exception) as refused:
        world.group.validate_offset_commit(old, "i", 1, is_transactional=False, api_version=9)
    assert refused.value.code == fenced  # type: ignore[attr-defined]
    assert world.heartbeat(old, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert not world.timers.is_scheduled(f"heartbeat-{GROUP}-{old}")
    assert world.timers.is_scheduled(f"heartbeat-{GROUP}-{new}")


def test_an_instance_that_is_not_there_is_unknown() -> None:
    world = World()
    leader, _ = world.stable()
    assert world.heartbeat(leader, 1, "nobody") == ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_waits_when_it_is_replaced_is_fenced_at_once() -> None:
    world = World()
    leader, old = world.stable(1, ["i"])
    joining = world.join(leader)
    waiting = world.join(old, instance_id="i", protocols=[("range", b"other")])
    assert waiting == [] or waiting[0].generation_id == 2
    world = World()
    leader, old = world.stable(1, ["i"])
    world.join_with_id()  # one is missing, so everybody waits
    joining, waiting = world.join(old, instance_id="i"), world.join(instance_id="i")
    assert (joining[0].error_code, joining[0].member_id) == (ErrorCode.FENCED_INSTANCE_ID, old)
    assert waiting == []


def test_in_completing_rebalance_a_replacement_rebalances_and_fences_whoever_waits_for_its_assignment() -> None:
    world = World()
    leader, old = world.stable(1, ["i"])
    world.join(leader)
    world.join(old, instance_id="i")
    assert world.group.state_name == "CompletingRebalance"
    waiting = world.sync(old, 2, instance_id="i")
    assert world.join(instance_id="i") == []
    assert waiting[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.group.state_name == "PreparingRebalance"
    assert world.sync(leader, 2, {leader: b"x"})[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_replacement_survives_a_new_coordinator() -> None:
    world = World()
    leader, old = world.stable(1, ["i"])
    new = _restart(world, "i")
    world.reload()
    assert world.heartbeat(new, 1, "i") == ErrorCode.NONE
    assert world.heartbeat(old, 1, "i") == ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat(leader, 1) == ErrorCode.NONE
    assert world.sync(new, 1, instance_id="i")[0].assignment == b"1"


def test_if_the_replacement_cannot_be_written_the_old_one_stays() -> None:
    world = World()
    old, _ = world.stable(0, ["a", "b"])
    world.append_error = ErrorCode.NOT_COORDINATOR
    (answer,) = world.join(instance_id="a", protocols=[("range", b"other"), ("more", b"")], session_ms=SESSION_MS * 2)
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert world.heartbeat(old, 1, "a") == ErrorCode.NONE
    member = world.group.members.by_id[old]
    assert member.supported_protocols == {"range": subscription("topic")}
    assert member.session_timeout_ms == SESSION_MS
    assert world.group.members.protocol_counts == {"range": 2}
    assert world.group.members.leader_id == old
    assert len(world.timers) == 2


def test_if_a_rebalance_begins_before_the_replacement_is_committed_it_counts_the_join() -> None:
    world = World()
    leader, _ = world.stable(1, ["i"])
    world.holds_commits = True
    replacing = world.join(instance_id="i")
    rejoining = world.join(leader)  # everybody has joined now
    assert [answer.generation_id for answer in replacing + rejoining] == [2, 2]
    world.commit()
    assert len(replacing) == 1


def test_the_session_of_a_replacement_lasts_from_its_answer() -> None:
    world = World()
    leader, _ = world.stable(1, ["i"])
    world.holds_commits = True
    replacing = world.join(instance_id="i")
    for _ in range(2 * SESSION_MS // 1000):
        world.advance(1000)
        world.heartbeat(leader, 1)
    world.commit()
    new = replacing[0].member_id
    world.advance(SESSION_MS - 1)
    world.heartbeat(leader, 1)
    assert world.heartbeat(new, 1, "i") == ErrorCode.NONE
    for _ in range(SESSION_MS // 1000):
        world.advance(1000)
        world.heartbeat(leader, 1)
    assert not world.group.has_member(new)


def test_a_replacement_is_answered_when_the_coordinator_leaves() -> None:
    world = World()
    world.stable(1, ["i"])
    world.holds_commits = True
    replacing = world.join(instance_id="i")
    world.reload()
    assert [answer.error_code for answer in replacing] == [ErrorCode.NOT_COORDINATOR]


def test_a_static_member_that_does_not_rejoin_stays_until_its_session_ends() -> None:
    world = World()
    leader, static = world.stable(1, ["i"], rebalance_ms=SESSION_MS // 2)
    answers = world.join(leader, rebalance_ms=SESSION_MS // 2)
    world.advance(SESSION_MS // 2)
    assert [member.member_id for member in answers[0].members] == [leader, static]
    assert world.group.has_member(static)


def test_a_rebalance_that_only_absent_static_members_could_complete_waits_for_their_sessions() -> None:
    world = World()
    leader, static = world.stable(1, ["i"], rebalance_ms=SESSION_MS // 2)
    world.leave((leader, None))
    for _ in range(3):
        world.heartbeat(static, 1, "i")
        world.advance(SESSION_MS // 2)
        assert world.group.state_name == "PreparingRebalance"
    world.advance(SESSION_MS)
    assert world.group.state_name == "Empty"
    assert not len(world.timers)


def test_one_that_comes_back_before_it_has_synced_must_still_sync() -> None:
    world = World()
    leader, _ = world.stable(1, ["i"])
    world.join(leader)
    old = world.group.members.static_member_ids["i"]
    world.join(old, instance_id="i")
    world.sync(leader, 2, {leader: b"l", old: b"s"})
    assert world.group.state_name == "Stable"
    new = world.join(instance_id="i")[0].member_id
    assert world.sync(new, 2, instance_id="i")[0].assignment == b"s"
    for _ in range(2 * REBALANCE_MS // 1000):
        assert world.heartbeat(new, 2, "i") == ErrorCode.NONE
        assert world.heartbeat(leader, 2) == ErrorCode.NONE
        world.advance(1000)
    assert world.group.state_name == "Stable"


def test_a_rolling_restart_makes_no_rebalance() -> None:
    world = World()
    instances = [f"i{index}" for index in range(5)]
    members = dict(zip(instances, world.stable(0, instances), strict=True))
    for index, instance in enumerate(instances):
        world.advance(INITIAL_DELAY_MS)
        members[instance] = _restart(world, instance)
        (answer,) = world.sync(members[instance], 1, instance_id=instance)
        assert answer.assignment == b"%d" % index
        for other, member_id in members.items():
            assert world.heartbeat(member_id, 1, other) == ErrorCode.NONE
    assert world.group.generation_id == 1
