"""The coordinator of a classic group, by chance and by script, around one member."""

from random import Random

from ottla.clients.consumer.assignors.registry import make_assignors
from ottla.clients.consumer.classic.generation import ClassicSettings, ClassicState
from ottla.clients.consumer.classic.member import ClassicMember
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.consumer_protocol import decode_subscription, encode_assignment
from ottla.protocol.message import Message
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.clients.consumer_groups.member_world import MAX_POLL_INTERVAL_MS, MemberWorld

ERRORS = [
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]


class ClassicWorld(MemberWorld):
    """The coordinator of a classic group; the member leads it or not."""

    machine: ClassicMember

    def __init__(self, rng: Random, strategy: str, instance: str | None = None) -> None:
        self.strategy = strategy
        self.instance = instance
        self.generation = 0
        self.given: frozenset[TopicPartition] = frozenset()
        super().__init__(rng)

    def make_machine(self) -> ClassicMember:
        settings = ClassicSettings(
            "g",
            make_assignors([self.strategy]),
            self.instance,
            heartbeat_interval_ms=300,
            session_timeout_ms=1000,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
        )
        return ClassicMember(settings, PollWatch(MAX_POLL_INTERVAL_MS))

    def send(self) -> None:
        if self.machine.must_lead:
            self.machine.lead(self.metadata())
        super().send()
        rebalancing = [r for r in self.in_flight if isinstance(r, JoinGroupRequest)]
        if self.strategy == "range" and rebalancing and rebalancing[-1] is self.machine._rebalance_request:
            assert not self.machine.owned, "eager members join with nothing"

    def answer(self, request: Message, *, kind: bool) -> Message | None:
        error = ErrorCode.NONE
        if not kind and self.rng.random() < 0.3:
            error = self.rng.choice([*ERRORS, ErrorCode.FENCED_INSTANCE_ID] if self.instance else ERRORS)
        match request:
            case JoinGroupRequest():
                return self.join(request, error)
            case SyncGroupRequest():
                return self.sync(request, error, kind=kind)
            case HeartbeatRequest():
                return HeartbeatResponse(error_code=error)
            case LeaveGroupRequest():
                return LeaveGroupResponse()
        raise AssertionError(request)

    def join(self, request: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
        if error == ErrorCode.NONE and not request.member_id:
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me")
        self.generation += 1
        said = decode_subscription(request.protocols[0].metadata)
        assert said.generation_id < self.generation
        leads = self.rng.random() < 0.5
        return JoinGroupResponse(
            error_code=error,
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name=self.strategy,
            leader=request.member_id if leads else "another",
            member_id=request.member_id,
            members=[JoinGroupResponseMember(member_id=request.member_id, metadata=request.protocols[0].metadata)]
            if leads
            else [],
        )

    def sync(self, request: SyncGroupRequest, error: ErrorCode, *, kind: bool) -> SyncGroupResponse:
        mine = [one.assignment for one in request.assignments if one.member_id == request.member_id]
        if mine:
            return SyncGroupResponse(error_code=error, assignment=mine[0])
        topics = sorted(self.machine._topics.names & self.topics.keys())
        if not kind and self.rng.random() < 0.1:
            topics = sorted(self.topics)
        partitions = [(topic, [i for i in range(self.topics[topic]) if self.rng.random() < 0.5]) for topic in topics]
        return SyncGroupResponse(error_code=error, assignment=encode_assignment(partitions))

    def is_settled(self) -> bool:
        if self.machine.state is MembershipState.FATAL:
            return not self.owned
        return super().is_settled() and not self.machine._wants_join


class Script:
    """A member in a story told step by step, in the group "g" with the topic "a" of three partitions."""

    def __init__(self, strategy: str = "range", instance: str | None = None) -> None:
        self.world = ClassicWorld(Random(1), strategy, instance)
        self.member = self.world.machine
        self.member.start(Subscription(frozenset({"a"})), 1000)

    def next(self, cls: type[Message]) -> Message:
        """The next request, which must be of a kind."""
        if self.member.must_lead:
            self.member.lead(self.world.metadata())
        request = self.member.next_request(self.world.now_ms)
        assert isinstance(request, cls), request
        return request

    def answer(self, request: Message, response: Message) -> bool:
        """Answer a request."""
        return self.member.handle_response(request, response, self.world.now_ms)

    def join(self, generation: int = 1, partitions: tuple[int, ...] = (0, 1)) -> None:
        """Through a whole rebalance as a follower, callbacks included."""
        self.finish_duties()
        request = self.next(JoinGroupRequest)
        assert isinstance(request, JoinGroupRequest)
        if not request.member_id:
            required = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me")
            self.answer(request, required)
            request = self.next(JoinGroupRequest)
        strategy = self.world.strategy
        joined = JoinGroupResponse(generation_id=generation, member_id="me", leader="x", protocol_name=strategy)
        self.answer(request, joined)
        assert self.member.classic_state is ClassicState.COMPLETING_REBALANCE
        sync = self.next(SyncGroupRequest)
        self.answer(sync, SyncGroupResponse(assignment=encode_assignment([("a", list(partitions))])))
        self.finish_duties()

    def state(self) -> MembershipState:
        """Where the member stands now."""
        return self.member.state

    def finish_duties(self) -> list[tuple[str, list[int]]]:
        """Perform what is due; what it was."""
        done = []
        while (duty := self.member.duty()) is not None:
            done.append((duty.kind.value, sorted(partition.partition for partition in duty.partitions)))
            self.member.done(duty)
        return done

    def heartbeat(self, code: ErrorCode = ErrorCode.NONE) -> bool:
        """A heartbeat and its answer."""
        self.world.now_ms += 300
        return self.answer(self.next(HeartbeatRequest), HeartbeatResponse(error_code=code))
