"""Moving partitions to other brokers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere, Ask, controller, keyed
from ottla.clients.admin.results import by_topic, check, outcome
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """A move under way: all replicas, those that come and those that go."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReassignmentsPart(AdminPart):
    """Reassignments."""

    __slots__ = ()

    @overload
    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, None]: ...
    @overload
    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, KafkaError | None]:
        """Begin to move partitions to these brokers, the preferred leader first; None cancels a move under way."""

        def request(keys: Sequence[TopicPartition], left_ms: int) -> AlterPartitionReassignmentsRequest:
            topics = [
                ReassignableTopic(
                    name=topic,
                    partitions=[
                        ReassignablePartition(
                            partition_index=index, replicas=reassignments[TopicPartition(topic, index)]
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(keys).items()
            ]
            return AlterPartitionReassignmentsRequest(
                timeout_ms=left_ms, allow_replication_factor_change=allow_replication_factor_change, topics=topics
            )

        min_version = 0 if allow_replication_factor_change else 1
        ask = Ask(list(reassignments), controller, request, keyed(altered_reassignments), min_version=min_version)
        return await self._ask(ask, timeout_ms, raise_errors)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The moves under way, of all partitions or of these."""
        topics = None if partitions is None else by_topic(partitions).items()

        def request(left_ms: int) -> ListPartitionReassignmentsRequest:
            return ListPartitionReassignmentsRequest(
                timeout_ms=left_ms,
                topics=None
                if topics is None
                else [ListPartitionReassignmentsTopics(name=name, partition_indexes=ids) for name, ids in topics],
            )

        return await self._ask_one(request, listed_reassignments, timeout_ms, Anywhere.CONTROLLER)


def altered_reassignments(response: AlterPartitionReassignmentsResponse) -> dict[TopicPartition, KafkaError | None]:
    """Read which moves have begun or ended."""
    check(response.error_code, response.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, each.error_message, None)
        for topic in response.responses
        for each in topic.partitions
    }


def listed_reassignments(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, PartitionReassignment]:
    """Read the moves under way."""
    check(response.error_code, response.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): PartitionReassignment(
            tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in response.topics
        for each in topic.partitions
    }
