"""Answers that say nothing but an error, where the error stands at many places or depends on the version."""

from collections.abc import Iterable, Sequence
from typing import Final

from ottla.protocol.messages import consumer_group_describe, describe_groups
from ottla.protocol.messages.delete_groups import DeletableGroupResult
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

INVALID_OFFSET: Final = -1
_GROUP_ERROR: Final = 2
"""From this version of OffsetFetch on, a group has an error of its own."""


def offset_commit(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    """The error, at every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def txn_offset_commit(request: TxnOffsetCommitRequest, code: int) -> TxnOffsetCommitResponse:
    """The error, at every partition."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def offset_fetch_partitions(partition_indexes: Iterable[int], code: int) -> list[OffsetFetchResponsePartitions]:
    """The error, and no offset, at every partition."""
    return [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=INVALID_OFFSET, error_code=code)
        for index in partition_indexes
    ]


def offset_fetch_group(group: OffsetFetchRequestGroup, code: int, version: int) -> OffsetFetchResponseGroup:
    """The error of the group, or before it had one at every partition."""
    if version >= _GROUP_ERROR:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name, partitions=offset_fetch_partitions(topic.partition_indexes, code)
            )
            for topic in group.topics or ()
        ],
    )


def leaving_members(request: LeaveGroupRequest, code: int) -> LeaveGroupResponse:
    """The error, at every member that wants to leave."""
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=code)
            for member in request.members
        ]
    )


def described_groups(group_ids: Sequence[str], code: int) -> list[describe_groups.DescribedGroup]:
    """The error, at every group."""
    return [describe_groups.DescribedGroup(group_id=group_id, error_code=code) for group_id in group_ids]


def described_consumer_groups(group_ids: Sequence[str], code: int) -> list[consumer_group_describe.DescribedGroup]:
    """The error, at every group."""
    return [consumer_group_describe.DescribedGroup(group_id=group_id, error_code=code) for group_id in group_ids]


def deleted_groups(group_ids: Sequence[str], code: int) -> list[DeletableGroupResult]:
    """The error, at every group."""
    return [DeletableGroupResult(group_id=group_id, error_code=code) for group_id in group_ids]
