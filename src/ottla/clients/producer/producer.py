"""The producer, for asyncio."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import IllegalStateError, KafkaError
from ottla.clients.producer.batch_builder import RECORD_OVERHEAD_MAX, record_size_upper_bound
from ottla.clients.producer.batch_outcome import RecordMetadata
from ottla.clients.producer.delivery import Delivery
from ottla.clients.producer.interceptors import Interceptors, ProducerInterceptor, ProducerRecord
from ottla.clients.producer.partitioner import PartitionerFunction, named_partitioner, partition_for_key
from ottla.clients.producer.prepared_transaction import PreparedTransaction
from ottla.clients.producer.producer_core import ProducerCore, producer_state
from ottla.clients.producer.record_appender import RecordAppender
from ottla.clients.producer.record_fields import (
    Headers,
    as_headers,
    as_partition,
    as_timestamp,
    check_size,
    serialize,
)
from ottla.clients.producer.topic_queue import TopicQueue
from ottla.clients.producer.transaction_coordination import TransactionCoordination
from ottla.clients.producer.transaction_manager import TransactionManager
from ottla.clients.serialization import as_serializer
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ProducerConfig
from ottla.records.batch import HEADER_BYTES
from ottla.records.record import Header

if TYPE_CHECKING:
    from ottla.clients.cluster.metadata import PartitionMetadata
    from ottla.clients.producer.batch_delivery import BatchDelivery
    from ottla.clients.producer.send_batch import BatchSender
    from ottla.clients.security import TokenProvider
    from ottla.runtime.port import Runtime

RECORD_BYTES_MAX: Final = HEADER_BYTES + RECORD_OVERHEAD_MAX + 11
"""What a batch of one record takes at most beside the key and the value; 11 is for their lengths and no headers."""
STICKY: Final = -1
"""The partition of a record of which the built-in partitioner decides when it is put into a batch."""
_TURN_MASK: Final = 1023
"""After so many sends into one batch, and one more, the loop gets a turn, even if nothing makes the sender wait."""


class Producer:
    """Sends records to any Kafka: ``async with Producer(bootstrap_servers="localhost:9092") as producer: …``.

    Configuration keys are Kafka's, in a dict or as keywords with underscores. Without ``key_serializer`` and
    ``value_serializer`` (:mod:`ottla.clients.serialization`) keys and values are bytes or None, which is never shown to
    a serializer. ``partitioner`` is a function (:class:`Partitioner`). All methods belong to the loop of ``start``.
    ``token_provider`` gives OAUTHBEARER its tokens.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        key_serializer: object = None,
        value_serializer: object = None,
        partitioner: PartitionerFunction | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        token_provider: "TokenProvider | None" = None,
        runtime: "Runtime | None" = None,
        **keywords: object,
    ) -> None:
        """Check the configuration (InvalidConfigError); nothing is connected before ``start``."""
        given = ProducerConfig.parse(config, keywords)
        self._state = producer_state(given)
        self._core = ProducerCore(given, self._state, runtime, token_provider)
        self._transactions = self._core.transactions
        self._manager = self._state if isinstance(self._state, TransactionManager) else None
        self._accumulator = self._core.accumulator
        self._topics = self._accumulator.topics
        self._key_serializer = as_serializer(given.key_serializer if key_serializer is None else key_serializer)
        self._value_serializer = as_serializer(given.value_serializer if value_serializer is None else value_serializer)
        self._partitioner = named_partitioner(given.partitioner_class) if partitioner is None else partitioner
        self._is_by_key = self._partitioner is None and not given.partitioner_ignore_keys
        self._interceptors = Interceptors(interceptors)
        self._now_ms = self._core.cluster.runtime.clock.now_ms
        self._is_plain = not interceptors and self._partitioner is None
        self._is_plain &= self._key_serializer is None and self._value_serializer is None
        self._append = RecordAppender(
            self._topics,
            now_ms=self._now_ms,
            transactions=self._manager,
            is_by_key=self._is_by_key,
            largest_bytes=min(given.max_request_size, given.buffer_memory) - RECORD_BYTES_MAX,
        ).append
        self._batches: BatchSender | None = None

    @property
    def config(self) -> ProducerConfig:
        """The configuration that it runs with, defaults included."""
        return self._core.config

    async def start(self) -> None:
        """Connect to the cluster. KafkaTimeoutError if nobody answers, AuthenticationError if they refuse us."""
        await self._core.start()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Put a record into its batch; waits for metadata and memory only, ``max.block.ms`` at most.

        ``await`` what it returns for the record's metadata. Raises KafkaTimeoutError (BufferExhaustedError if it was
        the memory), RecordTooLargeError, SerializationError, TopicAuthorizationError, InvalidTopicError or
        ClientClosedError if the record was not taken.
        """
        if self._is_plain and headers is None:
            delivery = self._append(topic, value, key, partition, timestamp_ms)
            if delivery is None:
                return await self._send_slowly(topic, value, key, headers, partition, timestamp_ms)
            if delivery.index & _TURN_MASK == _TURN_MASK:
                await asyncio.sleep(0)
            return delivery
        record = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
        return await self.send_prepared(self.prepare(record))

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """``send`` and wait for the record's outcome."""
        return await (
            await self.send(topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
        )

    async def send_batch(self, topic: str, records: Any, *, partition: int | None = None) -> "BatchDelivery":
        """Send many records at once, far faster than one by one; ``await`` what it returns for their metadata.

        ``records`` is a pyarrow.Table or RecordBatch with the columns ``key``, ``value`` (binary or strings),
        ``timestamp``, ``partition`` and ``headers`` (lists of structs of key and value, or maps), none of which it
        needs to have; or an iterable of values, pairs of key and value, dicts with those names, or
        :class:`BatchRecord`. Serializers are for iterables only. ``partition`` is for those that name none.

        It keeps what ``send`` keeps, order included, and waits for memory as often as it has to, each time
        ``max.block.ms`` at most. Raises what ``send`` raises before anything is taken, and TypeError or ValueError for
        what is no record; a record that is refused later is for the delivery to tell. With interceptors records go one
        by one, so that they see each. ``ottla[fast]`` makes it fast, once it is loaded: a process that sends few does
        not load it.
        """
        if self._batches is None:
            from ottla.clients.producer.send_batch import BatchSender

            self._batches = BatchSender(
                self._core,
                key_serializer=self._key_serializer,
                value_serializer=self._value_serializer,
                partitioner=None if self._partitioner is None else self._partition,
                is_by_key=self._is_by_key,
                send_one=self._send_one if self._interceptors else None,
            )
        return await self._batches.send(topic, records, partition)

    async def flush(self) -> None:
        """Send all that waits at once, and return when the outcome of all that was sent before is known.

        Whether it was delivered is for the deliveries to say.
        """
        self._core.raise_if_closed()
        await self._core.flush()

    async def partitions_for(self, topic: str) -> list["PartitionMetadata"]:
        """The topic's partitions and their leaders; raises what ``send`` raises for a topic."""
        await self._core.wait_for_topic(topic, None, self._core.monotonic_ms() + self._core.config.max_block_ms)
        return self._core.cluster.metadata.partitions_for(topic)

    # -- transactions -------------------------------------------------------------------------------------------------

    async def init_transactions(self) -> None:
        """Before the first transaction: fence whoever had this ``transactional.id`` before, and abort what they left.

        This and the other methods of transactions wait ``max.block.ms`` at most. After a KafkaTimeoutError only the
        same method may be called again, and waits for the same. ProducerFencedError and other fatal errors are for
        good: close the producer.
        """
        await self._transactional().init_transactions(self._core.config.max_block_ms)

    def begin_transaction(self) -> None:
        """All that is sent from now on belongs together."""
        self._transactional().begin_transaction()

    async def commit_transaction(self) -> None:
        """Make all that was sent visible at once; raises what spoiled the transaction, which is then to be aborted."""
        await self._transactional().commit_transaction(self._core.config.max_block_ms)

    async def prepare_transaction(self) -> PreparedTransaction | None:
        """Send what is left and leave the transaction for somebody else to end (see the class); None if it is empty."""
        return await self._transactional().prepare_transaction(self._core.config.max_block_ms)

    async def abort_transaction(self) -> None:
        """Let nobody who reads committed records see anything that was sent."""
        await self._transactional().abort_transaction(self._core.config.max_block_ms)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """``async with producer.transaction():`` commits at its end, or aborts and raises what went wrong in it."""
        self.begin_transaction()
        try:
            yield self
            await self.commit_transaction()
        except BaseException:
            if self._transactional().may_abort:
                await self.abort_transaction()
            raise

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: ConsumerGroupMetadata
    ) -> None:
        """Commit a consumer's offsets if, and only if, the transaction is; ``consumer.group_metadata()`` names it."""
        given = {tp: OffsetAndMetadata(each) if isinstance(each, int) else each for tp, each in offsets.items()}
        await self._transactional().send_offsets(given, group_metadata, self._core.config.max_block_ms)

    def _transactional(self) -> TransactionCoordination:
        self._core.raise_if_closed()
        if self._transactions is None:
            raise IllegalStateError("Transactions need a transactional_id")
        return self._transactions

    def metrics(self) -> Mapping[str, float]:
        """Counts, averages and maxima since the start, under Apache's names."""
        core, pool = self._core, self._accumulator.pool
        return {
            **core.metrics.snapshot(),
            "requests-in-flight": core.sender.in_flight_count,
            "buffer-total-bytes": pool.total_bytes,
            "buffer-available-bytes": pool.available_bytes,
            "waiting-threads": pool.waiting_count,
        }

    async def close(self, timeout_ms: int | None = None) -> None:
        """Deliver what was sent, and disconnect; closing again does nothing.

        What is not delivered after ``timeout_ms`` fails with ClientClosedError; None waits for as long as it takes,
        which is at most ``delivery.timeout.ms``.
        """
        if timeout_ms is not None and timeout_ms < 0:
            raise ValueError("The timeout cannot be negative.")
        await self._core.close(timeout_ms)

    async def _send_one(self, record: ProducerRecord, is_serialized: bool) -> Delivery:
        return await self.send_prepared(self.prepare(record, is_serialized=is_serialized))

    def prepare(self, record: ProducerRecord, *, is_serialized: bool = False) -> ProducerRecord:
        """What the interceptors and serializers make of a record, in any thread; SerializationError."""
        if self._interceptors:
            record = self._interceptors.on_send(record)
        topic, value, key, headers, partition, timestamp_ms = record
        if self._is_plain and type(value) is bytes and key is None and headers is None:
            return record
        try:
            if not is_serialized:
                key = None if key is None else serialize(self._key_serializer, topic, key)
                value = None if value is None else serialize(self._value_serializer, topic, value)
        except KafkaError as error:
            self._interceptors.on_send_error(error)
            raise
        return ProducerRecord(topic, value, key, as_headers(headers), partition, timestamp_ms)

    async def send_prepared(self, record: ProducerRecord) -> Delivery:
        """``send`` what ``prepare`` has given."""
        topic, value, key, headers, partition, timestamp_ms = record
        delivery: Delivery | None = None
        try:
            if not headers:
                queues = self._topics.get(topic)
                if queues is not None and partition is None and self._partitioner is not None and queues.count:
                    partition = self._partition(queues, key, value)
                delivery = self._append(topic, value, key, partition, timestamp_ms)
            if delivery is None:
                delivery = await self._send_slowly(topic, value, key, headers, partition, timestamp_ms)
        except KafkaError as error:
            self._interceptors.on_send_error(error)
            raise
        if self._interceptors:
            delivery.add_done_callback(self._interceptors.on_delivered)
        if delivery.index & _TURN_MASK == _TURN_MASK:
            await asyncio.sleep(0)
        return delivery

    async def _send_slowly(  # noqa: PLR0917  the record's fields
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Delivery:
        """A send that may have to wait, begins a batch, or has something wrong with it."""
        self._core.raise_if_closed()
        partition = None if partition is None else as_partition(partition)
        timestamp_ms = self._now_ms() if timestamp_ms is None else as_timestamp(timestamp_ms)
        key = None if key is None else serialize(None, topic, key)
        value = None if value is None else serialize(None, topic, value)
        given_headers = as_headers(headers)
        try:
            check_size(record_size_upper_bound(key, value, given_headers), self._core.config)
            return await self._place(topic, value, key, given_headers, partition, timestamp_ms)
        except IllegalStateError:
            raise
        except KafkaError as error:
            if self._manager is not None:
                self._manager.refuse_record(error)
            raise

    async def _place(  # noqa: PLR0917  the record's fields
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        given_partition: int | None,
        timestamp_ms: int,
    ) -> Delivery:
        """Put a record into a batch of its partition, when there is one with room, or memory for another."""
        core, accumulator = self._core, self._accumulator
        deadline_ms = core.monotonic_ms() + core.config.max_block_ms
        queues: TopicQueue | None = None
        partition = STICKY
        taken_bytes = 0
        has_filled = False
        try:
            while True:
                # Looked up again after each wait: the topic may have been forgotten, deleted or made anew meanwhile.
                found = self._topics.get(topic)
                if found is None or found.count <= (given_partition or 0):
                    found = await core.wait_for_topic(topic, given_partition, deadline_ms)
                if found is not queues or partition >= found.count:
                    queues = found
                    partition = self._partition(found, key, value) if given_partition is None else given_partition
                chosen = queues.choose_sticky(accumulator.is_available) if partition == STICKY else partition
                queue = queues.partitions[chosen]
                if self._manager is not None:
                    self._manager.require_transaction("send")
                had_batch = queue.builder is not None
                index = accumulator.append(queue, timestamp_ms, key, value, headers)
                if index >= 0:
                    break
                has_filled |= had_batch
                if taken_bytes:
                    accumulator.open_batch(queues, queue, taken_bytes, core.monotonic_ms())
                    taken_bytes = 0
                    index = accumulator.append(queue, timestamp_ms, key, value, headers)
                    break
                # While this waits the partition may get a batch, or stop being the one to stay with.
                needed_bytes = accumulator.memory_for(key, value, headers)
                await core.take_memory(needed_bytes, deadline_ms)
                taken_bytes = needed_bytes
        finally:
            if taken_bytes:
                accumulator.pool.release(taken_bytes)
        if self._manager is not None:  # not before it has a record: a transaction without any cannot be committed
            self._manager.add_partition(queue.topic_partition)
        core.sender.wake()
        outcome = queue.outcome
        assert outcome is not None
        delivery = Delivery(
            outcome, index, timestamp_ms, -1 if key is None else len(key), -1 if value is None else len(value)
        )
        if has_filled:
            await asyncio.sleep(0)  # so that the full batch leaves while the next one fills
        return delivery

    def _partition(self, queues: TopicQueue, key: bytes | None, value: bytes | None) -> int:
        """Where a record goes that names no partition; STICKY leaves it to the built-in partitioner."""
        if self._partitioner is not None:
            partition = self._partitioner(queues.name, key, value, queues.numbers, queues.available)
            if not 0 <= partition < queues.count:
                raise ValueError(f"The partitioner chose partition {partition} of {queues.count} of {queues.name}")
            return partition
        if key is not None and self._is_by_key:
            return partition_for_key(key, queues.count)
        return STICKY
