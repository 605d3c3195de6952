"""Members of groups on raw connections, of both protocols; they do what they have to at once, and no more."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.node import Node
from tests.server.wire import Wire, eventually

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, COMMIT_VERSION, CONSUMER_VERSION = 9, 5, 4, 9, 1
SESSION_TIMEOUT_MS = 1_800_000
_NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def await_coordinators(node: Node, keys: Sequence[str], key_type: int = 0) -> None:
    """Ask for coordinators until they are there; the first who asks has the internal topic made."""
    with Wire(node.bootstrap) as wire:
        for _ in eventually():
            found = wire.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys), 6).coordinators
            if all(one.error_code == 0 for one in found):
                return


class ClassicMember:
    """A member of the classic protocol."""

    def __init__(self, wire: Wire, group_id: str) -> None:
        self.wire = wire
        self.group_id = group_id
        self.member_id = ""
        self.generation_id = -1
        self._joins = 0

    def ask_for_id(self) -> None:
        """Get the member id with which one may join."""
        for _ in eventually():
            answer = self.wire.ask(self._join(), JOIN_VERSION)
            if answer.error_code not in _NOT_YET:
                break
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED, answer
        self.member_id = answer.member_id

    def send_join(self) -> None:
        """Join, or join again with another subscription, so that there is a new generation whoever is first."""
        self._joins += 1
        self.wire.send(self._join(), JOIN_VERSION)

    def receive_join(self) -> Any:
        """The answer, when the generation is complete."""
        answer = self.wire.receive(self._join(), JOIN_VERSION)
        assert answer.error_code == 0, ErrorCode(answer.error_code).name
        self.generation_id = answer.generation_id
        return answer

    def send_sync(self, assignments: Sequence[SyncGroupRequestAssignment] = ()) -> None:
        """Ask for the assignment; the leader tells all of them."""
        self.wire.send(self._sync(assignments), SYNC_VERSION)

    def receive_sync(self) -> bytes:
        """The assignment."""
        answer = self.wire.receive(self._sync(()), SYNC_VERSION)
        assert answer.error_code == 0, ErrorCode(answer.error_code).name
        assignment: bytes = answer.assignment
        return assignment

    def heartbeat_frame(self) -> bytes:
        """A heartbeat as bytes."""
        request = HeartbeatRequest(group_id=self.group_id, generation_id=self.generation_id, member_id=self.member_id)
        return self.wire.frame(request, HEARTBEAT_VERSION)

    def commit_frame(self, topic: str, partitions: Sequence[int]) -> bytes:
        """A commit of the partitions of one topic as bytes."""
        committed = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=1000 + index, committed_metadata="")
            for index in partitions
        ]
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=committed)],
        )
        return self.wire.frame(request, COMMIT_VERSION)

    def _join(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=self._joins.to_bytes(32))],
        )

    def _sync(self, assignments: Sequence[SyncGroupRequestAssignment]) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )


def rebalance(members: Sequence[ClassicMember], assignment: bytes) -> None:
    """All join, and all get an assignment from the leader."""
    for member in members:
        member.send_join()
    leaders = [member for member in members if (answer := member.receive_join()).leader == answer.member_id]
    assert len(leaders) == 1
    everybody = [SyncGroupRequestAssignment(member_id=each.member_id, assignment=assignment) for each in members]
    for member in members:
        member.send_sync(everybody if member is leaders[0] else ())
    for member in members:
        assert member.receive_sync() == assignment


class ConsumerMember:
    """A member of the consumer protocol (KIP-848)."""

    def __init__(self, wire: Wire, group_id: str, topic: str) -> None:
        self._wire = wire
        self._group_id = group_id
        self._topic = topic
        self._member_id = str(uuid4())
        self._said: dict[Uuid, tuple[int, ...]] | None = None
        self.epoch = 0
        self.owned: dict[Uuid, tuple[int, ...]] = {}

    def send(self) -> None:
        """A heartbeat: all about the member when it joins, else what has changed."""
        self._wire.send(self._heartbeat(), CONSUMER_VERSION)
        self._said = self.owned

    def receive(self) -> bool:
        """Do as the answer says; whether there was something to do."""
        answer = self._wire.receive(self._heartbeat(), CONSUMER_VERSION)
        assert answer.error_code == 0, (ErrorCode(answer.error_code).name, answer.error_message)
        before = self.epoch, self.owned
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {one.topic_id: tuple(one.partitions) for one in answer.assignment.topic_partitions}
        return (self.epoch, self.owned) != before

    def leave(self) -> None:
        """Say goodbye."""
        self.epoch = -1
        self.send()
        self.receive()

    @property
    def partitions(self) -> int:
        """How many it owns."""
        return sum(map(len, self.owned.values()))

    def heartbeat_frame(self) -> bytes:
        """A heartbeat of somebody who has nothing to say."""
        return self._wire.frame(self._heartbeat(), CONSUMER_VERSION)

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        joins = self.epoch == 0
        owned = None
        if joins or self.owned != self._said:
            owned = [
                ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in self.owned.items()
            ]
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS if joins else -1,
            subscribed_topic_names=[self._topic] if joins else None,
            topic_partitions=owned,
        )


def settle(members: Sequence[ConsumerMember], partitions: int) -> int:
    """Let all send heartbeats until nothing changes any more and everything is owned; returns how many rounds."""
    rounds = 0
    while True:
        rounds += 1
        for member in members:
            member.send()
        changed = [member for member in members if member.receive()]
        if not changed and sum(member.partitions for member in members) == partitions:
            assert len({member.epoch for member in members}) == 1
            return rounds
