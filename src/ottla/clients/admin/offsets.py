"""Offsets of partitions: the first, the last, and those of a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, Leader, keyed, retriable
from ottla.clients.admin.results import by_topic, checked, outcome
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

_CONSUMER = -1
_MIN_VERSIONS: Final = {-3: 7, -4: 8, -5: 9, -6: 11}
"""The oldest version that knows a special timestamp; older brokers would take it for a time."""


class IsolationLevel(IntEnum):
    """What counts as the end of a partition: the high watermark, or the last stable offset."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """Which offset of a partition is wanted; made by its static methods."""

    timestamp: int

    @staticmethod
    def earliest() -> "OffsetSpec":
        """The first offset."""
        return OffsetSpec(-2)

    @staticmethod
    def latest() -> "OffsetSpec":
        """The offset of the next record: the end."""
        return OffsetSpec(-1)

    @staticmethod
    def for_timestamp(timestamp_ms: int) -> "OffsetSpec":
        """The first record at or after a time; offset -1 if there is none."""
        return OffsetSpec(timestamp_ms)

    @staticmethod
    def max_timestamp() -> "OffsetSpec":
        """The first record with the highest timestamp; offset -1 of an empty partition."""
        return OffsetSpec(-3)

    @staticmethod
    def earliest_local() -> "OffsetSpec":
        """The first offset on the leader's own disks."""
        return OffsetSpec(-4)

    @staticmethod
    def latest_tiered() -> "OffsetSpec":
        """The last offset in tiered storage; -1 if there is none."""
        return OffsetSpec(-5)

    @staticmethod
    def earliest_pending_upload() -> "OffsetSpec":
        """The first offset that is not in tiered storage yet; -1 if there is none."""
        return OffsetSpec(-6)


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """An offset, and of a record that was found by its time, that time (-1 of others); None if the epoch is unknown."""

    offset: int
    timestamp_ms: int
    leader_epoch: int | None


class OffsetsPart(AdminPart):
    """Offsets of partitions."""

    __slots__ = ()

    @overload
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, ListedOffset]: ...
    @overload
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, ListedOffset | KafkaError]: ...
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, ListedOffset | KafkaError]:
        """The offset that each spec means, from the partitions' leaders."""

        def request(keys: Sequence[TopicPartition], left_ms: int) -> ListOffsetsRequest:
            return list_offsets_request({key: specs[key] for key in keys}, isolation_level, left_ms)

        found: dict[TopicPartition, ListedOffset | KafkaError] = {}
        for min_version, keys in by_min_version(specs).items():
            ask = Ask(
                keys, lambda key: Leader(*key), request, keyed(listed_offsets), retriable, min_version=min_version
            )
            found.update(await self._caller.ask(ask, timeout_ms))
        return checked({key: found[key] for key in specs}, raise_errors=raise_errors)


def by_min_version(specs: Mapping[TopicPartition, OffsetSpec]) -> dict[int, list[TopicPartition]]:
    """Partitions by the oldest version that can ask for their offsets, so that an old broker fails only some."""
    versions: dict[int, list[TopicPartition]] = {}
    for key, spec in specs.items():
        versions.setdefault(_MIN_VERSIONS.get(spec.timestamp, 1), []).append(key)
    return versions


def list_offsets_request(
    specs: Mapping[TopicPartition, OffsetSpec], isolation_level: IsolationLevel, timeout_ms: int
) -> ListOffsetsRequest:
    """Ask a leader for offsets."""
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation_level,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=specs[TopicPartition(topic, index)].timestamp)
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(specs).items()
        ],
        timeout_ms=timeout_ms,
    )


def listed_offsets(response: ListOffsetsResponse) -> dict[TopicPartition, ListedOffset | KafkaError]:
    """Read offsets."""
    return {
        TopicPartition(topic.name, each.partition_index): outcome(
            each.error_code,
            None,
            ListedOffset(each.offset, each.timestamp, each.leader_epoch if each.leader_epoch >= 0 else None),
        )
        for topic in response.topics
        for each in topic.partitions
    }
