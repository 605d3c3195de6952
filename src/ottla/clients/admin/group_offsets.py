"""What groups have committed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import AT_COORDINATOR, Ask, GroupCoordinator, keyed
from ottla.clients.admin.results import by_topic, check, checked, outcome
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import UnstableOffsetCommitError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

_BY_NAME_VERSION = 9
"""Later versions of OffsetFetch and OffsetCommit know topics by id only."""

Committed = OffsetAndMetadata | None


class GroupOffsetsPart(AdminPart):
    """Committed offsets."""

    __slots__ = ()

    @overload
    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = ...,
        *,
        require_stable: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]: ...
    @overload
    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = ...,
        *,
        require_stable: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, OffsetAndMetadata | KafkaError | None]: ...
    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, OffsetAndMetadata | KafkaError | None]:
        """What a group has committed for ``partitions``, or for all that it has; None where it has nothing.

        With ``require_stable`` this waits for transactions that are about to commit offsets. A group that does not
        exist has committed nothing.
        """
        request = offset_fetch_request(group_id, partitions, require_stable=require_stable)
        found = await self._ask_one(
            lambda _: request, fetched_offsets, timeout_ms, GroupCoordinator(group_id), _BY_NAME_VERSION
        )
        return checked(found, raise_errors=raise_errors)

    @overload
    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, None]: ...
    @overload
    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, KafkaError | None]:
        """Commit offsets for a group that has no members (UnknownMemberIdError if it has)."""

        def request(keys: Sequence[TopicPartition], _: int) -> OffsetCommitRequest:
            return offset_commit_request(group_id, {key: offsets[key] for key in keys})

        ask = Ask(
            list(offsets),
            lambda _: GroupCoordinator(group_id),
            request,
            keyed(committed_offsets),
            AT_COORDINATOR,
            max_version=_BY_NAME_VERSION,
        )
        return await self._ask(ask, timeout_ms, raise_errors)

    @overload
    async def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, None]: ...
    @overload
    async def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    async def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, KafkaError | None]:
        """Forget what a group has committed; GroupSubscribedToTopicError for what its members read."""

        def request(keys: Sequence[TopicPartition], _: int) -> OffsetDeleteRequest:
            topics = [
                OffsetDeleteRequestTopic(
                    name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
                )
                for topic, indexes in by_topic(keys).items()
            ]
            return OffsetDeleteRequest(group_id=group_id, topics=topics)

        keys = list(dict.fromkeys(partitions))
        ask = Ask(keys, lambda _: GroupCoordinator(group_id), request, keyed(deleted_offsets), AT_COORDINATOR)
        return await self._ask(ask, timeout_ms, raise_errors)


def offset_fetch_request(
    group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
) -> OffsetFetchRequest:
    """Ask for offsets by topic name, in the shape of version 8 and in that of older ones."""
    topics = None if partitions is None else by_topic(partitions).items()
    old = (
        None if topics is None else [OffsetFetchRequestTopic(name=name, partition_indexes=ids) for name, ids in topics]
    )
    new = (
        None if topics is None else [OffsetFetchRequestTopics(name=name, partition_indexes=ids) for name, ids in topics]
    )
    group = OffsetFetchRequestGroup(group_id=group_id, topics=new)
    return OffsetFetchRequest(group_id=group_id, topics=old, groups=[group], require_stable=require_stable)


def fetched_offsets(response: OffsetFetchResponse) -> dict[TopicPartition, Committed | KafkaError]:
    """Read offsets. Raises the group's error, and UnstableOffsetCommitError while any offset is about to change."""
    found: dict[TopicPartition, Committed | KafkaError] = {}
    answer = response.groups[0] if response.groups else response
    check(answer.error_code)
    for topic in answer.topics:
        for each in topic.partitions:
            if each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise UnstableOffsetCommitError(f"A transaction is about to commit an offset of {topic.name}")
            committed = None
            if each.committed_offset >= 0:
                committed = OffsetAndMetadata(each.committed_offset, each.committed_leader_epoch, each.metadata or "")
            found[TopicPartition(topic.name, each.partition_index)] = outcome(each.error_code, None, committed)
    return found


def offset_commit_request(group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> OffsetCommitRequest:
    """Commit as nobody's member."""
    topics = []
    for topic, indexes in by_topic(offsets).items():
        wanted = [(index, offsets[TopicPartition(topic, index)]) for index in indexes]
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                committed_metadata=each.metadata,
            )
            for index, each in wanted
        ]
        topics.append(OffsetCommitRequestTopic(name=topic, partitions=partitions))
    return OffsetCommitRequest(group_id=group_id, topics=topics)


def committed_offsets(response: OffsetCommitResponse) -> dict[TopicPartition, KafkaError | None]:
    """Read which offsets have been committed."""
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
        for topic in response.topics
        for each in topic.partitions
    }


def deleted_offsets(response: OffsetDeleteResponse) -> dict[TopicPartition, KafkaError | None]:
    """Read which offsets are gone."""
    check(response.error_code)
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
        for topic in response.topics
        for each in topic.partitions
    }
