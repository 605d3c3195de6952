"""What tests of the group APIs say over the wire: who coordinates, members of both protocols, offsets."""

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.common.uuid import Uuid
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.server.wire import Wire, eventually

GROUP_PROPERTIES = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""A broker whose groups are quick."""
RETRIABLE = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""


def find_coordinators(wire: Wire, keys: Sequence[str], key_type: int = 0) -> list[Any]:
    """Ask until there are coordinators."""
    for _ in eventually():
        found = wire.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys), 6).coordinators
        if not any(one.error_code in RETRIABLE for one in found):
            return list(found)
    raise AssertionError


def ready(wire: Wire, group_id: str) -> None:
    """Wait until a group's coordinator answers."""
    find_coordinators(wire, [group_id])
    for _ in eventually():
        answer = wire.ask(OffsetFetchRequest(group_id=group_id, topics=None), 2)
        if answer.error_code not in RETRIABLE:
            assert answer.error_code == 0
            return


class ClassicMember:
    """A member that speaks one version of JoinGroup and what goes with it."""

    def __init__(self, wire: Wire, group_id: str, version: int = 9, *, instance_id: str | None = None) -> None:
        self.wire = wire
        self.group_id = group_id
        self.version = version
        self.instance_id = instance_id
        self.member_id = ""
        self.generation_id = -1

    def join_request(self, **fields: Any) -> JoinGroupRequest:
        """What the member joins with."""
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\0\1")],
        }
        return JoinGroupRequest(**(values | fields))

    def join(self, **fields: Any) -> Any:
        """Join; from version 4 on that takes two requests for who has no id yet."""
        answer = self.wire.ask(self.join_request(**fields), self.version)
        if answer.error_code == 79:  # MEMBER_ID_REQUIRED
            self.member_id = answer.member_id
            answer = self.wire.ask(self.join_request(**fields), self.version)
        if answer.error_code == 0:
            self.member_id, self.generation_id = answer.member_id, answer.generation_id
        return answer

    def sync(self, version: int = 5, assignments: Mapping[str, bytes] | None = None, **fields: Any) -> Any:
        """Tell assignments, or none, and learn one's own."""
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id if version >= 3 else None,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        }
        return self.wire.ask(SyncGroupRequest(**(values | fields)), version)

    def heartbeat(self, version: int = 4, **fields: Any) -> int:
        """The error code of a heartbeat."""
        values: dict[str, Any] = {
            "group_id": self.group_id,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id if version >= 3 else None,
        }
        code: int = self.wire.ask(HeartbeatRequest(**(values | fields)), version).error_code
        return code

    def leave(self, version: int = 5) -> Any:
        """Leave, alone."""
        if version < 3:
            return self.wire.ask(LeaveGroupRequest(group_id=self.group_id, member_id=self.member_id), version)
        member = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        return self.wire.ask(LeaveGroupRequest(group_id=self.group_id, members=[member]), version)

    def become_stable(self) -> None:
        """Join, alone, and get an assignment."""
        assert self.join().error_code == 0
        assert self.sync(assignments={self.member_id: b"mine"}).error_code == 0


def heartbeat(wire: Wire, group_id: str, version: int = 1, **fields: Any) -> Any:
    """The answer to a ConsumerGroupHeartbeat."""
    return wire.ask(ConsumerGroupHeartbeatRequest(group_id=group_id, **fields), version)


def join_consumer_group(wire: Wire, group_id: str, member_id: str, topics: Sequence[str], **fields: Any) -> Any:
    """A member's first ConsumerGroupHeartbeat."""
    return heartbeat(
        wire,
        group_id,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=topics,
        topic_partitions=[],
        **fields,
    )


def commit(
    wire: Wire,
    group_id: str,
    offsets: Mapping[tuple[str | Uuid, int], int],
    version: int = 9,
    *,
    metadata: str | None = "",
    **fields: Any,
) -> dict[tuple[str | Uuid, int], int]:
    """Commit; returns the error code of each partition."""
    topics: dict[str | Uuid, list[OffsetCommitRequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)
        )
    request = OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(name=topic, partitions=partitions)
            if isinstance(topic, str)
            else OffsetCommitRequestTopic(topic_id=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
        **fields,
    )
    return {
        (topic.topic_id if version >= 10 else topic.name, one.partition_index): one.error_code
        for topic in wire.ask(request, version).topics
        for one in topic.partitions
    }


def fetch_request(
    group_id: str, partitions: Mapping[str | Uuid, Sequence[int]] | None, version: int, *, require_stable: bool = False
) -> OffsetFetchRequest:
    """An OffsetFetch for one group, in the form of a version."""
    if version < 8:
        return OffsetFetchRequest(
            group_id=group_id,
            topics=None
            if partitions is None
            else [
                OffsetFetchRequestTopic(name=str(topic), partition_indexes=indexes)
                for topic, indexes in partitions.items()
            ],
            require_stable=require_stable,
        )
    return OffsetFetchRequest(groups=[fetch_group(group_id, partitions)], require_stable=require_stable)


def fetch_group(
    group_id: str, partitions: Mapping[str | Uuid, Sequence[int]] | None, **fields: Any
) -> OffsetFetchRequestGroup:
    """One group of an OffsetFetch of version 8 or later."""
    return OffsetFetchRequestGroup(
        group_id=group_id,
        topics=None
        if partitions is None
        else [
            OffsetFetchRequestTopics(name=topic, partition_indexes=indexes)
            if isinstance(topic, str)
            else OffsetFetchRequestTopics(topic_id=topic, partition_indexes=indexes)
            for topic, indexes in partitions.items()
        ],
        **fields,
    )


def offsets_in(topics: Sequence[Any], *, by_id: bool = False) -> dict[tuple[str | Uuid, int], tuple[int, int]]:
    """Offset and error code of each partition in an answer to OffsetFetch."""
    return {
        (topic.topic_id if by_id else topic.name, one.partition_index): (one.committed_offset, one.error_code)
        for topic in topics
        for one in topic.partitions
    }
