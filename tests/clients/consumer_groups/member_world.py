"""One member, without a network, among a coordinator that may answer anything and a user that may do anything."""

import re
from random import Random
from typing import Any

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.member_machine import Duty, DutyKind
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.errors import KafkaTimeoutError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.message import Message

TOPICS = ("a", "b", "c")
MAX_POLL_INTERVAL_MS = 10_000
QUIET_STEPS = 400


def topic_id(name: str, life: int = 0) -> Uuid:
    """The id of a topic in one of its lives."""
    return Uuid(name.encode().ljust(15, b"-") + bytes([life + 1]))


class MemberWorld:
    """Subclasses know a protocol: its machine, and what its coordinator may answer."""

    machine: Any

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.now_ms = 1_000
        self.in_flight: list[Message] = []
        self.doing: Duty | None = None
        self.owned: set[TopicPartition] = set()
        self.topics: dict[str, int] = {"a": 3, "b": 2}
        self.lives = dict.fromkeys(TOPICS, 0)
        self.machine = self.make_machine()
        self.machine.update_metadata(self.metadata())
        self.machine.start(self.draw_subscription(), self.now_ms)

    def make_machine(self) -> Any:
        """The machine under test."""
        raise NotImplementedError

    def answer(self, request: Message, *, kind: bool) -> Message | None:
        """An answer: any that a coordinator can give, or one of a kind coordinator; None: nothing to answer."""
        raise NotImplementedError

    def check(self) -> None:
        """What must be true at any time."""
        assert self.machine.owned == self.owned or self.doing is not None
        machine = self.machine
        if machine.state in (MembershipState.FENCED, MembershipState.STALLED, MembershipState.FATAL):
            assert machine.commit_error(frozenset(self.owned)) is not None, "fenced members never commit"

    def metadata(self) -> ClusterMetadata:
        """The cluster."""
        topics = {
            name: TopicMetadata(
                name, topic_id(name, self.lives[name]), False, {i: PartitionMetadata(i, 1) for i in range(count)}
            )
            for name, count in self.topics.items()
        }
        return ClusterMetadata("c", 1, {1: Node(1, "h", 1)}, topics)

    def draw_subscription(self) -> Subscription:
        """Topics or a pattern."""
        if self.rng.random() < 0.2:
            return Subscription(pattern=re.compile("[ab]"))
        return Subscription(frozenset(self.rng.sample(TOPICS, self.rng.randint(1, 3))))

    def wild_step(self) -> None:
        """Anything happens."""
        steps = (
            (6, self.send),
            (6, self.be_answered),
            (1, self.fail),
            (5, self.poll),
            (6, self.user),
            (1, self.change_topics),
            (0.5, self.resubscribe),
            (0.3, self.leave),
            (3, self.pass_time),
        )
        weights = [weight for weight, _ in steps]
        self.rng.choices([step for _, step in steps], weights)[0]()
        self.check()

    def send(self) -> None:
        """The driver's background task looks at the machine."""
        self.machine.needs_user()
        self.machine.is_session_over(self.now_ms)
        while (request := self.machine.next_request(self.now_ms)) is not None:
            self.in_flight.append(request)
            assert len(self.in_flight) < 50, "the machine sends without end"
        assert self.machine.deadline_ms(self.now_ms) > self.now_ms, "a deadline that has passed would make it spin"

    def be_answered(self) -> None:
        """One answer comes, the oldest mostly."""
        if self.in_flight:
            request = self.in_flight.pop(0 if self.rng.random() < 0.8 else -1)
            response = self.answer(request, kind=False)
            if response is not None:
                self.machine.handle_response(request, response, self.now_ms)

    def fail(self) -> None:
        """One request is lost."""
        if self.in_flight:
            request = self.in_flight.pop(0)
            error = NetworkError("gone") if self.rng.random() < 0.7 else KafkaTimeoutError("no coordinator")
            self.machine.handle_failure(request, error, self.now_ms)

    def poll(self) -> None:
        """The user polls."""
        self.machine.poll(self.now_ms)

    def user(self) -> None:
        """The user's task begins a duty, ends it, or is cancelled before its listener runs."""
        if self.doing is None:
            self.machine.poll(self.now_ms)
            self.machine.needs_user()
            self.doing = self.machine.duty()
            if self.doing is None:
                self.machine.take_error()
            elif self.rng.random() < 0.1:
                self.doing = None
                self.machine.postpone()
        else:
            self.end_duty()

    def end_duty(self) -> None:
        """Callbacks are balanced: nothing is assigned twice, nothing goes that was not assigned."""
        duty, self.doing = self.doing, None
        assert duty is not None
        if duty.kind is DutyKind.ASSIGN:
            assert self.owned.isdisjoint(duty.partitions), "assigned what it has"
            self.owned |= duty.partitions
        else:
            assert self.owned.issuperset(duty.partitions), "took away what it has not"
            assert duty.partitions, "takes away nothing"
            self.owned -= duty.partitions
        self.machine.done(duty)

    def change_topics(self) -> None:
        """A topic comes, grows, goes, or is made again."""
        name = self.rng.choice(TOPICS)
        if name in self.topics and self.rng.random() < 0.4:
            del self.topics[name]
            self.lives[name] += 1
        else:
            self.topics[name] = self.topics.get(name, 0) + self.rng.randint(1, 2)
        self.machine.update_metadata(self.metadata())

    def resubscribe(self) -> None:
        """The user subscribes to something else."""
        self.machine.start(self.draw_subscription(), self.now_ms)

    def leave(self) -> None:
        """The user unsubscribes, and perhaps subscribes again."""
        if self.doing is not None:
            self.end_duty()
        self.doing = self.machine.leaving_duty()
        if self.doing is not None:
            self.end_duty()
        goodbye = self.machine.leave("test")
        if goodbye is not None:
            self.in_flight.append(goodbye)
        self.machine.start(self.draw_subscription(), self.now_ms)

    def pass_time(self) -> None:
        """Time passes; now and then so much that the user is taken for dead."""
        self.now_ms += self.rng.choice([1, 50, 200, 1000, MAX_POLL_INTERVAL_MS + 1])

    def become_quiet(self) -> None:
        """From here on the coordinator is kind and the user polls: the member must get what it is given."""
        for _ in range(QUIET_STEPS):
            self.now_ms += 100
            self.send()
            while self.in_flight:
                request = self.in_flight.pop(0)
                response = self.answer(request, kind=True)
                if response is not None:
                    self.machine.handle_response(request, response, self.now_ms)
            if self.doing is not None:
                self.end_duty()
            self.poll()
            while (duty := self.machine.duty()) is not None:
                self.doing = duty
                self.end_duty()
            self.machine.take_error()
            self.check()
            if self.is_settled():
                return
        raise AssertionError(f"a silent stall: {self.machine.state}, {self.machine.reason}")

    def is_settled(self) -> bool:
        """Whether the member has what it was given, or can never have it."""
        return self.machine.state in (MembershipState.STABLE, MembershipState.FATAL)
