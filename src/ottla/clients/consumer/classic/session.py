"""A classic group's protocol as one member lives it, without its network: what to send, and what answers mean."""

from collections.abc import Collection
from typing import Final

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.assignors.assignor import Assignment, PartitionAssignor
from ottla.clients.consumer.assignors.registry import common_protocol
from ottla.clients.consumer.classic import requests
from ottla.clients.consumer.classic.assignment_progress import AssignmentProgress
from ottla.clients.consumer.classic.generation import NO_GENERATION, ClassicSettings, ClassicState, Generation
from ottla.clients.consumer.classic.heartbeat_clock import HeartbeatClock
from ottla.clients.consumer.classic.leader import tell_assignor
from ottla.clients.consumer.classic.leadership import Leadership
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import NEVER_MS
from ottla.clients.consumer.membership import Subscription
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.clients.consumer.subscribed_topics import SubscribedTopics
from ottla.clients.errors import (
    IllegalStateError,
    InconsistentGroupProtocolError,
    error_for,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.consumer_protocol import decode_assignment
from ottla.protocol.message import Message
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.sync_group import SyncGroupRequestAssignment, SyncGroupResponse

_NOT_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_DROPPED: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_TRY_AGAIN: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS})
_JOINED: Final = (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
REBALANCING: Final = (ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE)


class ClassicSession:
    """``ClassicState`` says how it moves; :class:`ClassicMember` adds what the user does.

    A join begins when a rejoin is wanted, the user was told of the last assignment, and what must be given up first is
    given up (everything by the eager protocol). FENCED_INSTANCE_ID is fatal. UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION
    lose the partitions and join again, the latter with the same member id. Errors that no retry heals are told to the
    user once, then the member tries again.
    """

    __slots__ = (
        "_busy",
        "_clock",
        "_drop",
        "_goodbye",
        "_heartbeat",
        "_joined_topics",
        "_leadership",
        "_now_ms",
        "_progress",
        "_protocol",
        "_rebalance_request",
        "_rejoin_reason",
        "_retry_at_ms",
        "_settings",
        "_stall",
        "_sync_assignments",
        "_topics",
        "_user_error",
        "_wants_join",
        "_watch",
        "classic_state",
        "error",
        "generation",
    )

    def __init__(self, settings: ClassicSettings, watch: PollWatch) -> None:
        self._settings = settings
        self._protocol = common_protocol(settings.assignors)
        self._progress = AssignmentProgress(self._protocol)
        self._watch = watch
        self._clock = HeartbeatClock(
            settings.heartbeat_interval_ms, settings.session_timeout_ms, settings.retry_backoff_ms
        )
        self._topics = SubscribedTopics(exclude_internal=settings.exclude_internal_topics)
        self._leadership = Leadership(is_rack_aware=settings.rack_id is not None)
        self.generation = NO_GENERATION
        self.classic_state = ClassicState.UNJOINED
        self.error: KafkaError | None = None
        self._joined_topics: frozenset[str] | None = None
        self._wants_join = False
        self._rejoin_reason = ""
        self._stall = ""
        self._drop = ""
        self._user_error: KafkaError | None = None
        self._retry_at_ms = 0
        self._rebalance_request: Message | None = None
        self._sync_assignments: list[SyncGroupRequestAssignment] | None = None
        self._heartbeat: Message | None = None
        self._goodbye: LeaveGroupRequest | None = None
        self._busy = False
        self._now_ms = 0

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """What the user has."""
        return self._progress.owned

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """The member in its newest generation."""
        generation_id, member_id, _ = self.generation
        return ConsumerGroupMetadata(
            self._settings.group_id, generation_id, member_id, self._settings.group_instance_id
        )

    @property
    def wanted_topics(self) -> Collection[str] | None:
        """All topics for a pattern; else the own ones and, as the leader, those of all members."""
        subscription = self._topics.subscription
        if subscription is not None and subscription.pattern is not None:
            return None
        return self._topics.names | self._leadership.topics

    @property
    def needs_metadata(self) -> bool:
        """Whether a pattern waits for the first metadata."""
        return self._topics.subscription is not None and not self._topics.is_known

    @property
    def must_lead(self) -> bool:
        """Whether ``lead`` is to be called, with metadata of all ``wanted_topics``."""
        return self._leadership.must_assign

    def start(self, subscription: Subscription, now_ms: int) -> None:
        """Begin to join, or change the subscription."""
        if self._topics.subscription is None:
            self._wants_join = True
            self._rejoin_reason = ""
        self._topics.subscribe(subscription)
        self.poll(now_ms)
        self._check_subscription()

    def update_metadata(self, metadata: ClusterMetadata) -> None:
        """Match the pattern anew; as the leader, rejoin when a topic of the group has changed."""
        self._topics.update_metadata(metadata)
        self._check_subscription()
        if self._leadership.is_outdated(metadata):
            self.request_rejoin("cached metadata has changed")

    def _check_subscription(self) -> None:
        if self._joined_topics is not None and self._joined_topics != self._topics.names:
            self.request_rejoin("subscription has changed")

    def request_rejoin(self, reason: str) -> None:
        """Ask for a rebalance, as soon as the present one is through."""
        if self._topics.subscription is not None and not self._wants_join:
            self._wants_join = True
            self._rejoin_reason = reason

    def poll(self, now_ms: int) -> None:
        """The user is alive; one that was taken for dead joins again."""
        self._watch.polled(now_ms)
        self._stall = ""

    def next_request(self, now_ms: int) -> Message | None:
        """LeaveGroup after a stall, then JoinGroup or SyncGroup, then Heartbeat."""
        self._now_ms = now_ms
        if self.classic_state in _JOINED and self._watch.is_expired(now_ms):
            stall = self._watch.explain_stall(now_ms)
            self._goodbye = requests.leave_group(self._settings, self.generation, "consumer poll timeout has expired.")
            self._reset(NO_GENERATION, stall)
            self._stall = stall
        if self._goodbye is not None:
            goodbye, self._goodbye = self._goodbye, None
            return goodbye
        if self.error is not None or self._topics.subscription is None:
            return None
        return self._next_rebalance_request(now_ms) or self._next_heartbeat(now_ms)

    def _next_rebalance_request(self, now_ms: int) -> Message | None:
        if self._rebalance_request is not None or now_ms < self._retry_at_ms or self._user_error is not None:
            return None
        if self._sync_assignments is not None:
            self._rebalance_request = requests.sync_group(self._settings, self.generation, self._sync_assignments)
            self._sync_assignments = None
        elif self._wants_join and self._is_prepared():
            self._leadership.end()
            self._joined_topics = self._topics.names
            self._wants_join = False
            self.classic_state = ClassicState.PREPARING_REBALANCE
            self._rebalance_request = self._join_request(self._joined_topics)
        return self._rebalance_request

    def _join_request(self, topics: frozenset[str]) -> Message | None:
        try:
            return requests.join_group(self._settings, self.generation, topics, self.owned, self._rejoin_reason)
        except KafkaError as error:
            self._user_error = error
            self._retry_join("the assignor failed", self._now_ms)
            return None

    def _is_prepared(self) -> bool:
        """Whether nothing is left to do before a JoinGroup."""
        if self._stall or self._busy or not self._topics.is_known:
            return False
        if self.classic_state in REBALANCING or self._progress.is_pending:
            return False
        self._progress.prepare(self._topics.names)
        return self._progress.duty() is None

    def _next_heartbeat(self, now_ms: int) -> Message | None:
        if self.classic_state not in _JOINED or self._heartbeat is not None or not self._clock.is_due(now_ms):
            return None
        self._clock.sent(now_ms)
        self._heartbeat = requests.heartbeat(self._settings, self.generation)
        return self._heartbeat

    def is_session_over(self, now_ms: int) -> bool:
        """Whether no heartbeat was answered for session.timeout.ms; the next one goes to whoever is found."""
        if self.classic_state not in _JOINED or not self._clock.is_session_expired(now_ms):
            return False
        self._heartbeat = None
        self._clock.reset(now_ms)
        self._clock.failed(now_ms)
        return True

    def deadline_ms(self, now_ms: int) -> int:
        """When a heartbeat is due, the user is taken for dead, or a failed join is tried again."""
        if self.error is not None or self._topics.subscription is None:
            return NEVER_MS
        if self.classic_state in _JOINED:
            due_ms = self._clock.session_deadline_ms() + 1 if self._heartbeat is not None else self._clock.deadline_ms()
            return min(due_ms, self._watch.deadline_ms() + 1)
        return self._retry_at_ms if self._wants_join and now_ms < self._retry_at_ms else NEVER_MS

    def handle_response(self, request: Message, response: Message, now_ms: int) -> bool:
        """An answer came; those to requests of an earlier life are ignored."""
        self._now_ms = now_ms
        if isinstance(response, HeartbeatResponse) and isinstance(request, HeartbeatRequest):
            return self._heartbeat_answered(request, response.error_code, now_ms)
        if request is not self._rebalance_request:
            return True
        self._rebalance_request = None
        if isinstance(response, JoinGroupResponse):
            return self._join_answered(response, now_ms)
        assert isinstance(response, SyncGroupResponse), f"not an answer to {type(request).__name__}"
        return self._sync_answered(response, now_ms)

    def handle_failure(self, request: Message, error: KafkaError, now_ms: int) -> None:
        """No answer: a rebalance begins anew at the next coordinator; a heartbeat is sent again."""
        if request is self._heartbeat:
            self._heartbeat = None
            self._clock.failed(now_ms)
        elif request is self._rebalance_request:
            self._retry_join(f"rebalance failed due to {type(error).__name__}", now_ms)
        else:
            return
        if not error.retriable:
            self._user_error = error

    def _heartbeat_answered(self, request: HeartbeatRequest, code: int, now_ms: int) -> bool:
        if request is self._heartbeat:
            self._heartbeat = None
        if self.classic_state not in _JOINED or (request.generation_id, request.member_id) != self.generation[:2]:
            return True
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._clock.heard(now_ms)
            if code != ErrorCode.NONE and self.classic_state is ClassicState.STABLE:
                self.request_rejoin("group is already rebalancing")
            return True
        self._clock.failed(now_ms)
        return self._refused(code, now_ms)

    def _refused(self, code: int, now_ms: int) -> bool:
        """What every request can be refused with; False: look for the coordinator."""
        if code in _DROPPED:
            self._dropped(code, now_ms)
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self.error = error_for(code, f"another consumer uses group.instance.id={self._settings.group_instance_id}")
            self._reset(NO_GENERATION, str(self.error))
        elif code not in _TRY_AGAIN | _NOT_COORDINATOR:
            self._user_error = error_for(code)
        return code not in _NOT_COORDINATOR

    def _dropped(self, code: int, now_ms: int) -> None:
        drop = f"the coordinator answered {ErrorCode(code).name}" + self._watch.explain_block(now_ms)
        keeps_id = code == ErrorCode.ILLEGAL_GENERATION
        self._reset(Generation(member_id=self.generation.member_id) if keeps_id else NO_GENERATION, drop)

    def _reset(self, generation: Generation, drop: str) -> None:
        """Out of the group, with all that was owned lost."""
        self._retry_join(drop, self._now_ms)
        self.generation = generation
        self._drop = drop
        self._heartbeat = None
        self._joined_topics = None
        self._leadership.end()
        self._progress.lose()

    def _retry_join(self, reason: str, now_ms: int) -> None:
        """The rebalance failed; what is owned stays owned."""
        self.classic_state = ClassicState.UNJOINED
        self._rebalance_request = None
        self._sync_assignments = None
        self._retry_at_ms = now_ms + self._settings.retry_backoff_ms
        self._wants_join = True
        self._rejoin_reason = reason

    def _join_answered(self, response: JoinGroupResponse, now_ms: int) -> bool:
        code = response.error_code
        if code == ErrorCode.NONE and response.protocol_type not in (None, requests.PROTOCOL_TYPE):
            code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if code != ErrorCode.NONE:
            self._retry_join(f"rebalance failed due to {ErrorCode(code).name}", now_ms)
            if code != ErrorCode.MEMBER_ID_REQUIRED:
                return self._refused(code, now_ms)
            self._retry_at_ms = now_ms
            self._rejoin_reason = f"need to re-join with the given member-id: {response.member_id}"
            self.generation = Generation(member_id=response.member_id)
            return True
        self.generation = Generation(response.generation_id, response.member_id, response.protocol_name)
        self.classic_state = ClassicState.COMPLETING_REBALANCE
        self._clock.reset(now_ms)
        self._watch.joined()
        self._drop = ""
        if response.leader != response.member_id:
            self._sync_assignments = []
            return True
        try:
            self._leadership.begin(response.members, skip_assignment=response.skip_assignment)
        except KafkaError as error:
            self._user_error = error
            self._retry_join("the subscription of a member cannot be read", now_ms)
        return True

    def lead(self, metadata: ClusterMetadata) -> None:
        """Assign for the group; SyncGroup comes next. What the assignor raises, the user hears."""
        self._topics.update_metadata(metadata)
        try:
            self._sync_assignments = self._leadership.assign(self._assignor(), self._protocol, metadata)
        except KafkaError as error:
            self._user_error = error
            self._retry_join("the assignor failed", self._now_ms)

    def _assignor(self) -> PartitionAssignor:
        for assignor in self._settings.assignors:
            if assignor.name == self.generation.protocol_name:
                return assignor
        raise IllegalStateError(f"the coordinator chose the assignor {self.generation.protocol_name}, not one of ours")

    def _sync_answered(self, response: SyncGroupResponse, now_ms: int) -> bool:
        code = response.error_code
        if code != ErrorCode.NONE:
            self._retry_join(f"rebalance failed due to {ErrorCode(code).name}", now_ms)
            if code == ErrorCode.REBALANCE_IN_PROGRESS:
                self._retry_at_ms = now_ms
            return self._refused(code, now_ms)
        try:
            if response.protocol_name not in (None, self.generation.protocol_name):
                raise InconsistentGroupProtocolError(f"the group uses the assignor {response.protocol_name}")
            self._assigned(response, self._assignor())
        except KafkaError as error:
            self._user_error = error
            self._retry_join("the assignment cannot be used", now_ms)
        return True

    def _assigned(self, response: SyncGroupResponse, assignor: PartitionAssignor) -> None:
        assigned = decode_assignment(bytes(response.assignment))
        self.classic_state = ClassicState.STABLE
        partitions = [
            TopicPartition(topic.topic, partition)
            for topic in assigned.assigned_partitions
            for partition in topic.partitions
        ]
        if not self._topics.matches(partitions):
            self.request_rejoin("received assignment does not match the current subscription")
            return
        self._progress.receive(partitions)
        user_data = None if assigned.user_data is None else bytes(assigned.user_data)
        try:
            tell_assignor(assignor, Assignment(partitions, user_data), self.group_metadata)
        except KafkaError as error:
            self._user_error = error
