"""What a transactional producer says to coordinators, and the error codes in what they answer."""

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.producer.idempotence import ProducerIdAndEpoch
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

ADD_PARTITIONS_VERSION_MAX: Final = 3
"""Later ones are for brokers, which ask on behalf of several producers at once."""
END_TXN_VERSION_MAX_V1: Final = 4
TXN_OFFSET_COMMIT_VERSION_MAX_V1: Final = 4
"""The last versions before those of version 2 of transactions."""

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


def init_producer_id(
    transactional_id: str, transaction_timeout_ms: int, producer: ProducerIdAndEpoch
) -> InitProducerIdRequest:
    """Who are we? ``producer``, if it is valid, is who we were: it gets its next epoch."""
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )


def add_partitions(
    transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Records of the transaction will come to these partitions."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=found) for name, found in topics.items()],
    )


def add_offsets(transactional_id: str, producer: ProducerIdAndEpoch, group_id: str) -> AddOffsetsToTxnRequest:
    """Offsets of a group will be committed with the transaction."""
    return AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        group_id=group_id,
    )


def txn_offset_commit(
    transactional_id: str, producer: ProducerIdAndEpoch, offsets: Offsets, group: ConsumerGroupMetadata
) -> TxnOffsetCommitRequest:
    """Commit these offsets when the transaction is committed."""
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, partition), committed in offsets.items():
        topics.setdefault(topic, []).append(
            TxnOffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        generation_id=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=[TxnOffsetCommitRequestTopic(name=name, partitions=found) for name, found in topics.items()],
    )


def end_txn(transactional_id: str, producer: ProducerIdAndEpoch, *, committed: bool) -> EndTxnRequest:
    """The transaction is over."""
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=committed,
    )


def added_partition_codes(response: AddPartitionsToTxnResponse) -> dict[TopicPartition, int]:
    """The error code of each partition."""
    return {
        TopicPartition(topic.name, one.partition_index): one.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for one in topic.results_by_partition
    }


def committed_offset_codes(response: TxnOffsetCommitResponse) -> dict[TopicPartition, int]:
    """The error code of each partition."""
    return {
        TopicPartition(topic.name, one.partition_index): one.error_code
        for topic in response.topics
        for one in topic.partitions
    }
