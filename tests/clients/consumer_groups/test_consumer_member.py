"""A member of a consumer group (KIP-848) under every order of answers, failures, polls and changes."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.consumer.consumer_protocol.consumer_state import ConsumerState
from ottla.clients.consumer.consumer_protocol.heartbeat_fields import ConsumerSettings
from ottla.clients.consumer.consumer_protocol.member import ConsumerMember
from ottla.clients.consumer.member_machine import CommitWaitsError
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.clients.errors import CommitFailedError, KafkaError, UnsupportedVersionError
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)
from tests.clients.consumer_groups.member_world import MAX_POLL_INTERVAL_MS, MemberWorld, topic_id

INTERVAL_MS = 300
ERRORS = [
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
]
FATAL = [
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
    ErrorCode.UNSUPPORTED_VERSION,
]

Target = frozenset[tuple[Uuid, int]]


def assignment(target: Target) -> Assignment:
    """A target as the coordinator writes it."""
    topics: dict[Uuid, list[int]] = {}
    for one, partition in sorted(target):
        topics.setdefault(one, []).append(partition)
    return Assignment(
        topic_partitions=[
            ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=one, partitions=partitions)
            for one, partitions in topics.items()
        ]
    )


class ConsumerWorld(MemberWorld):
    """The coordinator of a consumer group, with one target at a time."""

    machine: ConsumerMember

    def __init__(self, rng: Random, instance: str | None = None) -> None:
        self.instance = instance
        self.epoch = 0
        self.target: Target = frozenset()
        self.is_target_new = True
        self.heard: Target = frozenset()
        super().__init__(rng)

    def make_machine(self) -> ConsumerMember:
        watch = PollWatch(MAX_POLL_INTERVAL_MS)
        made = ConsumerSettings("g", "me", self.instance, max_poll_interval_ms=MAX_POLL_INTERVAL_MS)
        return ConsumerMember(made, watch)

    def check(self) -> None:
        super().check()
        assert sum(request is self.machine._heartbeat for request in self.in_flight) <= 1

    def draw_target(self) -> None:
        """Some partitions of topics that exist."""
        self.target = frozenset(
            (topic_id(name, self.lives[name]), index)
            for name, count in self.topics.items()
            for index in range(count)
            if self.rng.random() < 0.5
        )
        self.is_target_new = True

    def answer(self, request: Message, *, kind: bool) -> Message | None:
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        if not kind and self.rng.random() < 0.25:
            fatal = self.rng.random() < 0.05
            return ConsumerGroupHeartbeatResponse(error_code=self.rng.choice(FATAL if fatal else ERRORS))
        if request.member_epoch < 0:
            return ConsumerGroupHeartbeatResponse(member_epoch=request.member_epoch)
        is_full = request.subscribed_topic_names is not None
        if request.member_epoch == 0:
            assert is_full, "who joins says everything"
            assert request.topic_partitions == [], "who joins has nothing"
            assert request.rebalance_timeout_ms == MAX_POLL_INTERVAL_MS
        if request.topic_partitions is not None:
            self.heard = frozenset(
                (one.topic_id, index) for one in request.topic_partitions for index in one.partitions
            )
        if not kind and self.rng.random() < 0.4:
            self.draw_target()
        tells = self.is_target_new or is_full or request.topic_partitions is not None
        self.is_target_new = False
        self.epoch += tells
        return ConsumerGroupHeartbeatResponse(
            member_epoch=self.epoch + 1,
            heartbeat_interval_ms=INTERVAL_MS,
            assignment=assignment(self.target) if tells else None,
        )

    def become_quiet(self) -> None:
        self.draw_target()
        super().become_quiet()
        if self.machine.error is None:
            names = {topic_id(name, self.lives[name]): name for name in self.topics}
            assert self.owned == {TopicPartition(names[one], index) for one, index in self.target}

    def is_settled(self) -> bool:
        if self.machine.state is MembershipState.FATAL:
            return not self.owned
        return super().is_settled() and not self.is_target_new and self.heard == self.target


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_callbacks_are_balanced_and_nothing_stalls(seed: int) -> None:
    rng = Random(seed)
    world = ConsumerWorld(rng, rng.choice([None, "static"]))
    for _ in range(rng.randint(1, 150)):
        world.wild_step()
    world.become_quiet()


class Script:
    """A member in a story told step by step, with the topic "a" of three partitions."""

    def __init__(self, instance: str | None = None, subscription: Subscription | None = None) -> None:
        self.world = ConsumerWorld(Random(1), instance)
        self.member = self.world.machine
        self.member.start(subscription or Subscription(frozenset({"a"})), 1000)

    def state(self) -> ConsumerState:
        """Where the member stands now."""
        return self.member.consumer_state

    def next(self) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat."""
        request = self.member.next_request(self.world.now_ms)
        assert isinstance(request, ConsumerGroupHeartbeatRequest), request
        return request

    def beat(
        self, epoch: int, partitions: tuple[int, ...] | None = None, *, life: int = 0
    ) -> ConsumerGroupHeartbeatRequest:
        """A heartbeat and its answer; what was sent."""
        self.world.now_ms += INTERVAL_MS
        request = self.next()
        target = None
        if partitions is not None:
            target = assignment(frozenset((topic_id("a", life), index) for index in partitions))
        response = ConsumerGroupHeartbeatResponse(
            member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS, assignment=target
        )
        assert self.member.handle_response(request, response, self.world.now_ms)
        return request

    def refuse(self, code: ErrorCode) -> bool:
        """A heartbeat that is refused."""
        self.world.now_ms += INTERVAL_MS
        response = ConsumerGroupHeartbeatResponse(error_code=code, error_message="no")
        return self.member.handle_response(self.next(), response, self.world.now_ms)

    def finish_duties(self) -> list[tuple[str, list[int]]]:
        """Perform what is due; what it was."""
        done = []
        while (duty := self.member.duty()) is not None:
            done.append((duty.kind.value, sorted(partition.partition for partition in duty.partitions)))
            self.member.done(duty)
        return done

    def join(self) -> None:
        """In the group with partitions 0 and 1, acknowledged."""
        self.beat(1, (0, 1))
        self.finish_duties()
        self.beat(1)


