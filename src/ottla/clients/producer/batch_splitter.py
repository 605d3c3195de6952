"""A batch into smaller ones, when the broker finds it too large."""

from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.records.batch import RecordBatch
from ottla.records.record import decode_records


def split_batch(batch: ProducerBatch, batch_size: int, level: int | None) -> list[ProducerBatch]:
    """The same records in batches of about ``batch_size``, or of half the size if it is that small already.

    The parts have been created when the whole was, take over its sequences and its memory, and decide over what was
    sent in it from now on.
    """
    target_bytes = batch.size_bytes // 2 if batch.size_bytes <= batch_size else batch_size
    codec = batch.codec
    parts: list[ProducerBatch] = []
    builder: BatchBuilder | None = None
    first_indexes: list[int] = []
    for index, record in enumerate(decode_records(RecordBatch(batch.records()))):
        if builder is None or builder.append(record.timestamp, record.key, record.value, record.headers) < 0:
            # Nothing is expected of compression: it has disappointed already.
            builder = BatchBuilder(target_bytes, batch.raw_bytes + 1, 1.0 if codec else 0.0)
            part = ProducerBatch(batch.topic_partition, builder, batch.created_ms, 0, codec)
            builder.append(record.timestamp, record.key, record.value, record.headers)
            parts.append(part)
            first_indexes.append(index)
    sequence = batch.base_sequence
    for part, first_index in zip(parts, first_indexes, strict=True):
        part.close(level)
        part.is_split = True
        if batch.has_sequence:
            part.set_producer_state(
                batch.producer_id,
                batch.producer_epoch,
                sequence + first_index & 0x7FFFFFFF,
                transactional=batch.is_transactional,
            )
        part.memory_bytes = min(batch.memory_bytes, part.raw_bytes)
        batch.memory_bytes -= part.memory_bytes
    parts[-1].memory_bytes += batch.memory_bytes
    batch.memory_bytes = 0
    batch.outcome.split([(first, part.outcome) for first, part in zip(first_indexes, parts, strict=True)])
    return parts
