"""Offsets by time: the first, the last, the one at a moment (ListOffsets). Pure: requests out, answers in."""

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndTimestamp
from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

CONSUMER_REPLICA_ID: Final = -1
UNKNOWN_OFFSET: Final = -1

FATAL_CODES: Final = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION})
"""What another attempt does not mend; Apache's consumer tries again on everything else."""


class IsolationLevel(IntEnum):
    """Which records are seen; the number is the protocol's."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class LookupResult(NamedTuple):
    """What an answer says; a partition that is in none of these was not answered."""

    found: dict[TopicPartition, OffsetAndTimestamp | None]
    """None: no record is that late."""
    retry: dict[TopicPartition, int]
    """Error codes."""
    fatal: KafkaError | None


def by_leader(
    partitions: Collection[TopicPartition], metadata: ClusterMetadata
) -> tuple[dict[int, list[TopicPartition]], list[TopicPartition]]:
    """The partitions that each node leads, and those that nobody is known to lead."""
    led: dict[int, list[TopicPartition]] = {}
    leaderless = []
    for partition in partitions:
        leader = metadata.leader(*partition)
        if leader is None:
            leaderless.append(partition)
        else:
            led.setdefault(leader.id, []).append(partition)
    return led, leaderless


def list_offsets_request(
    timestamps: Mapping[TopicPartition, int], metadata: ClusterMetadata, isolation: IsolationLevel, timeout_ms: int
) -> ListOffsetsRequest:
    """Ask for the first offset at or after each time; -2 is the log's start, -1 its end."""
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, index), timestamp in timestamps.items():
        epoch = metadata.leader_epoch(topic, index)
        topics.setdefault(topic, []).append(
            ListOffsetsPartition(partition_index=index, current_leader_epoch=epoch, timestamp=timestamp)
        )
    return ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()],
        timeout_ms=timeout_ms,
    )


def read_list_offsets(response: ListOffsetsResponse) -> LookupResult:
    """Sort the answer."""
    found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
    retry: dict[TopicPartition, int] = {}
    fatal: KafkaError | None = None
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            code = answer.error_code
            if code == ErrorCode.NONE:
                is_there = answer.offset != UNKNOWN_OFFSET
                place = OffsetAndTimestamp(answer.offset, answer.timestamp, answer.leader_epoch)
                found[partition] = place if is_there else None
            elif code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                found[partition] = None
            elif code in FATAL_CODES:
                fatal = error_for(code, f"Cannot look up offsets of {partition}")
            else:
                retry[partition] = code
    return LookupResult(found, retry, fatal)