def test_a_member_joins_reconciles_and_acknowledges() -> None:
    script = Script()
    first = script.beat(1, (0, 1))
    assert first.member_epoch == 0
    assert first.subscribed_topic_names == ["a"]
    assert script.state() is ConsumerState.RECONCILING
    assert script.finish_duties() == [("assign", [0, 1])]
    assert script.state() is ConsumerState.ACKNOWLEDGING
    told = script.next()
    assert script.state() is ConsumerState.STABLE
    assert told.topic_partitions is not None
    assert [(one.topic_id, list(one.partitions)) for one in told.topic_partitions] == [(topic_id("a"), [0, 1])]
    assert told.subscribed_topic_names is None, "only what is new"
    assert script.member.group_metadata == ("g", 1, "me", None)


def test_what_was_said_is_not_said_again_until_something_fails() -> None:
    script = Script()
    script.join()
    quiet = script.beat(1)
    assert quiet.subscribed_topic_names is None
    assert quiet.topic_partitions is None
    script.refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    full = script.beat(1)
    assert full.subscribed_topic_names == ["a"]
    assert full.topic_partitions is not None


def test_revocation_comes_before_assignment() -> None:
    script = Script()
    script.join()
    script.beat(2, (1, 2))
    assert script.finish_duties() == [("revoke", [0]), ("assign", [2])]


def test_a_topic_that_was_made_again_is_another_topic() -> None:
    script = Script()
    script.join()
    script.world.lives["a"] = 1
    script.member.update_metadata(script.world.metadata())
    script.beat(2, (0,), life=1)
    assert script.finish_duties() == [("revoke", [0, 1]), ("assign", [0])]


