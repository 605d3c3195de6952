"""The producer for plain code: the asyncio client's methods without ``await``."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ottla.clients.errors import ClientClosedError
from ottla.clients.producer.batch_outcome import RecordMetadata
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.producer import Producer as AsyncProducer
from ottla.clients.producer.record_fields import Headers
from ottla.clients.sync.delivery import Delivery
from ottla.clients.sync.handover import Handover
from ottla.clients.sync.runner import Runner

if TYPE_CHECKING:
    from ottla.clients.cluster.metadata import PartitionMetadata
    from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
    from ottla.clients.producer.batch_delivery import BatchDelivery as AsyncBatchDelivery
    from ottla.clients.producer.prepared_transaction import PreparedTransaction
    from ottla.clients.sync.batch_delivery import BatchDelivery
    from ottla.common.topic_partition import TopicPartition

T = TypeVar("T")


class Producer:
    """``with Producer(bootstrap_servers="localhost:9092") as producer: producer.send("orders", b"…")``.

    Any thread may call it; the records of one thread keep their order. What each method does is the same as in the
    asyncio client, whose methods these are, but for one thing: ``send`` calls interceptors and serializers, and does
    not wait until the record is in its batch; what else is wrong with it is raised by ``result`` of its delivery.
    """

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: Any) -> None:
        """As the asyncio client's; InvalidConfigError."""
        self._runner = Runner()
        self._is_open = False
        try:
            self._producer: AsyncProducer = self._runner.call(lambda: AsyncProducer(config, **keywords))
        except BaseException:
            self._runner.close()
            raise
        self._runner.close_with(self._close)
        self._pumping: asyncio.Task[None] | None = None
        given = self._producer.config
        self._handover = Handover(
            self._producer.send_prepared,
            lambda: self._runner.call_soon(self._pump),
            max_bytes=min(given.buffer_memory, 4 * given.batch_size),
            max_block_ms=given.max_block_ms,
        )

    def start(self) -> None:
        """Connect to the cluster. KafkaTimeoutError if nobody answers, AuthenticationError if they refuse us."""
        self._runner.run(self._producer.start())
        self._is_open = True

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Send a record; waits for room only, ``max.block.ms`` at most (BufferExhaustedError).

        Key, value and headers may be changed afterwards. SerializationError if they cannot be sent.
        """
        self._raise_if_closed()
        record = self._producer.prepare(ProducerRecord(topic, value, key, headers, partition, timestamp_ms))
        delivery = Delivery(self._runner)
        self._handover.put(record, delivery)
        return delivery

    def send_and_wait(
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
        sent = self.send(topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
        return sent.result()

    def send_batch(self, topic: str, records: Any, *, partition: int | None = None) -> "BatchDelivery":
        """As the asyncio client's; an iterable is read in this thread, which waits while there is no memory."""
        from ottla.clients.producer.send_batch import in_pieces
        from ottla.clients.sync.batch_delivery import BatchDelivery

        self._raise_if_closed()
        whole: AsyncBatchDelivery | None = None
        for piece in in_pieces(records):
            sent = self._run(partial(self._producer.send_batch, topic, piece, partition=partition))
            if whole is None:
                whole = sent
            else:
                whole.extend(sent)
            if sent.is_cut_short:
                break
        assert whole is not None
        return BatchDelivery(self._runner, whole)

    def flush(self) -> None:
        """Send all that waits at once, and return when the outcome of all that was sent before is known."""
        self._run(self._producer.flush)

    def partitions_for(self, topic: str) -> list["PartitionMetadata"]:
        """The topic's partitions and their leaders."""
        return self._runner.run(self._producer.partitions_for(topic))

    def metrics(self) -> Mapping[str, float]:
        """Counts, averages and maxima since the start, under Apache's names."""
        return self._runner.call(self._producer.metrics)

    def init_transactions(self) -> None:
        """As the asyncio client's."""
        self._run(self._producer.init_transactions)

    def begin_transaction(self) -> None:
        """As the asyncio client's."""

        async def begin() -> None:
            self._producer.begin_transaction()

        self._run(begin)

    def commit_transaction(self) -> None:
        """As the asyncio client's."""
        self._run(self._producer.commit_transaction)

    def prepare_transaction(self) -> "PreparedTransaction | None":
        """As the asyncio client's."""
        return self._run(self._producer.prepare_transaction)

    def abort_transaction(self) -> None:
        """As the asyncio client's."""
        self._run(self._producer.abort_transaction)

    def send_offsets_to_transaction(
        self, offsets: Mapping["TopicPartition", "OffsetAndMetadata | int"], group_metadata: "ConsumerGroupMetadata"
    ) -> None:
        """As the asyncio client's."""
        self._run(lambda: self._producer.send_offsets_to_transaction(offsets, group_metadata))

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """``with producer.transaction():`` commits at its end, or aborts and raises what went wrong in it."""
        transaction = self._producer.transaction()
        self._run(transaction.__aenter__)
        try:
            yield self
        except BaseException as error:
            # It aborts, and raises the error again unless it has a worse one.
            ended = partial(transaction.__aexit__, type(error), error, error.__traceback__)
            self._run(ended)
            raise
        self._run(lambda: transaction.__aexit__(None, None, None))

    def close(self, timeout_ms: int | None = None) -> None:
        """Deliver what was sent, and disconnect; closing again does nothing."""
        if self._runner.is_open:
            self._runner.refuse_own_thread()
            self._is_open = False
            try:
                self._runner.run(self._close(timeout_ms))
            finally:
                self._runner.close()

    def _raise_if_closed(self) -> None:
        if not self._is_open:
            raise ClientClosedError("The producer is closed, or has not been started")

    # In the loop's thread

    def _pump(self) -> None:
        if self._pumping is None or self._pumping.done():
            self._pumping = asyncio.get_running_loop().create_task(self._handover.pump())

    async def _close(self, timeout_ms: int | None = None) -> None:
        self._is_open = False
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._handover.caught_up()
        except TimeoutError:
            timeout_ms = 0
        await self._producer.close(timeout_ms)
        await self._handover.caught_up()  # whatever is left is refused now

    def _run(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call a method of the asyncio client after all that was sent before."""

        async def after() -> T:
            await self._handover.caught_up()
            return await call()

        return self._runner.run(after())
