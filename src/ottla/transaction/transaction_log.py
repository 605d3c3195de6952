"""The state of a transactional id as a record of the log, and back."""

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordParseError
from ottla.records.batch import NO_PRODUCER_EPOCH
from ottla.transaction.metadata import NO_PARTITIONS, TransactionMetadata
from ottla.transaction.records import PartitionsSchema, TransactionLogKey, TransactionLogValue
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion

_NEVER_WRITTEN: Final = frozenset({TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE})


def new_transaction_record(metadata: TransactionMetadata, version: TransactionVersion) -> CoordinatorRecord:
    """What the log says of ``metadata`` where the cluster's transaction.version is ``version``."""
    state = metadata.state
    assert state not in _NEVER_WRITTEN, f"{state.name} is not a state to write"
    value_version = version.transaction_log_value_version
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.txn_timeout_ms,
        transaction_status=int(state),
        transaction_partitions=None if state is TransactionState.EMPTY else _by_topic(metadata.topic_partitions),
        transaction_last_update_timestamp_ms=metadata.txn_last_update_timestamp_ms,
        transaction_start_timestamp_ms=metadata.txn_start_timestamp_ms,
    )
    if value_version >= 1:
        value.previous_producer_id = metadata.prev_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.client_transaction_version = int(metadata.client_transaction_version)
    return CoordinatorRecord(TransactionLogKey(transactional_id=metadata.transactional_id), value, value_version)


def new_transaction_tombstone_record(metadata: TransactionMetadata) -> CoordinatorRecord:
    """The end of a transactional id that has expired."""
    assert metadata.state is TransactionState.DEAD
    return CoordinatorRecord.tombstone(TransactionLogKey(transactional_id=metadata.transactional_id))


def metadata_of(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    """The state that a record holds; RecordParseError for one that no coordinator writes."""
    try:
        state = TransactionState(value.transaction_status)
        client_version = TransactionVersion(value.client_transaction_version)
    except ValueError as error:
        raise RecordParseError(f"The record of transactional id {transactional_id} makes no sense: {error}") from error
    return TransactionMetadata(
        transactional_id,
        value.producer_id,
        value.previous_producer_id,
        value.next_producer_id,
        value.producer_epoch,
        NO_PRODUCER_EPOCH,
        value.transaction_timeout_ms,
        state,
        _partitions(value),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
        client_version,
    )


def _partitions(value: TransactionLogValue) -> Mapping[TopicPartition, None]:
    topics = value.transaction_partitions
    if not topics:
        return NO_PARTITIONS
    return {TopicPartition(topic.topic, partition): None for topic in topics for partition in topic.partition_ids}


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]
