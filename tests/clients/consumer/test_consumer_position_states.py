"""Positions: resets, new leaders, truncated logs, and who may be subscribed to what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.consumer.offset_reset_policy import EARLIEST, LATEST, NONE, OffsetResetPolicy
from ottla.clients.consumer.pace import SLOW_MS, Pace
from ottla.clients.consumer.partition_state import LEGAL, FetchPosition, FetchState
from ottla.clients.consumer.position_validation import complete_validation, leader_epoch_request
from ottla.clients.consumer.record_errors import PositionTruncatedError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import IllegalStateError, InvalidConfigError, TopicAuthorizationError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

P = TopicPartition("t", 0)


def assigned(policy: OffsetResetPolicy = EARLIEST) -> SubscriptionState:
    subscription = SubscriptionState(policy)
    subscription.assign([P])
    return subscription


def answer(end_offset: int, epoch: int, code: int = 0) -> OffsetForLeaderEpochResponse:
    end = EpochEndOffset(error_code=code, partition=0, leader_epoch=epoch, end_offset=end_offset)
    return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic="t", partitions=[end])])


def unvalidated(policy: OffsetResetPolicy = EARLIEST) -> tuple[SubscriptionState, dict[TopicPartition, FetchPosition]]:
    subscription = assigned(policy)
    subscription.seek(P, 10, 3)
    subscription.leader_changed(P, 5)
    state = subscription.state(P)
    assert state.fetch_state is FetchState.AWAIT_VALIDATION
    assert state.position == FetchPosition(10, 3, 5)
    request = leader_epoch_request({P: FetchPosition(10, 3, 5)})
    asked = request.topics[0].partitions[0]
    assert (asked.current_leader_epoch, asked.leader_epoch) == (5, 3)
    return subscription, {P: FetchPosition(10, 3, 5)}


def test_a_position_that_the_new_leader_has_goes_on() -> None:
    subscription, positions = unvalidated()
    assert complete_validation(subscription, positions, answer(10, 3)) == ([], [])
    assert subscription.state(P).is_fetchable


def test_a_truncated_log_moves_the_position_to_where_the_logs_part() -> None:
    subscription, positions = unvalidated()
    assert complete_validation(subscription, positions, answer(7, 2)) == ([], [])
    assert subscription.state(P).position == FetchPosition(7, 2, 5)
    assert subscription.state(P).is_fetchable


def test_an_unknown_epoch_is_a_reset() -> None:
    subscription, positions = unvalidated()
    assert complete_validation(subscription, positions, answer(-1, -1)) == ([], [])
    assert subscription.state(P).fetch_state is FetchState.AWAIT_RESET


def test_a_leader_that_is_older_than_the_position_is_asked_again_before_a_reset() -> None:
    """Somebody committed under a newer leader than ours; only if there is none was the topic made again."""
    subscription = assigned()
    subscription.seek(P, 10, 5)
    subscription.leader_changed(P, 3)
    positions = {P: FetchPosition(10, 5, 3)}
    assert complete_validation(subscription, positions, answer(-1, -1)) == ([P], [])
    assert subscription.state(P).fetch_state is FetchState.AWAIT_VALIDATION
    subscription.leader_changed(P, 6)
    assert complete_validation(subscription, {P: FetchPosition(10, 5, 6)}, answer(12, 5)) == ([], [])
    assert subscription.state(P).is_fetchable
    subscription.leader_changed(P, 3)
    assert complete_validation(subscription, positions, answer(-1, -1)) == ([P], []), "doubts do not last"
    assert complete_validation(subscription, positions, answer(-1, -1)) == ([], [])
    assert subscription.state(P).fetch_state is FetchState.AWAIT_RESET


def test_truncation_without_a_policy_is_the_users_business() -> None:
    subscription, positions = unvalidated(NONE)
    _, (error,) = complete_validation(subscription, positions, answer(7, 2))
    assert isinstance(error, PositionTruncatedError)
    assert error.divergent is not None
    assert (error.partition, error.offset, error.divergent.offset) == (P, 10, 7)
    assert subscription.state(P).fetch_state is FetchState.AWAIT_VALIDATION
    subscription.seek(P, 7)
    assert subscription.state(P).is_fetchable


def test_answers_that_come_too_late_or_with_errors() -> None:
    subscription, positions = unvalidated()
    assert complete_validation(subscription, positions, answer(0, 0, ErrorCode.FENCED_LEADER_EPOCH)) == ([P], [])
    retry, errors = complete_validation(subscription, positions, answer(0, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert (retry, [type(error) for error in errors]) == ([], [TopicAuthorizationError])
    subscription.seek(P, 99)
    assert complete_validation(subscription, positions, answer(7, 2)) == ([], [])
    assert subscription.state(P).position == FetchPosition(99)


def test_a_reset_that_was_overtaken_is_left_out() -> None:
    subscription = assigned()
    subscription.request_reset(P)
    subscription.request_reset(P, LATEST)
    assert not subscription.complete_reset(P, EARLIEST, 0, 0)
    assert subscription.complete_reset(P, LATEST, 50, 4)
    assert subscription.state(P).position == FetchPosition(50, 4)
    assert not subscription.complete_reset(P, LATEST, 60, 4)
    subscription.unsubscribe()
    assert not subscription.complete_reset(P, LATEST, 60, 4)


def test_kinds_of_subscription_exclude_each_other() -> None:
    subscription = assigned()
    with pytest.raises(IllegalStateError):
        subscription.subscribe_topics(["t"])
    subscription.unsubscribe()
    assert subscription.subscribe_topics(["t"])
    assert not subscription.subscribe_topics(["t"])
    with pytest.raises(IllegalStateError):
        subscription.assign([P])
    subscription.assign_from_group([P], pending_callback=True)
    subscription.seek(P, 3)
    assert not subscription.state(P).is_fetchable, "the listener has not returned"
    assert subscription.consumed() == {}
    subscription.callback_done([P])
    assert subscription.state(P).is_fetchable
    assert subscription.consumed()[P].offset == 3
    subscription.mark_pending_revocation([P])
    assert not subscription.state(P).is_fetchable


steps = st.lists(
    st.sampled_from(["seek", "seek-epoch", "reset", "complete", "leader", "validated", "advance", "assign"]),
    max_size=30,
)


@given(steps)
def test_every_step_is_legal(todo: list[str]) -> None:
    subscription = assigned()
    epoch = 0
    for step in todo:
        state = subscription.state(P)
        before = state.fetch_state
        if step == "seek":
            subscription.seek(P, 1)
        elif step == "seek-epoch":
            subscription.seek(P, 1, epoch)
        elif step == "reset":
            subscription.request_reset(P)
        elif step == "complete":
            subscription.complete_reset(P, EARLIEST, 0, epoch)
        elif step == "leader":
            epoch += 1
            subscription.leader_changed(P, epoch)
        elif step == "validated" and state.position is not None:
            subscription.complete_validation(P, state.position)
        elif step == "advance" and state.position is not None:
            subscription.advance(P, state.position.offset + 1, epoch)
        elif step == "assign":
            subscription.assign([P])
        after = subscription.state(P)
        assert after.fetch_state is before or after.fetch_state in LEGAL[before]
        assert (after.position is not None) == (after.fetch_state in (FetchState.FETCHING, FetchState.AWAIT_VALIDATION))


def test_policies() -> None:
    assert OffsetResetPolicy.parse("earliest").timestamp_ms(5) == -2
    assert OffsetResetPolicy.parse("latest").timestamp_ms(5) == -1
    assert OffsetResetPolicy.parse("none").is_none
    assert OffsetResetPolicy.parse("by_duration:PT1H").timestamp_ms(3_600_005) == 5
    assert OffsetResetPolicy.parse("by_duration:P1D").timestamp_ms(5) == 0
    for wrong in ("soonest", "by_duration", "by_duration:", "by_duration:-PT1H", "by_duration:1h"):
        with pytest.raises(InvalidConfigError):
            OffsetResetPolicy.parse(wrong)
    assert issubclass(PositionTruncatedError, KafkaError)


def test_a_slow_user_gets_fewer_at_a_time() -> None:
    pace = Pace(8)
    assert [pace.next_size(0) for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    now_ms = 0
    sizes = []
    for _ in range(5):
        now_ms += SLOW_MS
        sizes.append(pace.next_size(now_ms))
    assert sizes == [4, 2, 1, 1, 1]
    pace.pause()
    assert pace.next_size(now_ms + 10_000) == 1
    assert pace.next_size(now_ms + 10_000) == 2
