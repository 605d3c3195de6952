"""``Producer.send_batch``: many records a call, encoded by the batch rather than one by one."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.batch_delivery import BatchDelivery
from ottla.clients.producer.batch_record import BatchRecord, as_batch_record
from ottla.clients.producer.delivery import Delivery
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.clients.producer.partition_queue import PartitionQueue
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.producer_core import ProducerCore
from ottla.clients.producer.record_chunk import STICKY, RecordChunk, Share
from ottla.clients.producer.record_fields import as_partition, check_size
from ottla.clients.producer.record_rows import ReadRows, RowReader, take
from ottla.clients.producer.topic_queue import TopicQueue
from ottla.clients.producer.transaction_manager import TransactionManager
from ottla.clients.serialization import Serializer
from ottla.common.errors import KafkaError
from ottla.records.batch import HEADER_BYTES

BATCH_BYTES: Final = 256 * 1024
"""Batches are this large even if ``batch.size`` is less: that is how long to wait for more, and here all is there."""
_CHUNK_ROWS: Final = 32 * 1024
_PLAIN_CHUNK_ROWS: Final = 4 * 1024
"""Without compiled code, so that the loop is not held up for long."""
_CHUNK_BYTES: Final = 16 * 1024 * 1024
_THREAD_BYTES_MIN: Final = 32 * 1024
"""Less is compressed sooner than a thread takes over."""
_LEFT_OUT: Final = (1 << 31) - 1
"""The partition of a row that is not sent."""

SendOne = Callable[[ProducerRecord, bool], Coroutine[Any, Any, Delivery]]
"""Sends a record past the interceptors; says whether it is serialized already."""
Choose = Callable[[TopicQueue, bytes | None, bytes | None], int]


class _Job(NamedTuple):
    """One call."""

    topic: str
    partition: int
    delivery: BatchDelivery


class BatchSender:
    """All calls of one producer. ``partitioner`` is None for the built-in one; ``send_one`` if there are interceptors.

    Batches are queued as they are encoded. A record that cannot be sent fails alone. What stops the others too (no
    memory within ``max.block.ms``, the end of the transaction or of the producer) fails all that is left; an iterable
    is read no further then.
    """

    def __init__(
        self,
        core: ProducerCore,
        *,
        key_serializer: Serializer[Any] | None,
        value_serializer: Serializer[Any] | None,
        partitioner: Choose | None,
        is_by_key: bool,
        send_one: SendOne | None,
    ) -> None:
        config = core.config
        self._core = core
        self._accumulator = core.accumulator
        self._state = core.idempotence
        self._serializers = key_serializer, value_serializer
        self._partitioner = partitioner
        self._is_by_key = is_by_key
        self._send_one = send_one
        self._size_max = min(config.max_request_size, config.buffer_memory)
        self._batch_bytes = min(self._size_max, max(config.batch_size, min(BATCH_BYTES, config.buffer_memory // 4)))

    async def send(self, topic: str, records: Any, partition: int | None) -> BatchDelivery:
        """See ``Producer.send_batch``."""
        core = self._core
        core.raise_if_closed()
        if isinstance(self._state, TransactionManager):
            self._state.require_transaction("send_batch")
        partition = None if partition is None else as_partition(partition)
        table = _table_of(records)
        await core.wait_for_topic(topic, partition, self._deadline_ms())
        job = _Job(topic, STICKY if partition is None else partition, BatchDelivery())
        if self._send_one is not None:
            items = records if table is None else _rows_of(table)
            await self._send_singly(job, items, self._send_one, is_table=table is not None)
            return job.delivery
        for chunk, failed in self._chunks(job, records) if table is None else self._table_chunks(job, table):
            error = await self._send_chunk(job, chunk, failed)
            if error is not None:
                job.delivery.is_cut_short = True
                if table is not None:
                    taken, job.delivery.count = job.delivery.count, table.num_rows
                    self._fail(job, error, range(taken, table.num_rows))
                break
        return job.delivery

    def _table_chunks(self, job: _Job, table: Any) -> Iterator[ReadRows]:
        from ottla.clients.producer import record_arrow

        for batch in record_arrow.slices(table, _chunk_rows, _CHUNK_BYTES):
            self._note_rows(batch.num_rows)
            make = record_arrow.column_chunk if KERNELS.is_loaded else record_arrow.plain_chunk
            yield ReadRows(make(batch, self._core.cluster.runtime.clock.now_ms(), job.partition), {})

    def _chunks(self, job: _Job, records: Iterable[Any]) -> Iterator[ReadRows]:
        reader = RowReader(job.topic, *self._serializers)
        for items in take(records, _chunk_rows, _CHUNK_BYTES):
            self._note_rows(len(items))
            yield reader.chunk(items, self._core.cluster.runtime.clock.now_ms(), job.partition)

    def _note_rows(self, count: int) -> None:
        if KERNELS.note_rows(count):
            runtime = self._core.cluster.runtime
            runtime.spawn(runtime.blocking(KERNELS.load))

    async def _send_chunk(self, job: _Job, chunk: RecordChunk, failed: Mapping[int, KafkaError]) -> KafkaError | None:
        """Queue what can be sent; what cannot has failed then. What stopped it, if anything did."""
        start = job.delivery.count
        job.delivery.count += chunk.count
        try:
            queues = await self._partition(job, chunk, failed, start)

            def choose() -> int:
                # Of a topic that was deleted meanwhile no partition is known; when it is back it has a first one.
                return queues.choose_sticky(self._accumulator.is_available) if queues.count else 0

            for share in chunk.shares(queues.count, self._batch_bytes, choose):
                await self._send_share(job, chunk, share, start)
        except KafkaError as error:
            self._fail(job, error, job.delivery.missing(start))
            return error
        return None

    async def _partition(
        self, job: _Job, chunk: RecordChunk, failed: Mapping[int, KafkaError], start: int
    ) -> TopicQueue:
        """Give each row its partition, and leave out those that cannot be sent."""
        queues = await self._queues(job.topic)
        partitions = chunk.partitions
        if beyond := chunk.rows_beyond(queues.count):
            wanted = max(partitions[row] for row in beyond)
            try:
                queues = await self._core.wait_for_topic(job.topic, int(wanted), self._deadline_ms())
            except KafkaTimeoutError as error:
                queues = await self._queues(job.topic)
                self._leave_out(job, chunk, error, chunk.rows_beyond(queues.count), start)
        for row, unserializable in failed.items():
            self._leave_out(job, chunk, unserializable, [row], start)
        for row in chunk.rows_above(self._size_max):
            if partitions[row] != _LEFT_OUT:
                try:
                    check_size(chunk.exact_bound(row), self._core.config)
                except KafkaError as error:
                    self._leave_out(job, chunk, error, [row], start)
        if self._partitioner is not None:
            for row in range(chunk.count):
                if partitions[row] == STICKY:
                    partitions[row] = self._partitioner(queues, chunk.key(row), chunk.value(row))
        elif self._is_by_key:
            chunk.partition_by_key(queues.count)
        return queues

    async def _send_share(self, job: _Job, chunk: RecordChunk, share: Share, start: int) -> None:
        """Encode and queue a partition's rows, a batch at a time."""
        core, accumulator, rows = self._core, self._accumulator, share.rows
        left_bytes = HEADER_BYTES + chunk.size_of(rows)
        first = 0
        while first < len(rows):
            memory_bytes = max(min(self._size_max, chunk.bound(rows[first])), min(self._batch_bytes, left_bytes))
            await core.take_memory(memory_bytes, self._deadline_ms())
            try:
                encoded = chunk.encode(rows, first, memory_bytes)
                payload = await self._compressed(encoded.payload)
                queue = await self._queue(job.topic, share.partition)
                core.raise_if_closed()
                if self._state is not None:
                    self._state.add_partition(queue.topic_partition)
                batch = ProducerBatch.encoded(
                    queue.topic_partition,
                    payload,
                    records_count=encoded.records_count,
                    timestamps_ms=encoded.timestamps_ms,
                    raw_bytes=len(encoded.payload),
                    created_ms=core.monotonic_ms(),
                    memory_bytes=memory_bytes,
                    codec=accumulator.codec,
                )
                accumulator.add_encoded(queue, batch)
                memory_bytes = 0
            finally:
                if memory_bytes:
                    accumulator.pool.release(memory_bytes)
            last = first + encoded.records_count
            job.delivery.add(batch.outcome, 0, chunk.numbered(rows[first:last], start))
            left_bytes -= len(encoded.payload)
            first = last
            core.sender.wake()
            await asyncio.sleep(0)  # so that this one leaves while the next is encoded

    async def _compressed(self, payload: bytes) -> bytes:
        accumulator = self._accumulator
        if not accumulator.codec or len(payload) < _THREAD_BYTES_MIN:
            return accumulator.compress(payload)
        return await self._core.cluster.runtime.blocking(partial(accumulator.compress, payload))

    async def _queues(self, topic: str) -> TopicQueue:
        """The topic's queues as they are now: idle ones are forgotten, and this may have waited for long."""
        queues = self._accumulator.topics.get(topic)
        if queues is None or not queues.count:
            queues = await self._core.wait_for_topic(topic, None, self._deadline_ms())
        return queues

    async def _queue(self, topic: str, partition: int) -> PartitionQueue:
        queues = await self._queues(topic)
        if partition == STICKY:
            partition = queues.choose_sticky(self._accumulator.is_available)
        elif partition >= len(queues.partitions):  # made anew with fewer
            queues = await self._core.wait_for_topic(topic, partition, self._deadline_ms())
        return queues.partitions[partition]

    def _deadline_ms(self) -> int:
        """For one wait: whoever sends a long table waits often."""
        return self._core.monotonic_ms() + self._core.config.max_block_ms

    def _leave_out(self, job: _Job, chunk: RecordChunk, error: KafkaError, rows: Sequence[int], start: int) -> None:
        for row in rows:
            chunk.partitions[row] = _LEFT_OUT
        self._fail(job, error, [row + start for row in rows])

    def _fail(self, job: _Job, error: KafkaError, rows: Sequence[int]) -> None:
        """Rows that were not taken. A transaction must not be committed without them."""
        if not rows:
            return
        job.delivery.add_failure(error, rows)
        if isinstance(self._state, TransactionManager):
            self._state.refuse_record(error)

    async def _send_singly(self, job: _Job, records: Iterable[Any], send_one: SendOne, *, is_table: bool) -> None:
        """The slow way: interceptors see each record."""
        delivery = job.delivery
        for item in records:
            record = as_batch_record(item)
            partition = record.partition
            if partition is None and job.partition != STICKY:
                partition = job.partition
            row = delivery.count
            delivery.count += 1
            try:
                sent = await send_one(
                    ProducerRecord(job.topic, record.value, record.key, record.headers, partition, record.timestamp_ms),
                    is_table,
                )
            except KafkaError as error:
                self._fail(job, error, [row])
            else:
                delivery.add(*sent.place, range(row, row + 1))


def in_pieces(records: Any) -> Iterator[Any]:
    """At least one piece: tables and lists as they are, and what may take its time to be read a chunk at a time."""
    if isinstance(records, list | tuple) or _is_table(records):
        yield records
        return
    is_empty = True
    for items in take(records, _chunk_rows, _CHUNK_BYTES):
        is_empty = False
        yield items
    if is_empty:
        yield []


def _chunk_rows() -> int:
    return _CHUNK_ROWS if KERNELS.is_loaded else _PLAIN_CHUNK_ROWS


def _rows_of(table: Any) -> Iterator[BatchRecord]:
    from ottla.clients.producer import record_arrow

    for batch in record_arrow.slices(table, _chunk_rows, _CHUNK_BYTES):
        yield from record_arrow.records_of(batch)


def _is_table(records: Any) -> bool:
    if sys.modules.get("pyarrow") is None:
        return False
    from ottla.clients.producer import record_arrow

    return record_arrow.is_table(records)


def _table_of(records: Any) -> Any:
    """The Arrow table that this is, or None."""
    if not _is_table(records):
        return None
    from ottla.clients.producer import record_arrow

    return record_arrow.as_table(records)
