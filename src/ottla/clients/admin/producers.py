"""Producers that are known to partitions, and ending what they have left open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, Broker, Leader, Target, TransactionCoordinator, codes, keyed, retriable
from ottla.clients.admin.results import by_topic, outcome
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_FENCING_RETRIES = codes(
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A producer that a partition remembers; the last two are None unless it has a transaction open there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


@dataclass(frozen=True, slots=True)
class FencedProducer:
    """The producer id and the new epoch of a transactional id: all older epochs are fenced."""

    producer_id: int
    producer_epoch: int


class ProducersPart(AdminPart):
    """Producers."""

    __slots__ = ()

    @overload
    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker_id: int | None = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]: ...
    @overload
    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker_id: int | None = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[TopicPartition, tuple[ProducerState, ...] | KafkaError]: ...
    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker_id: int | None = None,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[TopicPartition, tuple[ProducerState, ...] | KafkaError]:
        """The producers with live state in partitions, as the leaders or the replicas on ``broker_id`` know them."""

        def where(key: TopicPartition) -> Target:
            return Leader(*key) if broker_id is None else Broker(broker_id)

        def request(keys: Sequence[TopicPartition], _: int) -> DescribeProducersRequest:
            topics = by_topic(keys).items()
            return DescribeProducersRequest(
                topics=[TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in topics]
            )

        ask = Ask(list(dict.fromkeys(partitions)), where, request, keyed(described_producers), retriable)
        return await self._ask(ask, timeout_ms, raise_errors)

    @overload
    async def fence_producers(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, FencedProducer]: ...
    @overload
    async def fence_producers(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, FencedProducer | KafkaError]: ...
    async def fence_producers(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, FencedProducer | KafkaError]:
        """Fence whoever uses these transactional ids; what they have open is aborted."""
        # As in Apache's client. Nobody begins a transaction with the new epoch.
        transaction_timeout_ms = self._caller.request_timeout_ms if timeout_ms is None else timeout_ms

        def request(keys: Sequence[str], _: int) -> InitProducerIdRequest:
            return InitProducerIdRequest(transactional_id=keys[0], transaction_timeout_ms=transaction_timeout_ms)

        keys = list(dict.fromkeys(transactional_ids))
        ask = Ask(keys, TransactionCoordinator, request, fenced_producer, _FENCING_RETRIES, one_by_one=True)
        return await self._ask(ask, timeout_ms, raise_errors)


def described_producers(
    response: DescribeProducersResponse,
) -> dict[TopicPartition, tuple[ProducerState, ...] | KafkaError]:
    """Read producers."""
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, each.error_message, _states(each))
        for topic in response.topics
        for each in topic.partitions
    }


def _states(partition: PartitionResponse) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.coordinator_epoch if each.coordinator_epoch >= 0 else None,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for each in partition.active_producers
    )


def fenced_producer(response: InitProducerIdResponse, asked: Sequence[str]) -> dict[str, FencedProducer | KafkaError]:
    """Read the new epoch."""
    fenced = FencedProducer(response.producer_id, response.producer_epoch)
    return {asked[0]: outcome(response.error_code, None, fenced)}
