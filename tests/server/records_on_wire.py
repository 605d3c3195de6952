"""Records to and from a partition, without a client library."""

import time

from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.batch import RecordBatch
from ottla.records.batch_framing import framed_batches
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.record import decode_records
from tests.server.wire import BOUND_S, Wire

_FETCH_BYTES = 1 << 22


def append_on(wire: Wire, topic: str, *values: bytes, partition: int = 0) -> int:
    """Append one batch with acks=all; returns its offset. Its records are of now, or retention would delete them."""
    now_ms = time.time_ns() // 1_000_000
    records = build_batch([SimpleRecord(now_ms, None, value) for value in values])
    return append_batch_on(wire, topic, records, partition=partition)


def append_batch_on(wire: Wire, topic: str, records: bytearray, *, partition: int = 0) -> int:
    """The same with a batch that is made already."""
    data = [PartitionProduceData(index=partition, records=bytes(records))]
    request = ProduceRequest(
        acks=-1, timeout_ms=BOUND_S * 1000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
    )
    ((answer,),) = [each.partition_responses for each in wire.ask(request, 9).responses]
    assert answer.error_code == 0, f"{topic}-{partition}: error {answer.error_code}"
    offset: int = answer.base_offset
    return offset


def append(address: str, topic: str, *values: bytes, partition: int = 0) -> int:
    """The same, over a connection of its own."""
    with Wire(address) as wire:
        return append_on(wire, topic, *values, partition=partition)


def read_values(address: str, topic: str, partition: int = 0) -> list[bytes | None]:
    """The values of all records of a partition."""
    values: list[bytes | None] = []
    offset = 0
    with Wire(address) as wire:
        while True:
            wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES)
            request = FetchRequest(
                max_bytes=_FETCH_BYTES, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[wanted])]
            )
            ((answer,),) = [each.partitions for each in wire.ask(request, 11).responses]
            assert answer.error_code == 0, f"{topic}-{partition}: error {answer.error_code}"
            if not answer.records:
                return values
            data = bytes(answer.records)
            for position, size, _magic in framed_batches(data):
                batch = RecordBatch(memoryview(data)[position : position + size])
                values += [record.value for record in decode_records(batch) if record.offset >= offset]
                offset = batch.last_offset + 1
