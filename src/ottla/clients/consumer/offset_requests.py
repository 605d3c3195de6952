"""Committing and fetching offsets: what is asked, and what the answers mean."""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import by_topic
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import TopicAuthorizationError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

HIGHEST_VERSION_BY_NAME: Final = 9
"""Of both APIs: from 10 on topics have ids only."""


class Verdict(Enum):
    """What to do with an answer."""

    DONE = "done"
    RETRY = "retry"
    """The coordinator is not ready, or does not know something yet."""
    FIND_COORDINATOR = "find"
    REFUSED = "refused"
    """For who we are: the member must decide."""
    FAILED = "failed"


class Outcome(NamedTuple):
    """An answer read; ``error`` unless it is DONE."""

    verdict: Verdict
    error: KafkaError | None = None


_DONE: Final = Outcome(Verdict.DONE)

_VERDICTS: Final[dict[int, Verdict]] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Verdict.RETRY,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Verdict.RETRY,
    ErrorCode.UNKNOWN_TOPIC_ID: Verdict.RETRY,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: Verdict.RETRY,
    ErrorCode.NOT_COORDINATOR: Verdict.FIND_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Verdict.FIND_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT: Verdict.FIND_COORDINATOR,
    ErrorCode.FENCED_INSTANCE_ID: Verdict.REFUSED,
    ErrorCode.REBALANCE_IN_PROGRESS: Verdict.REFUSED,
    ErrorCode.UNKNOWN_MEMBER_ID: Verdict.REFUSED,
    ErrorCode.ILLEGAL_GENERATION: Verdict.REFUSED,
    ErrorCode.STALE_MEMBER_EPOCH: Verdict.REFUSED,
    ErrorCode.FENCED_MEMBER_EPOCH: Verdict.REFUSED,
}


def judge(code: int) -> Outcome:
    """What a code means for a commit or a fetch of offsets."""
    if code == ErrorCode.NONE:
        return _DONE
    return Outcome(_VERDICTS.get(code, Verdict.FAILED), error_for(code))


def commit_request(
    member: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata], metadata: ClusterMetadata
) -> tuple[OffsetCommitRequest, int | None]:
    """The request, and the highest version that it can be sent in: by name unless all ids are known."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            topic_id=metadata.topic_id(topic),
            partitions=[_commit_partition(index, offsets[TopicPartition(topic, index)]) for index in indexes],
        )
        for topic, indexes in by_topic(offsets.keys()).items()
    ]
    request = OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        topics=topics,
    )
    return request, _max_version(topic.topic_id for topic in topics)


def _commit_partition(index: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=index,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def _max_version(topic_ids: Iterable[Uuid]) -> int | None:
    return HIGHEST_VERSION_BY_NAME if any(topic_id == ZERO_UUID for topic_id in topic_ids) else None


def judge_commit(response: OffsetCommitResponse, metadata: ClusterMetadata) -> Outcome:
    """The first failure decides, except that topics without permission are told together."""
    forbidden = set()
    for topic in response.topics:
        name = topic.name or metadata.topic_name(topic.topic_id) or str(topic.topic_id)
        for partition in topic.partitions:
            if partition.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                forbidden.add(name)
            elif partition.error_code != ErrorCode.NONE:
                outcome = judge(partition.error_code)
                assert outcome.error is not None, "an error code has an error"
                message = f"the offset of {name}-{partition.partition_index} was not committed: {outcome.error}"
                return outcome._replace(error=error_for(partition.error_code, message))
    if forbidden:
        names = ", ".join(sorted(forbidden))
        return Outcome(Verdict.FAILED, TopicAuthorizationError(f"not authorized to commit offsets of {names}"))
    return _DONE


def fetch_request(
    member: ConsumerGroupMetadata,
    partitions: Collection[TopicPartition],
    metadata: ClusterMetadata,
    *,
    with_epoch: bool,
) -> tuple[OffsetFetchRequest, int | None]:
    """The request in the fields of old and new versions, and the highest version that it can be sent in."""
    topics = by_topic(partitions)
    asked = [
        OffsetFetchRequestTopics(name=topic, topic_id=metadata.topic_id(topic), partition_indexes=indexes)
        for topic, indexes in topics.items()
    ]
    group = OffsetFetchRequestGroup(group_id=member.group_id, topics=asked)
    if with_epoch:
        group.member_id = member.member_id
        group.member_epoch = member.generation_id
    request = OffsetFetchRequest(
        group_id=member.group_id,
        topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=indexes) for topic, indexes in topics.items()],
        groups=[group],
        require_stable=True,
    )
    return request, _max_version(topic.topic_id for topic in asked)


def read_committed(
    response: OffsetFetchResponse, metadata: ClusterMetadata
) -> tuple[Outcome, dict[TopicPartition, OffsetAndMetadata | None]]:
    """The offsets, None where there is none; empty unless the outcome is DONE."""
    topics: Iterable[OffsetFetchResponseTopic | OffsetFetchResponseTopics] = response.topics
    code = response.error_code
    if response.groups:
        topics, code = response.groups[0].topics, response.groups[0].error_code
    outcome = judge(code)
    if outcome.verdict is not Verdict.DONE:
        return outcome, {}
    found: dict[TopicPartition, OffsetAndMetadata | None] = {}
    for topic in topics:
        name = topic.name
        if isinstance(topic, OffsetFetchResponseTopics) and not name:
            name = metadata.topic_name(topic.topic_id) or ""
        for partition in topic.partitions:
            if partition.error_code != ErrorCode.NONE:
                return judge(partition.error_code), {}
            offset = None
            if partition.committed_offset >= 0:
                epoch, remark = partition.committed_leader_epoch, partition.metadata or ""
                offset = OffsetAndMetadata(partition.committed_offset, epoch, remark)
            found[TopicPartition(name, partition.partition_index)] = offset
    return _DONE, found
