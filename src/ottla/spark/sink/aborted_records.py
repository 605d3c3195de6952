"""Reads what a transaction left in a partition, whatever became of it: its records, and the marker that ended it."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.errors import KafkaTimeoutError, error_for
from ottla.common.error_code import ErrorCode
from ottla.network.client_errors import NetworkError
from ottla.protocol.message import Message
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.records.batch import RecordBatch, batches
from ottla.records.control_type import ControlRecordType
from ottla.records.record import Record, decode_records
from ottla.spark.sink.commit_actions import Status
from ottla.spark.sink.sink_errors import RecordsLostError
from ottla.spark.sink.task_transaction import TaskTransaction, Written

_FETCH_BYTES: Final = 4 * 1024 * 1024
_NAMED_VERSION_MAX: Final = 12
"""Later versions of Fetch name topics by their ids."""
_EARLIEST: Final = -2
_ATTEMPTS_MAX: Final = 100
_PAUSE_MS: Final = 200
_MOVED: Final = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)


async def read_records(
    cluster: ClusterClient, transaction: TaskTransaction, written: Written
) -> AsyncIterator[list[Record]]:
    """The records of a transaction in a partition, a fetch at a time; RecordsLostError unless all are there."""
    found = 0
    async for batch in _batches(cluster, written):
        if not batch.is_control and _is_of(batch, transaction):
            records = list(decode_records(batch))
            found += len(records)
            yield records
        if found == written.records_count:
            return
    raise RecordsLostError(
        f"{written.records_count - found} of {written.records_count} records that {transaction.transactional_id} wrote "
        f"to {written.topic}-{written.partition} are neither committed nor in the log any more: the driver was away "
        "for longer than transaction.timeout.ms, and retention or compaction has removed what was aborted; give the "
        "query another kafka.transactional.id to write the whole batch again"
    )


async def find_end(cluster: ClusterClient, transaction: TaskTransaction) -> Status:
    """How a transaction ended that its coordinator has forgotten; RecordsLostError if the log has no marker of it."""
    for written in transaction.written:
        async for batch in _batches(cluster, written):
            is_own = batch.producer_id == transaction.producer_id and batch.producer_epoch >= transaction.producer_epoch
            if batch.is_control and is_own and batch.base_offset > written.first_offset:
                kind = ControlRecordType.parse(next(decode_records(batch)).key)
                return Status.COMMITTED if kind is ControlRecordType.COMMIT else Status.ABORTED
    raise RecordsLostError(
        f"Nobody knows any more whether {transaction.transactional_id} was committed: its coordinator has forgotten it "
        "and the log has no marker of it; give the query another kafka.transactional.id to write the whole batch again"
    )


def _is_of(batch: RecordBatch, transaction: TaskTransaction) -> bool:
    _, producer_id, producer_epoch, *_ = transaction
    return batch.is_transactional and (batch.producer_id, batch.producer_epoch) == (producer_id, producer_epoch)


async def _batches(cluster: ClusterClient, written: Written) -> AsyncIterator[RecordBatch]:
    """All batches of a partition from a transaction's first offset, or from the start, to the high watermark."""
    offset = max(written.first_offset, 0)
    is_first = True
    while True:
        data = await _fetch(cluster, written, offset)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and is_first:
            is_first = False
            offset = await _log_start_offset(cluster, written)
            continue
        if data.error_code:
            raise error_for(data.error_code)
        is_first = False
        before = offset
        for batch in batches(data.records or b""):
            if batch.last_offset >= offset:
                yield batch
                offset = batch.next_offset
        if offset >= data.high_watermark or offset == before:
            return


async def _fetch(cluster: ClusterClient, written: Written, offset: int) -> Any:
    asked = FetchPartition(partition=written.partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES)
    request = FetchRequest(max_bytes=_FETCH_BYTES, topics=[FetchTopic(topic=written.topic, partitions=[asked])])
    return await _ask_leader(cluster, written, request, lambda answer: answer.responses[0].partitions[0])


async def _log_start_offset(cluster: ClusterClient, written: Written) -> int:
    asked = ListOffsetsPartition(partition_index=written.partition, timestamp=_EARLIEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=written.topic, partitions=[asked])])
    data = await _ask_leader(cluster, written, request, lambda answer: answer.topics[0].partitions[0])
    if data.error_code:
        raise error_for(data.error_code)
    return int(data.offset)


async def _ask_leader(
    cluster: ClusterClient, written: Written, request: Message, partition_of: Callable[[Any], Any]
) -> Any:
    """What the partition's leader answers, whoever that is by then."""
    topic, partition = written.topic, written.partition
    for _ in range(_ATTEMPTS_MAX):
        metadata = await cluster.require_topics([topic])
        leader = metadata.leader(topic, partition)
        if leader is not None:
            try:
                answer = await cluster.send(leader, request, max_version=_NAMED_VERSION_MAX)
            except NetworkError:
                answer = None
            if answer is not None:
                data = partition_of(answer)
                if data.error_code not in _MOVED:
                    return data
        cluster.request_update()
        await cluster.runtime.sleep_ms(_PAUSE_MS)
    raise KafkaTimeoutError(f"{topic}-{partition} could not be read: it has had no leader for long")
