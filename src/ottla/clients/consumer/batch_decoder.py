"""A batch's records as a consumer's records, in one go.

:func:`ottla.records.record.decode_records` says the same with a Record in between; this is half again as fast, and it
is what a consumer does most of its time. They are tested to agree.
"""

from typing import Any, Final, TypeAlias

from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.common.errors import InvalidRecordError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch
from ottla.records.record import Header, read_headers, records_payload
from ottla.records.record_scan import wrap_timestamp
from ottla.records.varint import read_varint, read_varlong

RawRecord: TypeAlias = ConsumerRecord[bytes, bytes]

_LARGE_TIMESTAMP: Final = 1 << 62
_ZIGZAG: Final = tuple(number >> 1 ^ -(number & 1) for number in range(0x80))
"""What a varint of one byte says: looking it up is faster than working it out."""


def decode_batch(batch: RecordBatch, partition: TopicPartition) -> list[RawRecord]:
    """All records of a batch, keys and values as bytes. The CRC is the caller's business.

    Raises CorruptRecordError, MessageTooLargeError and UnsupportedForMessageFormatError as ``records_payload`` does,
    and InvalidRecordError where lengths do not add up.
    """
    if batch.records_count <= 0:
        if batch.records_count == 0:  # compaction has left only the batch itself
            return []
        raise InvalidRecordError(f"Found invalid record count {batch.records_count} in magic v{batch.magic} batch")
    data = records_payload(batch)
    try:
        records, position = _decode(data, batch, partition)
    except IndexError as error:
        raise InvalidRecordError("Found invalid record structure: it reaches beyond the batch") from error
    if position != len(data):
        raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")
    if batch.is_log_append_time:
        return [record._replace(timestamp_ms=batch.max_timestamp) for record in records]
    if abs(batch.base_timestamp) > _LARGE_TIMESTAMP:
        return [record._replace(timestamp_ms=wrap_timestamp(record.timestamp_ms)) for record in records]
    return records


def _decode(data: bytes, batch: RecordBatch, partition: TopicPartition) -> tuple[list[RawRecord], int]:
    """The records, and where they end. Varints of one byte, and most of two, are read in place: calls cost more."""
    topic, index = partition
    base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
    zigzag = _ZIGZAG
    timestamp_type, epoch = batch.timestamp_type, batch.partition_leader_epoch
    no_headers: tuple[Header, ...] = ()
    make: Any = tuple.__new__
    records: list[RawRecord] = []
    add = records.append
    position = 0
    for _ in range(batch.records_count):
        size = data[position]
        if size < 0x80:
            position += 1
            size = zigzag[size]
        elif (high := data[position + 1]) < 0x80 and not size & 1:
            position += 2
            size = size >> 1 & 0x3F | high << 6
        else:
            size, position = read_varint(data, position)
        record_end = position + size

        delta = data[position + 1]  # after the attributes, which are unused
        if delta < 0x80:
            position += 2
            timestamp = base_timestamp + zigzag[delta]
        elif (high := data[position + 2]) < 0x80 and not delta & 1:
            timestamp = base_timestamp + (delta >> 1 & 0x3F | high << 6)
            position += 3
        else:
            delta, position = read_varlong(data, position + 1)
            timestamp = wrap_timestamp(base_timestamp + delta)

        delta = data[position]
        if delta < 0x80:
            position += 1
            delta = zigzag[delta]
        elif (high := data[position + 1]) < 0x80 and not delta & 1:
            position += 2
            delta = delta >> 1 & 0x3F | high << 6
        else:
            delta, position = read_varint(data, position)

        size = data[position]
        if size < 0x80:
            position += 1
            size = zigzag[size]
        else:
            size, position = read_varint(data, position)
        if size < 0:
            key = None
        else:
            key = data[position : position + size]
            position += size

        size = data[position]
        if size < 0x80:
            position += 1
            size = zigzag[size]
        elif (high := data[position + 1]) < 0x80 and not size & 1:
            position += 2
            size = size >> 1 & 0x3F | high << 6
        else:
            size, position = read_varint(data, position)
        if size < 0:
            value = None
        else:
            value = data[position : position + size]
            position += size

        if data[position]:
            headers, position = read_headers(data, position, len(data))
        else:
            headers = no_headers
            position += 1
        if position != record_end:
            raise InvalidRecordError(
                f"Invalid record size: expected to end at byte {record_end} of the payload, but instead read up to "
                f"{position}"
            )
        offset = base_offset + delta
        add(make(ConsumerRecord, (topic, index, offset, timestamp, timestamp_type, key, value, headers, epoch)))
    return records, position
