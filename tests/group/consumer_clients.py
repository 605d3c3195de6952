"""Clients of a group that behave, or do not: consumers of the new protocol, and of the classic one."""

from collections.abc import Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.protocol.consumer_protocol import decode_subscription, encode_assignment
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequestAssignment, SyncGroupResponse
from tests.group.consumer_world import REBALANCE_MS, World, assigned, synced

Owned = dict[Uuid, set[int]]

_FENCED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
_RETRIABLE = (ErrorCode.NOT_COORDINATOR, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.UNRELEASED_INSTANCE_ID)


class Consumer:
    """A consumer of the new protocol. ``owned`` is what it reads; it never reads what it was not given."""

    def __init__(
        self, member_id: str, topics: Sequence[str], regex: str | None = None, instance_id: str | None = None
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.topics: list[str] | None = list(topics)
        self.regex = regex
        self.epoch = 0
        self.assignment: Owned = {}
        self.owned: Owned = {}
        self.is_gone = False
        self._must_send_all = True
        self._has_missed_answer = False

    def beat(self, world: World, *, reconciles: bool = True, hears: bool = True) -> None:
        """Heartbeat, perhaps without having done what it was told, perhaps without hearing the answer."""
        if reconciles:
            self._reconcile()
        is_full = self.epoch == 0 or self._must_send_all
        try:
            response = world.heartbeat(
                self.member_id,
                self.epoch,
                owned=self.owned if reconciles or is_full else None,
                topics=self.topics if is_full else None,
                regex=self.regex if is_full else None,
                instance_id=self.instance_id,
                rebalance_timeout_ms=REBALANCE_MS if is_full else -1,
            )
        except KafkaError as error:
            if hears:
                self._refused(ErrorCode(error.code))
            return
        self._must_send_all = self._has_missed_answer = not hears
        if hears:
            self._hear(response)

    def _reconcile(self) -> None:
        """Give up what it should not have, and take what it was given; not the latter if it may have been told to give
        it up in an answer that was lost, for it has said that it does not own it.
        """
        self.owned = {
            topic_id: set(partitions) if not self._has_missed_answer else partitions & self.owned.get(topic_id, set())
            for topic_id, partitions in self.assignment.items()
        }

    def subscribe(self, topics: Sequence[str], regex: str | None) -> None:
        """Change the subscription, to be told with the next heartbeat."""
        self.topics, self.regex = list(topics), regex
        self._must_send_all = True

    def leave(self, world: World, *, for_a_while: bool = False) -> None:
        """Stop; a static member may mean to come back."""
        epoch = -2 if for_a_while else -1
        try:
            world.heartbeat(self.member_id, epoch, instance_id=self.instance_id)
        except KafkaError as error:
            if error.code == ErrorCode.NOT_COORDINATOR:
                return
        self._abandon()
        self.is_gone = True

    def _hear(self, response: ConsumerGroupHeartbeatResponse) -> None:
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.assignment = assigned(response)

    def _refused(self, code: ErrorCode) -> None:
        if code in _FENCED:
            self._abandon()
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self._abandon()
            self.is_gone = True
        else:
            assert code in _RETRIABLE, code

    def _abandon(self) -> None:
        self.epoch, self.assignment, self.owned = 0, {}, {}
        self._must_send_all, self._has_missed_answer = True, False


class ClassicConsumer:
    """A consumer of the classic protocol, eager or cooperative, that leads the group if it is asked to."""

    def __init__(self, topics: Sequence[str], *, is_cooperative: bool, instance_id: str | None = None) -> None:
        self.member_id = ""
        self.instance_id = instance_id
        self.topics = list(topics)
        self.is_cooperative = is_cooperative
        self.generation_id = -1
        self.owned: dict[str, set[int]] = {}
        self.is_gone = False
        self.knows_consumer_group = False
        """Whether what it owns was given to it by a consumer group."""
        self._must_join = True
        self._joining: list[JoinGroupResponse] | None = None
        self._syncing: list[SyncGroupResponse] | None = None

    def step(self, world: World) -> None:
        """Do what comes next: join, sync, or heartbeat; or look whether an answer has come."""
        try:
            if self._joining is not None:
                self._hear_join(world)
            elif self._syncing is not None:
                self._hear_sync(world)
            elif self._must_join:
                self._join(world)
            else:
                self._heard(ErrorCode(world.classic_heartbeat(self.member_id, self.generation_id, self.instance_id)))
        except KafkaError as error:
            self._joining = self._syncing = None
            self._heard(ErrorCode(error.code))

    def leave(self, world: World) -> None:
        """Stop."""
        try:
            world.classic_leave((self.member_id, self.instance_id))
        except KafkaError as error:
            if error.code == ErrorCode.NOT_COORDINATOR:
                return
        self.owned, self.is_gone = {}, True

    def lose_connection(self) -> None:
        """Whatever it waits for will not come."""
        if self._joining is not None or self._syncing is not None:
            self._joining = self._syncing = None
            self._must_join = True

    def _join(self, world: World) -> None:
        if not self.is_cooperative:
            self.owned = {}
        self._joining = world.classic_join(
            self.member_id,
            topics=self.topics,
            owned={t: sorted(p) for t, p in self.owned.items()},
            instance_id=self.instance_id,
        )
        self._hear_join(world)

    def _hear_join(self, world: World) -> None:
        if not self._joining:
            return
        (answer,), self._joining = self._joining, None
        if answer.error_code:
            self.member_id = answer.member_id or self.member_id
            self._heard(ErrorCode(answer.error_code))
            return
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        assignments = []
        if answer.leader == self.member_id and not answer.skip_assignment:
            assignments = _assign(world, answer)
        self._syncing = world.classic_sync(
            self.member_id, self.generation_id, assignments=assignments, instance_id=self.instance_id
        )
        self._hear_sync(world)

    def _hear_sync(self, world: World) -> None:
        if not self._syncing:
            return
        answers, self._syncing = self._syncing, None
        code = ErrorCode(answers[0].error_code)
        if code is not ErrorCode.NONE:
            self._heard(code)
            return
        before, self.owned = self.owned, synced(answers)
        self.knows_consumer_group = world.groups["group"].type == "consumer"
        has_revoked = any(partitions - self.owned.get(topic, set()) for topic, partitions in before.items())
        self._must_join = self.is_cooperative and has_revoked

    def _heard(self, code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            return
        self._must_join = True
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.owned = {}
            self.knows_consumer_group = False
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self.owned, self.is_gone = {}, True
        else:
            assert code in (
                ErrorCode.REBALANCE_IN_PROGRESS,
                ErrorCode.MEMBER_ID_REQUIRED,
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                *_RETRIABLE,
            ), code


def _assign(world: World, answer: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
    """What a leader decides: each partition goes to one of those who want its topic, in turn."""
    wanted = {each.member_id: decode_subscription(each.metadata).topics for each in answer.members}
    shares: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in wanted}
    for topic in sorted({topic for topics in wanted.values() for topic in topics}):
        image = world.image.topics.topic(topic)
        takers = [member_id for member_id, topics in wanted.items() if topic in topics]
        for partition in sorted(image.partitions) if image is not None else ():
            shares[takers[partition % len(takers)]].setdefault(topic, []).append(partition)
    return [
        SyncGroupRequestAssignment(member_id=member_id, assignment=encode_assignment(sorted(share.items()), 3))
        for member_id, share in shares.items()
    ]
