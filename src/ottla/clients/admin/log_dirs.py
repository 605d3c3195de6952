"""Brokers' log directories, and moving replicas between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, Broker, each_broker
from ottla.clients.admin.results import by_topic, check, checked, outcome
from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


class TopicPartitionReplica(NamedTuple):
    """The copy of a partition that a broker has."""

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """A replica in a directory: how large, how many records behind, and whether it is on its way into the directory."""

    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """A directory; ``error`` if it is offline. The bytes of its disk are None where the broker does not tell."""

    path: str
    error: KafkaError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


class LogDirsPart(AdminPart):
    """Log directories."""

    __slots__ = ()

    @overload
    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int] | None = ...,
        *,
        partitions: Iterable[TopicPartition] | None = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[int, dict[str, LogDirDescription]]: ...
    @overload
    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int] | None = ...,
        *,
        partitions: Iterable[TopicPartition] | None = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[int, dict[str, LogDirDescription] | KafkaError]: ...
    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int] | None = None,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[int, dict[str, LogDirDescription] | KafkaError]:
        """The directories of each broker (all, unless named), by path, with all replicas or those of ``partitions``."""
        topics = None if partitions is None else by_topic(partitions).items()
        request = DescribeLogDirsRequest(
            topics=None
            if topics is None
            else [DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in topics]
        )

        def ask(node_ids: Sequence[int]) -> Ask[int, dict[str, LogDirDescription]]:
            return each_broker(node_ids, request, described_log_dirs)

        if broker_ids is None:
            return checked(await self._caller.ask_every_node(ask, timeout_ms), raise_errors=raise_errors)
        return await self._ask(ask(list(dict.fromkeys(broker_ids))), timeout_ms, raise_errors)

    @overload
    async def alter_replica_log_dirs(
        self,
        moves: Mapping[TopicPartitionReplica, str],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartitionReplica, None]: ...
    @overload
    async def alter_replica_log_dirs(
        self,
        moves: Mapping[TopicPartitionReplica, str],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartitionReplica, KafkaError | None]: ...
    async def alter_replica_log_dirs(
        self,
        moves: Mapping[TopicPartitionReplica, str],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartitionReplica, KafkaError | None]:
        """Begin to move replicas to other directories of their brokers; ``describe_log_dirs`` shows how far it is."""

        def request(keys: Sequence[TopicPartitionReplica], _: int) -> AlterReplicaLogDirsRequest:
            return alter_replica_log_dirs_request({key: moves[key] for key in keys})

        ask = Ask(list(moves), lambda key: Broker(key.broker_id), request, altered_log_dirs)
        return await self._ask(ask, timeout_ms, raise_errors)


def described_log_dirs(response: DescribeLogDirsResponse) -> dict[str, LogDirDescription]:
    """Read the directories of one broker."""
    check(response.error_code)
    return {each.log_dir: _description(each) for each in response.results}


def _description(directory: DescribeLogDirsResult) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in directory.topics
        for each in topic.partitions
    }
    return LogDirDescription(
        directory.log_dir,
        None if directory.error_code == ErrorCode.NONE else error_for(directory.error_code),
        replicas,
        directory.total_bytes if directory.total_bytes >= 0 else None,
        directory.usable_bytes if directory.usable_bytes >= 0 else None,
        directory.is_cordoned,
    )


def alter_replica_log_dirs_request(moves: Mapping[TopicPartitionReplica, str]) -> AlterReplicaLogDirsRequest:
    """Ask one broker to move replicas."""
    paths: dict[str, list[TopicPartition]] = {}
    for (topic, partition, _), path in moves.items():
        paths.setdefault(path, []).append(TopicPartition(topic, partition))
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=indexes)
                    for topic, indexes in by_topic(partitions).items()
                ],
            )
            for path, partitions in paths.items()
        ]
    )


def altered_log_dirs(
    response: AlterReplicaLogDirsResponse, asked: Sequence[TopicPartitionReplica]
) -> dict[TopicPartitionReplica, KafkaError | None]:
    """Read what one broker has begun."""
    broker_id = asked[0].broker_id
    return {
        TopicPartitionReplica(topic.topic_name, each.partition_index, broker_id): outcome(each.error_code, None, None)
        for topic in response.results
        for each in topic.partitions
    }