def test_partitions_of_a_topic_that_is_not_known_wait_for_metadata() -> None:
    script = Script()
    script.beat(1, (0, 1), life=1)
    assert script.finish_duties() == []
    assert script.member.needs_metadata
    assert "metadata" in script.member.reason
    script.world.lives["a"] = 1
    script.member.update_metadata(script.world.metadata())
    assert script.finish_duties() == [("assign", [0, 1])]


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_loses_its_partitions_and_joins_again_with_its_id(code: ErrorCode) -> None:
    script = Script()
    script.join()
    script.refuse(code)
    assert script.member.state is MembershipState.FENCED
    assert isinstance(script.member.commit_error(()), CommitFailedError)
    assert script.member.next_request(script.world.now_ms) is None
    assert script.finish_duties() == [("lose", [0, 1])]
    again = script.next()
    assert (again.member_id, again.member_epoch, again.topic_partitions) == ("me", 0, [])


@pytest.mark.parametrize("code", FATAL)
def test_what_no_retry_heals_is_fatal(code: ErrorCode) -> None:
    script = Script("static")
    script.join()
    script.refuse(code)
    assert script.member.state is MembershipState.FATAL
    assert isinstance(script.member.error, KafkaError)
    assert script.member.error.code == code
    assert script.finish_duties() == [("lose", [0, 1])]
    script.world.now_ms += 60_000
    script.member.poll(script.world.now_ms)
    assert script.member.next_request(script.world.now_ms) is None


def test_an_old_broker_is_told_from_a_broken_one() -> None:
    script = Script()
    script.member.handle_failure(script.next(), UnsupportedVersionError("none"), script.world.now_ms)
    assert "group.protocol=classic" in str(script.member.error)


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("static", -2)])
def test_a_member_whose_user_does_not_poll_leaves_until_it_does(instance: str | None, epoch: int) -> None:
    script = Script(instance)
    script.join()
    script.world.now_ms += MAX_POLL_INTERVAL_MS
    assert script.next().member_epoch == epoch
    assert script.state() is ConsumerState.STALE
    assert "max.poll.interval.ms" in script.member.reason
    assert "max.poll.interval.ms" in str(script.member.commit_error(()))
    assert script.member.next_request(script.world.now_ms + 1000) is None
    script.member.poll(script.world.now_ms)
    assert script.finish_duties() == [("lose", [0, 1])]
    assert script.next().member_epoch == 0


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("static", -2)])
def test_leaving(instance: str | None, epoch: int) -> None:
    script = Script(instance)
    script.join()
    duty = script.member.leaving_duty()
    assert duty is not None
    assert duty.kind.value == "revoke"
    script.member.done(duty)
    goodbye = script.member.leave("test")
    assert isinstance(goodbye, ConsumerGroupHeartbeatRequest)
    assert goodbye.member_epoch == epoch
    assert script.member.state is MembershipState.UNJOINED
    assert script.member.commit_error(()) is None, "without a subscription anybody may commit"


def test_a_stale_epoch_is_worth_another_try() -> None:
    script = Script()
    script.join()
    sent = script.member.group_metadata
    assert isinstance(script.member.commit_refused(sent, ErrorCode.STALE_MEMBER_EPOCH), CommitWaitsError)
    assert isinstance(script.member.commit_refused(sent, ErrorCode.UNKNOWN_MEMBER_ID), CommitFailedError)
    assert script.member.state is MembershipState.FENCED


def test_a_pattern_of_the_broker() -> None:
    script = Script(subscription=Subscription(server_pattern="a.*"))
    first = script.next()
    assert first.subscribed_topic_regex == "a.*"
    assert first.subscribed_topic_names == []
    assert script.member.wanted_topics is None


def test_a_missing_permission_for_a_topic_is_told_and_life_goes_on() -> None:
    script = Script()
    script.join()
    script.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert script.member.needs_user()
    error = script.member.take_error()
    assert error is not None
    assert error.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    script.beat(1)
    assert script.state() is ConsumerState.STABLE
