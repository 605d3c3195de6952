"""Adding partitions to topics, and removing records from their beginning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, Leader, controller, keyed, retriable
from ottla.clients.admin.results import by_topic, outcome
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from ottla.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

HIGH_WATERMARK = -1
"""As an offset to delete to: everything that is committed."""


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic shall have; ``new_assignments`` gives brokers to each of those that are added."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class DeletedRecords:
    """The first offset that is left."""

    low_watermark: int


class PartitionsPart(AdminPart):
    """Partitions of topics."""

    __slots__ = ()

    @overload
    async def create_partitions(
        self,
        partitions: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, None]: ...
    @overload
    async def create_partitions(
        self,
        partitions: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, KafkaError | None]: ...
    async def create_partitions(
        self,
        partitions: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, KafkaError | None]:
        """Raise the number of partitions of topics; keys then go to other partitions than before."""

        def request(names: Sequence[str], left_ms: int) -> CreatePartitionsRequest:
            return CreatePartitionsRequest(
                topics=[_growth(name, partitions[name]) for name in names],
                timeout_ms=left_ms,
                validate_only=validate_only,
            )

        ask = Ask(list(partitions), controller, request, keyed(created_partitions))
        return await self._ask(ask, timeout_ms, raise_errors)

    @overload
    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, raise_errors: Literal[True] = ..., timeout_ms: int | None = ...
    ) -> dict[TopicPartition, DeletedRecords]: ...
    @overload
    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, raise_errors: Literal[False], timeout_ms: int | None = ...
    ) -> dict[TopicPartition, DeletedRecords | KafkaError]: ...
    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, raise_errors: bool = True, timeout_ms: int | None = None
    ) -> Mapping[TopicPartition, DeletedRecords | KafkaError]:
        """Delete all records before the offsets; -1 stands for all up to the high watermark."""

        def request(keys: Sequence[TopicPartition], left_ms: int) -> DeleteRecordsRequest:
            topics = [
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=index, offset=offsets[TopicPartition(topic, index)])
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(keys).items()
            ]
            return DeleteRecordsRequest(topics=topics, timeout_ms=left_ms)

        ask = Ask(list(offsets), lambda key: Leader(*key), request, keyed(deleted_records), retriable)
        return await self._ask(ask, timeout_ms, raise_errors)


def _growth(name: str, wanted: NewPartitions | int) -> CreatePartitionsTopic:
    if isinstance(wanted, int):
        wanted = NewPartitions(wanted)
    assignments = wanted.new_assignments
    return CreatePartitionsTopic(
        name=name,
        count=wanted.total_count,
        assignments=None
        if assignments is None
        else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments],
    )


def created_partitions(response: CreatePartitionsResponse) -> dict[str, KafkaError | None]:
    """Read which topics have got their partitions."""
    return {topic.name: outcome(topic.error_code, topic.error_message, None) for topic in response.results}


def deleted_records(response: DeleteRecordsResponse) -> dict[TopicPartition, DeletedRecords | KafkaError]:
    """Read where the partitions now begin."""
    return {
        TopicPartition(topic.name, each.partition_index): outcome(
            each.error_code, None, DeletedRecords(each.low_watermark)
        )
        for topic in response.topics
        for each in topic.partitions
    }
