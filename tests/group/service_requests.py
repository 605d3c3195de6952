"""Requests to the group coordinator, as tests send them."""

from typing import Any

from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.group.service_world import TOPIC, TOPIC_ID

GROUP = "group"


def commit_request(group_id: str = GROUP, offset: int = 5, **fields: Any) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
    return OffsetCommitRequest(group_id=group_id, topics=[topic], **fields)


def txn_commit_request(group_id: str = GROUP) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    return TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group_id,
        producer_id=7,
        producer_epoch=1,
        topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
    )


def join_request(**fields: Any) -> JoinGroupRequest:
    values: dict[str, Any] = {
        "group_id": GROUP,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"m")],
    }
    return JoinGroupRequest(**(values | fields))


def leave_request(group_id: str = GROUP) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id="m", group_instance_id="i")])


def fetch_request(group_id: str = GROUP, *, every: bool = False) -> OffsetFetchRequestGroup:
    topics = [OffsetFetchRequestTopics(name=TOPIC, topic_id=TOPIC_ID, partition_indexes=[0])]
    return OffsetFetchRequestGroup(group_id=group_id, topics=None if every else topics)


def consumer_heartbeat_request(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    values: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**(values | fields))


def delete_offsets_request(group_id: str = GROUP) -> OffsetDeleteRequest:
    topic = OffsetDeleteRequestTopic(name=TOPIC, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    return OffsetDeleteRequest(group_id=group_id, topics=[topic])
