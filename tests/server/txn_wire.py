"""A transactional producer that speaks the versions it is told to, over one connection."""

from collections.abc import Sequence
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.records.builder import SimpleRecord, build_batch
from tests.server.group_wire import find_coordinators
from tests.server.wire import Wire, eventually

TRANSACTION_PROPERTIES = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""A broker that can do transactions alone."""
BUSY = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


class TxnProducer:
    """``transactional_id`` with the id and epoch that it was given last."""

    def __init__(self, wire: Wire, transactional_id: str) -> None:
        self.wire = wire
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.producer_epoch = -1
        find_coordinators(wire, [transactional_id], 1)

    def init(self, version: int = 5, *, timeout_ms: int = 60_000, **fields: Any) -> int:
        """InitProducerId, again while a transaction is in the way; the error code."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **fields
        )
        for _ in eventually():
            answer = self.wire.ask(request, version)
            if answer.error_code not in BUSY:
                break
        if answer.error_code == 0:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)

    def clone(self) -> "TxnProducer":
        """Another producer that takes itself for the same."""
        other = TxnProducer(self.wire, self.transactional_id)
        other.producer_id, other.producer_epoch = self.producer_id, self.producer_epoch
        return other

    def add_partitions(self, *partitions: tuple[str, int], version: int = 3) -> dict[tuple[str, int], int]:
        """AddPartitionsToTxn up to version 3; the error codes."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=topics_of(partitions),
        )
        for _ in eventually():
            codes = topic_codes(self.wire.ask(request, version).results_by_topic_v3_and_below)
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values():
                break
        return codes

    def transaction(self, *partitions: tuple[str, int], verify_only: bool = False) -> AddPartitionsToTxnTransaction:
        """The part of this transaction in a broker's AddPartitionsToTxn."""
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=verify_only,
            topics=topics_of(partitions),
        )

    def produce(self, topic: str, *values: bytes, version: int = 12, sequence: int = 0, partition: int = 0) -> Any:
        """Produce in the transaction; the answer of the partition."""
        records = build_batch(
            [SimpleRecord(1_000, None, value) for value in values or (b"value",)],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=partition, records=bytes(records))]
        )
        request = ProduceRequest(transactional_id=self.transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data])
        for _ in eventually():
            ((answer,),) = [each.partition_responses for each in self.wire.ask(request, version).responses]
            if answer.error_code not in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS):
                break
        return answer

    def add_offsets(self, group_id: str, version: int = 4) -> int:
        """AddOffsetsToTxn; the error code."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group_id,
        )
        for _ in eventually():
            code = int(self.wire.ask(request, version).error_code)
            if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
        return code

    def commit_offsets(
        self, group_id: str, offsets: dict[tuple[str, int], int], version: int = 5, **fields: Any
    ) -> dict[tuple[str, int], int]:
        """TxnOffsetCommit; the error codes."""
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            topics.setdefault(topic, []).append(
                TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
            **fields,
        )
        for _ in eventually():
            codes = {
                (topic.name, partition.partition_index): int(partition.error_code)
                for topic in self.wire.ask(request, version).topics
                for partition in topic.partitions
            }
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values():
                break
        return codes

    def end(self, *, committed: bool = True, version: int = 5) -> int:
        """EndTxn; the error code."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=committed,
        )
        for _ in eventually():
            answer = self.wire.ask(request, version)
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
        if answer.error_code == 0 and version >= 5:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)

    def describe(self) -> Any:
        """DescribeTransactions."""
        (state,) = self.wire.ask(
            DescribeTransactionsRequest(transactional_ids=[self.transactional_id]), 0
        ).transaction_states
        return state

    def wait_for(self, state: str) -> None:
        """Until the coordinator says that the transaction is so far."""
        for _ in eventually():
            if self.describe().transaction_state == state:
                return


def topics_of(partitions: Sequence[tuple[str, int]]) -> list[AddPartitionsToTxnTopic]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()]


def topic_codes(results: Any) -> dict[tuple[str, int], int]:
    """Error codes by partition of the results of AddPartitionsToTxn."""
    return {
        (topic.name, one.partition_index): int(one.partition_error_code)
        for topic in results
        for one in topic.results_by_partition
    }


def describe_producers(wire: Wire, topic: str, *indexes: int) -> list[Any]:
    """DescribeProducers of a topic's partitions."""
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=list(indexes or (0,)))])
    (answer,) = wire.ask(request, 0).topics
    return list(answer.partitions)


def write_marker(
    wire: Wire, producer: TxnProducer, *partitions: tuple[str, int], version: int = 1, **fields: Any
) -> Any:
    """WriteTxnMarkers with one marker; error codes by partition."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=found) for name, found in topics.items()],
    )
    for name, value in fields.items():
        setattr(marker, name, value)
    answer = wire.ask(WriteTxnMarkersRequest(markers=[marker]), version)
    return {
        (topic.name, one.partition_index): int(one.error_code)
        for result in answer.markers
        for topic in result.topics
        for one in topic.partitions
    }


def fetch(wire: Wire, topic: str, *, committed: bool, offset: int = 0) -> Any:
    """Fetch partition 0; the partition's answer."""
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_bytes=1 << 20,
        min_bytes=0,
        isolation_level=int(committed),
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    ((answer,),) = [each.partitions for each in wire.ask(request, 11).responses]
    return answer


def wait_until_stable(wire: Wire, topic: str, offset: int) -> None:
    """Until markers have moved the last stable offset."""
    for _ in eventually():
        if fetch(wire, topic, committed=True).last_stable_offset == offset:
            return
