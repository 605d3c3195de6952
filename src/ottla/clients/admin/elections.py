"""Electing leaders of partitions."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere
from ottla.clients.admin.results import by_topic, check, checked, outcome
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions


class ElectionType(IntEnum):
    """Who may win: the first replica if it is in sync, or, where none is in sync, any that lives (losing records)."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionsPart(AdminPart):
    """Elections."""

    __slots__ = ()

    @overload
    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = ...,
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, None]: ...
    @overload
    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = ...,
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, KafkaError | None]: ...
    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, KafkaError | None]:
        """Elect leaders of ``partitions``, or of all that need it, which are then those in the result.

        A partition that is named and has the right leader already gives ElectionNotNeededError.
        """
        topics = None if partitions is None else by_topic(partitions).items()

        def request(left_ms: int) -> ElectLeadersRequest:
            return ElectLeadersRequest(
                election_type=election_type,
                topic_partitions=None
                if topics is None
                else [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in topics],
                timeout_ms=left_ms,
            )

        elected = await self._ask_one(request, elected_leaders, timeout_ms, Anywhere.CONTROLLER)
        return checked(elected, raise_errors=raise_errors)


def elected_leaders(response: ElectLeadersResponse) -> dict[TopicPartition, KafkaError | None]:
    """Read who has a leader now."""
    check(response.error_code)
    return {
        TopicPartition(topic.topic, each.partition_id): outcome(each.error_code, each.error_message, None)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }
