"""A member of a classic group, without its network: its protocol, and what the user has to do with it."""

from collections.abc import Collection

from ottla.clients.consumer.classic import requests
from ottla.clients.consumer.classic.generation import NO_GENERATION, ClassicState
from ottla.clients.consumer.classic.session import REBALANCING, ClassicSession
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import CommitWaitsError, Duty, DutyKind
from ottla.clients.consumer.membership import MembershipState
from ottla.clients.errors import CommitFailedError, RebalanceInProgressError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.message import Message


class ClassicMember(ClassicSession):
    """See :class:`ottla.clients.consumer.member_machine.MemberMachine`."""

    __slots__ = ()

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""
        if self.error is not None:
            return MembershipState.FATAL
        if self._topics.subscription is None:
            return MembershipState.UNJOINED
        if self._stall:
            return MembershipState.STALLED
        if self._progress.is_lost:
            return MembershipState.FENCED
        if self.classic_state is not ClassicState.STABLE:
            return MembershipState.JOINING
        return MembershipState.STABLE if self._progress.duty() is None else MembershipState.RECONCILING

    @property
    def reason(self) -> str:
        """One sentence for people."""
        group = self._settings.group_id
        joining = {
            ClassicState.UNJOINED: f"about to join the group {group}"
            + (f" again: {self._drop}" if self._drop else "; looks for its coordinator"),
            ClassicState.PREPARING_REBALANCE: f"waits for the other members of the group {group} to join",
            ClassicState.COMPLETING_REBALANCE: f"joined the group {group}; waits for its leader to assign partitions",
            ClassicState.STABLE: "",
        }
        sentences = {
            MembershipState.FATAL: f"the group {group} refuses this member for good: {self.error}",
            MembershipState.UNJOINED: f"not in the group {group}: nothing is subscribed",
            MembershipState.STALLED: f"left the group {group}: {self._stall}",
            MembershipState.FENCED: f"dropped from the group {group}: {self._drop}; joins again at the next poll",
            MembershipState.JOINING: joining[self.classic_state],
            MembershipState.RECONCILING: f"in the group {group}; partitions change hands at the next poll",
            MembershipState.STABLE: f"in the group {group}, generation {self.generation.generation_id}"
            + ("" if self.owned else ", with no partition: others have them, or the topics do not exist"),
        }
        return sentences[self.state]

    def needs_user(self) -> bool:
        """Whether something waits for the user's next poll."""
        if self.error is not None or self._user_error is not None or self._stall:
            return True
        if self._wants_join and not self._busy:
            self._is_prepared()
        return not self._busy and self._progress.duty() is not None

    def duty(self) -> Duty | None:
        """What to do in the user's task; from then on no join begins until it is done."""
        if self._wants_join and not self._busy:
            self._is_prepared()
        duty = self._progress.duty()
        self._busy = duty is not None
        return duty

    def postpone(self) -> None:
        """The duty was not performed."""
        self._busy = False

    def done(self, duty: Duty) -> None:
        """A duty was performed. A revocation that an assignment asked for is followed by another rebalance."""
        self._busy = False
        if self._progress.done(duty):
            self.request_rejoin("need to revoke partitions and re-join")

    def take_error(self) -> KafkaError | None:
        """An error to raise once."""
        error, self._user_error = self._user_error, None
        return error

    def commit_error(self, partitions: Collection[TopicPartition]) -> KafkaError | None:
        """None: commit. Between a join and its end, what is still owned can wait for that; the rest cannot.

        Nor can the commit before a revocation, or one of its listener's: the join waits for them.
        """
        if self.error is not None or self.classic_state is ClassicState.STABLE or self._topics.subscription is None:
            return self.error
        if self.classic_state is ClassicState.UNJOINED and (self._progress.is_lost or not self.owned):
            return CommitFailedError(self._explain_commit())
        waits = self.owned.issuperset(partitions) and not self._busy
        error = RebalanceInProgressError(
            f"the group {self._settings.group_id} is rebalancing; poll to take part in it, then commit again"
        )
        return CommitWaitsError(str(error)) if waits else error

    def commit_refused(self, sent: ConsumerGroupMetadata, code: int) -> KafkaError:
        """The group went on: without us, or with us in a newer generation."""
        is_current = sent == self.group_metadata
        if code == ErrorCode.FENCED_INSTANCE_ID and is_current:
            self._refused(code, self._now_ms)
            assert self.error is not None, "fenced members fail"
            return self.error
        if code == ErrorCode.REBALANCE_IN_PROGRESS or (not is_current and self.classic_state in REBALANCING):
            self.request_rejoin("offset commit failed since group is already rebalancing")
            return RebalanceInProgressError(
                f"the group {self._settings.group_id} is rebalancing; poll to take part in it, then commit again"
            )
        if is_current:
            self._dropped(code, self._now_ms)
        return CommitFailedError(self._explain_commit())

    def _explain_commit(self) -> str:
        group = self._settings.group_id
        why = self._stall or self._drop or "it is not in the group"
        return f"the member may not commit for the group {group}, whose partitions others may have now: {why}"

    def leaving_duty(self) -> Duty | None:
        """Revoke all; in the middle of a rebalance or out of the group they count as lost."""
        if not self.owned:
            return None
        is_stable = self.classic_state is ClassicState.STABLE and not self._progress.is_lost
        return Duty(DutyKind.REVOKE if is_stable else DutyKind.LOSE, self.owned)

    def leave(self, reason: str) -> Message | None:
        """Be out of the group; None when the coordinator does not know us, or we are static and keep our place."""
        goodbye = requests.leave_group(self._settings, self.generation, reason)
        self._reset(NO_GENERATION, "")
        self._progress.left()
        self._topics.subscribe(None)
        self._wants_join = False
        self._stall = ""
        self._user_error = None
        return goodbye
