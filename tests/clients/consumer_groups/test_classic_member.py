"""A classic member under every order of answers, failures, polls and changes."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.consumer.assignors.range import RangeAssignor
from ottla.clients.consumer.classic.generation import ClassicSettings
from ottla.clients.consumer.classic.member import ClassicMember
from ottla.clients.consumer.member_machine import DutyKind
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.clients.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalStateError,
    RebalanceInProgressError,
)
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.network.client_errors import NetworkError
from ottla.protocol.consumer_protocol import decode_subscription, encode_assignment
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.clients.consumer_groups.classic_world import ClassicWorld, Script
from tests.clients.consumer_groups.member_world import MAX_POLL_INTERVAL_MS


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(["range", "cooperative-sticky"]))
def test_callbacks_are_balanced_and_nothing_stalls(seed: int, strategy: str) -> None:
    rng = Random(seed)
    world = ClassicWorld(rng, strategy, rng.choice([None, "static"]))
    for _ in range(rng.randint(1, 120)):
        world.wild_step()
    world.become_quiet()


def test_a_member_joins_and_gets_partitions() -> None:
    script = Script()
    assert script.state() is MembershipState.JOINING
    script.join()
    assert script.state() is MembershipState.STABLE
    assert script.member.owned == {TopicPartition("a", 0), TopicPartition("a", 1)}
    assert script.member.group_metadata == ("g", 1, "me", None)
    assert script.member.commit_error(script.member.owned) is None


def test_an_eager_member_gives_everything_up_before_it_joins_again() -> None:
    script = Script()
    script.join()
    script.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert script.member.next_request(script.world.now_ms) is None, "not before the user gave up its partitions"
    assert script.member.needs_user()
    assert script.finish_duties() == [("revoke", [0, 1])]
    script.join(2, (1,))
    assert script.member.owned == {TopicPartition("a", 1)}


def test_a_cooperative_member_keeps_what_it_has_and_joins_twice_when_it_must_give_up_some() -> None:
    script = Script("cooperative-sticky")
    script.join(1, (0, 1))
    script.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    request = script.next(JoinGroupRequest)
    assert isinstance(request, JoinGroupRequest)
    said = decode_subscription(request.protocols[0].metadata)
    assert [(owned.topic, list(owned.partitions)) for owned in said.owned_partitions] == [("a", [0, 1])]
    assert said.generation_id == 1
    joined = JoinGroupResponse(generation_id=2, member_id="me", leader="x", protocol_name="cooperative-sticky")
    script.answer(request, joined)
    commit = script.member.commit_error([TopicPartition("a", 0)])
    assert isinstance(commit, RebalanceInProgressError)
    assert commit.retriable, "what is still owned can wait for the end of the rebalance"
    assert not script.member.commit_error([TopicPartition("a", 2)]).retriable  # type: ignore[union-attr]
    sync = script.next(SyncGroupRequest)
    script.answer(sync, SyncGroupResponse(assignment=encode_assignment([("a", [1])])))
    assert script.finish_duties() == [("revoke", [0]), ("assign", [])]
    again = script.next(JoinGroupRequest)
    assert isinstance(again, JoinGroupRequest)
    assert again.reason == "need to revoke partitions and re-join"


def test_a_commit_does_not_wait_for_a_join_that_waits_for_it() -> None:
    script = Script("cooperative-sticky")
    script.join(1, (0, 1))
    script.heartbeat(ErrorCode.REBALANCE_IN_PROGRESS)
    script.member.handle_failure(script.next(JoinGroupRequest), NetworkError("gone"), script.world.now_ms)
    owned = script.member.owned
    assert script.member.commit_error(owned).retriable  # type: ignore[union-attr]
    script.member.start(Subscription(frozenset({"b"})), script.world.now_ms)
    assert script.member.duty() == (DutyKind.REVOKE, owned)
    assert not script.member.commit_error(owned).retriable  # type: ignore[union-attr]
    script.member.postpone()
    assert script.finish_duties() == [("revoke", [0, 1])]


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_member_that_was_dropped_loses_its_partitions_and_joins_again(code: ErrorCode) -> None:
    script = Script()
    script.join()
    script.heartbeat(code)
    assert script.state() is MembershipState.FENCED
    assert isinstance(script.member.commit_error(script.member.owned), CommitFailedError)
    assert code.name in str(script.member.commit_error(script.member.owned))
    assert script.finish_duties() == [("lose", [0, 1])]
    script.world.now_ms += 100
    request = script.next(JoinGroupRequest)
    assert isinstance(request, JoinGroupRequest)
    assert request.member_id == ("me" if code == ErrorCode.ILLEGAL_GENERATION else "")


def test_a_fenced_static_member_is_done_for() -> None:
    script = Script(instance="one")
    script.join()
    script.heartbeat(ErrorCode.FENCED_INSTANCE_ID)
    assert script.state() is MembershipState.FATAL
    assert isinstance(script.member.error, FencedInstanceIdError)
    assert script.finish_duties() == [("lose", [0, 1])]
    script.world.now_ms += 60_000
    script.member.poll(script.world.now_ms)
    assert script.member.next_request(script.world.now_ms) is None
    assert isinstance(script.member.commit_error([]), FencedInstanceIdError)


def test_a_member_whose_user_does_not_poll_leaves_and_says_so() -> None:
    script = Script()
    script.join()
    for _ in range(MAX_POLL_INTERVAL_MS // 300):
        script.heartbeat()
    script.world.now_ms += 300
    request = script.next(LeaveGroupRequest)
    assert isinstance(request, LeaveGroupRequest)
    assert request.members[0].reason == "consumer poll timeout has expired."
    assert script.state() is MembershipState.STALLED
    assert "max.poll.interval.ms=10000" in script.member.reason
    assert "max.poll.interval.ms=10000" in str(script.member.commit_error(script.member.owned))
    assert script.member.next_request(script.world.now_ms + 1000) is None, "it does not join before the user polls"
    script.world.now_ms += 1000
    script.member.poll(script.world.now_ms)
    assert script.finish_duties() == [("lose", [0, 1])]
    script.join(2)
    assert script.state() is MembershipState.STABLE


def test_a_blocked_event_loop_is_named_in_the_error() -> None:
    script = Script()
    script.join()
    script.member._watch.woke_up(script.world.now_ms, script.world.now_ms + 7_000)
    script.world.now_ms += 7_000
    script.heartbeat(ErrorCode.UNKNOWN_MEMBER_ID)
    error = script.member.commit_error(script.member.owned)
    assert "the event loop was blocked for 7.0 s" in str(error)
    assert "asyncio.to_thread" in str(error)


def test_the_leader_assigns_and_joins_again_when_the_metadata_changes() -> None:
    script = Script()
    request = script.next(JoinGroupRequest)
    script.answer(request, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me"))
    request = script.next(JoinGroupRequest)
    assert isinstance(request, JoinGroupRequest)
    metadata = request.protocols[0].metadata
    members = [JoinGroupResponseMember(member_id=name, metadata=metadata) for name in ("me", "you")]
    joined = JoinGroupResponse(generation_id=1, member_id="me", leader="me", protocol_name="range", members=members)
    script.answer(request, joined)
    assert script.member.must_lead
    sync = script.next(SyncGroupRequest)
    assert isinstance(sync, SyncGroupRequest)
    assert {one.member_id for one in sync.assignments} == {"me", "you"}
    script.answer(sync, SyncGroupResponse(assignment=sync.assignments[0].assignment))
    assert script.finish_duties() == [("assign", [0, 1])]
    script.member.update_metadata(script.world.metadata())
    assert not script.member.needs_user(), "nothing has changed"
    script.world.topics["a"] = 4
    script.member.update_metadata(script.world.metadata())
    assert script.finish_duties() == [("revoke", [0, 1])]
    again = script.next(JoinGroupRequest)
    assert isinstance(again, JoinGroupRequest)
    assert again.reason == "cached metadata has changed"


def test_refused_commits_tell_whether_the_group_went_on_without_us() -> None:
    script = Script()
    script.join()
    sent = script.member.group_metadata
    refused = script.member.commit_refused(sent, ErrorCode.REBALANCE_IN_PROGRESS)
    assert isinstance(refused, RebalanceInProgressError)
    assert script.finish_duties() == [("revoke", [0, 1])]
    script.join(2)
    assert isinstance(script.member.commit_refused(sent, ErrorCode.ILLEGAL_GENERATION), CommitFailedError)
    assert script.state() is MembershipState.STABLE, "an old commit's refusal says nothing of the new generation"
    sent = script.member.group_metadata
    assert isinstance(script.member.commit_refused(sent, ErrorCode.UNKNOWN_MEMBER_ID), CommitFailedError)
    assert script.state() is MembershipState.FENCED


def test_an_error_that_no_retry_heals_is_told_and_the_member_tries_again() -> None:
    script = Script()
    request = script.next(JoinGroupRequest)
    script.answer(request, JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED))
    script.world.now_ms += 1000
    assert script.member.next_request(script.world.now_ms) is None, "not before the user knows"
    error = script.member.take_error()
    assert error is not None
    assert error.code == ErrorCode.GROUP_MAX_SIZE_REACHED
    script.join()


def test_a_coordinator_that_is_silent_is_looked_for_again() -> None:
    script = Script()
    script.join()
    script.world.now_ms += 300
    lost = script.next(HeartbeatRequest)
    deadline_ms = script.member.deadline_ms(script.world.now_ms)
    assert not script.member.is_session_over(deadline_ms - 1)
    script.world.now_ms = deadline_ms
    assert script.member.is_session_over(deadline_ms)
    assert not script.member.is_session_over(deadline_ms), "once"
    script.world.now_ms += 100
    script.answer(script.next(HeartbeatRequest), HeartbeatResponse())
    script.answer(lost, HeartbeatResponse())
    assert script.state() is MembershipState.STABLE


@pytest.mark.parametrize("method", ["subscription_user_data", "assign", "on_assignment"])
def test_what_an_assignor_of_the_users_raises_is_told(method: str) -> None:
    def raises(*_: object) -> None:
        raise ZeroDivisionError("oh")

    bad = type("Bad", (RangeAssignor,), {method: raises})()
    member = ClassicMember(ClassicSettings("g", (bad,), "static"), PollWatch(MAX_POLL_INTERVAL_MS))
    world = Script().world
    member.update_metadata(world.metadata())
    member.start(Subscription(frozenset({"a"})), 1000)
    join = member.next_request(1000)
    if isinstance(join, JoinGroupRequest):
        members = [JoinGroupResponseMember(member_id="me", metadata=join.protocols[0].metadata)]
        joined = JoinGroupResponse(generation_id=1, member_id="me", leader="me", protocol_name="range", members=members)
        member.handle_response(join, joined, 1000)
        member.lead(world.metadata())
        sync = member.next_request(1000)
        if isinstance(sync, SyncGroupRequest):
            member.handle_response(sync, SyncGroupResponse(assignment=sync.assignments[0].assignment), 1000)
    assert member.needs_user()
    error = member.take_error()
    assert isinstance(error, IllegalStateError)
    assert "ZeroDivisionError('oh')" in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)
    again = member.next_request(2000)
    assert isinstance(again, JoinGroupRequest) == (method == "assign"), "it goes on, or fails again"


def test_a_coordinator_that_moved_is_looked_up() -> None:
    script = Script()
    script.join()
    assert not script.heartbeat(ErrorCode.NOT_COORDINATOR)
    script.world.now_ms += 100
    script.heartbeat()
    assert script.state() is MembershipState.STABLE
