"""A member of a consumer group (KIP-848), without its network: heartbeats, what answers mean, what the user must do."""

from collections.abc import Collection, Mapping
from typing import Final

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.consumer_protocol.consumer_state import IN_GROUP, SEEN_AS, ConsumerState
from ottla.clients.consumer.consumer_protocol.heartbeat_fields import ConsumerSettings, HeartbeatFields
from ottla.clients.consumer.consumer_protocol.reconciliation import Reconciliation
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import NEVER_MS, CommitWaitsError, Duty, DutyKind
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.clients.consumer.subscribed_topics import SubscribedTopics
from ottla.clients.errors import CommitFailedError, UnsupportedVersionError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
NO_EPOCH: Final = -1

_NOT_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_DROPPED: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


class ConsumerMember:
    """See :class:`ottla.clients.consumer.member_machine.MemberMachine`.

    UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH lose the partitions and join again with the same member id; a missing
    permission for a topic is told to the user, who may go on; any other refusal that no retry heals is fatal.
    """

    __slots__ = (
        "_acknowledged",
        "_busy",
        "_drop",
        "_due_ms",
        "_epoch",
        "_fields",
        "_goodbye",
        "_heartbeat",
        "_interval_ms",
        "_now_ms",
        "_reconciliation",
        "_settings",
        "_topics",
        "_user_error",
        "_watch",
        "consumer_state",
        "error",
    )

    def __init__(self, settings: ConsumerSettings, watch: PollWatch) -> None:
        self._settings = settings
        self._watch = watch
        self._topics = SubscribedTopics(exclude_internal=settings.exclude_internal_topics)
        self._fields = HeartbeatFields(settings)
        self._reconciliation = Reconciliation(self._topic_name)
        self._acknowledged: Mapping[TopicPartition, Uuid] = {}
        """What the user has, as of the last reconciliation that is complete: what heartbeats tell."""
        self.consumer_state = ConsumerState.UNSUBSCRIBED
        self.error: KafkaError | None = None
        self._epoch = JOIN_EPOCH
        self._interval_ms = settings.retry_backoff_ms
        self._due_ms = 0
        self._heartbeat: Message | None = None
        self._goodbye: Message | None = None
        self._user_error: KafkaError | None = None
        self._drop = ""
        self._busy = False
        self._now_ms = 0

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""
        return SEEN_AS[self.consumer_state]

    @property
    def reason(self) -> str:
        """One sentence for people."""
        group = self._settings.group_id
        again = f" again: {self._drop}" if self._drop else "; waits for its coordinator"
        unknown = self._reconciliation.has_unknown_topics
        sentences = {
            ConsumerState.UNSUBSCRIBED: f"not in the group {group}: nothing is subscribed",
            ConsumerState.JOINING: f"about to join the group {group}{again}",
            ConsumerState.RECONCILING: f"in the group {group}; "
            + ("waits for metadata of new topics" if unknown else "partitions change hands at the next poll"),
            ConsumerState.ACKNOWLEDGING: f"in the group {group}; tells its coordinator which partitions it has",
            ConsumerState.STABLE: f"in the group {group}, epoch {self._epoch}"
            + ("" if self.owned else ", with no partition: others have them, or the topics do not exist"),
            ConsumerState.FENCED: f"dropped from the group {group}: {self._drop}; joins again at the next poll",
            ConsumerState.STALE: f"left the group {group}: {self._drop}",
            ConsumerState.FATAL: f"the group {group} refuses this member for good: {self.error}",
        }
        return sentences[self.consumer_state]

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """What the user has."""
        return frozenset(self._reconciliation.owned)

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """The member in its newest epoch; outside of the group only the group is known."""
        settings = self._settings
        if self.consumer_state not in IN_GROUP or self._epoch == JOIN_EPOCH:
            return ConsumerGroupMetadata(settings.group_id, group_instance_id=settings.group_instance_id)
        return ConsumerGroupMetadata(settings.group_id, self._epoch, settings.member_id, settings.group_instance_id)

    @property
    def wanted_topics(self) -> Collection[str] | None:
        """All topics for a pattern, ours or the broker's; else those subscribed to."""
        subscription = self._topics.subscription
        if subscription is not None and (subscription.pattern is not None or subscription.server_pattern is not None):
            return None
        return self._topics.names

    @property
    def needs_metadata(self) -> bool:
        """Whether an assigned topic is not known yet."""
        return self.consumer_state is ConsumerState.RECONCILING and self._reconciliation.has_unknown_topics

    def _topic_name(self, topic_id: Uuid) -> str | None:
        return self._topics.metadata.topic_name(topic_id)

    @property
    def _server_pattern(self) -> str | None:
        subscription = self._topics.subscription
        return None if subscription is None else subscription.server_pattern

    def start(self, subscription: Subscription, now_ms: int) -> None:
        """Begin to join, or change the subscription: the next heartbeat says it."""
        self._topics.subscribe(subscription)
        self.poll(now_ms)
        if self.consumer_state is ConsumerState.UNSUBSCRIBED:
            self._join()
        self._tell_news(now_ms)

    def _tell_news(self, now_ms: int) -> None:
        """Do not wait for the interval when there is something to say."""
        if self._fields.is_news(self._topics.names, self._server_pattern, self._acknowledged):
            self._due_ms = min(self._due_ms, now_ms)

    def _join(self) -> None:
        self._reconciliation.found()
        self.consumer_state = ConsumerState.JOINING
        self._epoch = JOIN_EPOCH
        self._due_ms = 0

    def update_metadata(self, metadata: ClusterMetadata) -> None:
        """Match the pattern anew; assigned topics may be known now."""
        names = self._topics.names
        self._topics.update_metadata(metadata)
        if names != self._topics.names:
            self._tell_news(self._now_ms)

    def request_rejoin(self, reason: str) -> None:
        """Nothing: the coordinator alone decides when to rebalance."""

    def poll(self, now_ms: int) -> None:
        """The user is alive; one that was taken for dead, and knows what it lost, joins again."""
        self._watch.polled(now_ms)
        if self.consumer_state is ConsumerState.STALE and not self._reconciliation.is_lost:
            self._join()

    def next_request(self, now_ms: int) -> Message | None:
        """The heartbeat with which a stalled member leaves, or the one that is due."""
        self._now_ms = now_ms
        if self.consumer_state in IN_GROUP and self._watch.is_expired(now_ms):
            self._goodbye = self._leaving_heartbeat()
            self._drop_out(ConsumerState.STALE, self._watch.explain_stall(now_ms))
        if self._goodbye is not None:
            goodbye, self._goodbye = self._goodbye, None
            return goodbye
        if self.consumer_state not in IN_GROUP or self._heartbeat is not None or not self._is_due(now_ms):
            return None
        if not self._topics.is_known:
            return None
        self._due_ms = now_ms + self._interval_ms
        self._heartbeat = self._fields.next_request(
            self._epoch,
            self._topics.names,
            self._server_pattern,
            self._acknowledged,
            says_all=self.consumer_state is ConsumerState.JOINING,
        )
        if self.consumer_state is ConsumerState.ACKNOWLEDGING:
            self.consumer_state = ConsumerState.STABLE
        return self._heartbeat

    def _is_due(self, now_ms: int) -> bool:
        return now_ms >= self._due_ms

    def is_session_over(self, now_ms: int) -> bool:
        """Never: only the coordinator knows how long a session is."""
        del now_ms
        return False

    def deadline_ms(self, now_ms: int) -> int:
        """When a heartbeat is due, or the user is taken for dead."""
        del now_ms
        if self.consumer_state not in IN_GROUP:
            return NEVER_MS
        is_silent = self._heartbeat is not None or not self._topics.is_known
        return min(NEVER_MS if is_silent else self._due_ms, self._watch.deadline_ms() + 1)

    def handle_response(self, request: Message, response: Message, now_ms: int) -> bool:
        """An answer came; those to heartbeats of an earlier life are ignored."""
        self._now_ms = now_ms
        if request is not self._heartbeat:
            return True
        self._heartbeat = None
        assert isinstance(response, ConsumerGroupHeartbeatResponse), "not an answer to a heartbeat"
        if response.error_code != ErrorCode.NONE:
            return self._refused(response.error_code, response.error_message, now_ms)
        self._epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms
        self._due_ms = min(self._due_ms, now_ms + self._interval_ms)
        if self.consumer_state is ConsumerState.JOINING:
            self._due_ms = now_ms + self._interval_ms
            self.consumer_state = ConsumerState.STABLE
            self._watch.joined()
            self._drop = ""
        if response.assignment is not None:
            self._reconciliation.aim(response.assignment)
            if not self._reconciliation.is_reconciled:
                self.consumer_state = ConsumerState.RECONCILING
            elif self.consumer_state is ConsumerState.RECONCILING and not self._busy:
                self._settle()
        self._tell_news(now_ms)
        return True

    def _refused(self, code: int, message: str | None, now_ms: int) -> bool:
        self._fields.forget()
        self._due_ms = now_ms + self._settings.retry_backoff_ms
        if code in _DROPPED:
            drop = f"the coordinator answered {ErrorCode(code).name}" + self._watch.explain_block(now_ms)
            self._drop_out(ConsumerState.FENCED, drop)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._user_error = error_for(code, message)
        elif code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and code not in _NOT_COORDINATOR:
            self._fail(error_for(code, message))
        return code not in _NOT_COORDINATOR

    def handle_failure(self, request: Message, error: KafkaError, now_ms: int) -> None:
        """No answer: say everything again soon."""
        if request is not self._heartbeat:
            return
        self._heartbeat = None
        self._fields.forget()
        self._due_ms = now_ms + self._settings.retry_backoff_ms
        if isinstance(error, UnsupportedVersionError):
            self._fail(
                UnsupportedVersionError(
                    "the broker does not support group.protocol=consumer, or not all that the subscription asks for; "
                    f"group.protocol=classic works everywhere ({error})"
                )
            )
        elif not error.retriable:
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        self.error = error
        self._drop_out(ConsumerState.FATAL, str(error))

    def _drop_out(self, state: ConsumerState, drop: str) -> None:
        """Out of the group, with all that was owned lost."""
        self.consumer_state = state
        self._drop = drop
        self._heartbeat = None
        self._epoch = JOIN_EPOCH
        self._acknowledged = {}
        self._fields.forget()
        self._reconciliation.lose()
        if state is ConsumerState.FENCED and not self._reconciliation.owned and not self._busy:
            self._join()

    def _leaving_heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        is_static = self._settings.group_instance_id is not None
        return ConsumerGroupHeartbeatRequest(
            group_id=self._settings.group_id,
            member_id=self._settings.member_id,
            member_epoch=STATIC_LEAVE_EPOCH if is_static else LEAVE_EPOCH,
            instance_id=self._settings.group_instance_id,
        )

    def needs_user(self) -> bool:
        """Whether something waits for the user's next poll."""
        if self.error is not None or self._user_error is not None or self.consumer_state is ConsumerState.STALE:
            return True
        return not self._busy and self._peek() is not None

    def _peek(self) -> Duty | None:
        if self.consumer_state is ConsumerState.RECONCILING or self._reconciliation.is_lost:
            return self._reconciliation.duty()
        return None

    def duty(self) -> Duty | None:
        """What to do in the user's task, if anything."""
        duty = self._peek()
        self._busy = duty is not None
        return duty

    def postpone(self) -> None:
        """The duty was not performed."""
        self._busy = False

    def done(self, duty: Duty) -> None:
        """A duty was performed: acknowledge a reconciled target, join again after a loss."""
        self._busy = False
        self._reconciliation.done(duty)
        if self.consumer_state in (ConsumerState.FENCED, ConsumerState.STALE) and not self.owned:
            self._join()
        elif self.consumer_state is ConsumerState.RECONCILING and duty.kind is DutyKind.ASSIGN:
            self._settle()

    def _settle(self) -> None:
        """Tell the coordinator at once what is owned now, even if it is what it was."""
        self._acknowledged = self._reconciliation.owned
        self._fields.forget_owned()
        self._due_ms = self._now_ms
        if self._reconciliation.is_reconciled:
            self.consumer_state = ConsumerState.ACKNOWLEDGING

    def take_error(self) -> KafkaError | None:
        """An error to raise once."""
        error, self._user_error = self._user_error, None
        return error

    def commit_error(self, partitions: Collection[TopicPartition]) -> KafkaError | None:
        """None: commit, as a member or, without a subscription, as nobody."""
        del partitions
        if self.error is not None or self.consumer_state is ConsumerState.UNSUBSCRIBED:
            return self.error
        if self.consumer_state not in IN_GROUP or self._epoch == JOIN_EPOCH:
            return CommitFailedError(self._explain_commit())
        return None

    def commit_refused(self, sent: ConsumerGroupMetadata, code: int) -> KafkaError:
        """A stale epoch is followed by a newer one, which can commit; the rest means that the group went on."""
        if code == ErrorCode.STALE_MEMBER_EPOCH and self.commit_error(()) is None:
            return CommitWaitsError("the member's epoch has changed; the next heartbeat tells the new one")
        if code == ErrorCode.FENCED_INSTANCE_ID:
            self._fail(error_for(code, f"another consumer uses group.instance.id={sent.group_instance_id}"))
            assert self.error is not None, "fenced members fail"
            return self.error
        if sent == self.group_metadata and sent.member_id:
            drop = f"the coordinator answered {ErrorCode(code).name}" + self._watch.explain_block(self._now_ms)
            self._drop_out(ConsumerState.FENCED, drop)
        return CommitFailedError(self._explain_commit())

    def _explain_commit(self) -> str:
        group = self._settings.group_id
        why = self._drop or "it is not in the group"
        return f"the member may not commit for the group {group}, whose partitions others may have now: {why}"

    def leaving_duty(self) -> Duty | None:
        """Revoke all; out of the group they count as lost."""
        if not self.owned:
            return None
        is_member = self.consumer_state in IN_GROUP and not self._reconciliation.is_lost
        return Duty(DutyKind.REVOKE if is_member else DutyKind.LOSE, self.owned)

    def leave(self, reason: str) -> Message | None:
        """Be out of the group; None when the coordinator does not know us."""
        del reason
        goodbye = self._leaving_heartbeat() if self.consumer_state in IN_GROUP and self._was_sent() else None
        if self.error is None:
            self._drop_out(ConsumerState.UNSUBSCRIBED, "")
        self._topics.subscribe(None)
        self._user_error = None
        return goodbye

    def _was_sent(self) -> bool:
        return self._epoch != JOIN_EPOCH or self._heartbeat is not None
