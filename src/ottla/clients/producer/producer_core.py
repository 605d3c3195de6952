"""The parts of a producer put together, and what all ways to send need: a topic's queues, memory, flush and close."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.errors import BufferExhaustedError, ClientClosedError, KafkaTimeoutError
from ottla.clients.producer.batch_completer import BatchCompleter
from ottla.clients.producer.batch_outcome import BatchOutcome
from ottla.clients.producer.idempotence import IdempotentProducer
from ottla.clients.producer.metrics import ProducerMetrics
from ottla.clients.producer.record_accumulator import AccumulatorConfig, RecordAccumulator
from ottla.clients.producer.sender import Sender, SenderConfig
from ottla.clients.producer.topic_queue import TopicQueue
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.clients.producer.transaction_coordination import TransactionCoordination
from ottla.clients.producer.transaction_manager import TransactionManager
from ottla.config.client_configs import ProducerConfig
from ottla.records.compression import Compression, compression_for_name

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider
    from ottla.runtime.port import Runtime

_LEVELS: Final = {
    Compression.GZIP: "compression_gzip_level",
    Compression.LZ4: "compression_lz4_level",
    Compression.ZSTD: "compression_zstd_level",
}
_CONNECT_MS: Final = 1_000


class ProducerCore:
    """New → open, by ``start`` → closing, by ``close`` → closed. Nothing is taken any more once it is closing."""

    def __init__(
        self,
        config: ProducerConfig,
        idempotence: IdempotentProducer | None,
        runtime: "Runtime | None" = None,
        token_provider: "TokenProvider | None" = None,
    ) -> None:
        self.config = config
        self.idempotence = idempotence
        self.metrics = ProducerMetrics()
        self.cluster = ClusterClient(
            config.common,
            runtime,
            topic_idle_ms=config.metadata_max_idle_ms,
            max_in_flight=config.max_in_flight_requests_per_connection,
            token_provider=token_provider,
        )
        self.monotonic_ms = self.cluster.runtime.clock.monotonic_ms
        self.accumulator = RecordAccumulator(
            _accumulator_config(config), self.cluster.runtime.rng, idempotence, self.metrics
        )
        self.completer = BatchCompleter(self.accumulator, idempotence, config.retries, self.metrics)
        self.sender = Sender(
            self.cluster,
            self.accumulator,
            self.completer,
            idempotence,
            SenderConfig(
                config.acks,
                config.max_request_size,
                config.max_in_flight_requests_per_connection,
                config.common.request_timeout_ms,
            ),
            self.metrics,
        )
        self.transactions: TransactionCoordination | None = None
        if isinstance(idempotence, TransactionManager):
            caller = TransactionCaller(
                idempotence,
                self.cluster,
                find_timeout_ms=config.common.request_timeout_ms,
                retry_backoff_ms=config.common.retry_backoff_ms,
                retry_backoff_max_ms=config.common.retry_backoff_max_ms,
            )
            self.transactions = TransactionCoordination(
                idempotence,
                caller,
                self.completer,
                drained=self.flush,
                wake_sender=self.sender.wake,
                transaction_timeout_ms=config.transaction_timeout_ms,
            )
        self._is_started = False

    async def start(self) -> None:
        """Connect within ``max.block.ms``; a send may wait less than a connection takes, so within a second at least.

        Raises what ``ClusterClient.start`` raises, and is closed then, lest it looks for the cluster on.
        """
        if self._is_started:
            return
        try:
            least_ms = min(_CONNECT_MS, self.config.common.request_timeout_ms)
            await self.cluster.start(timeout_ms=max(self.config.max_block_ms, least_ms))
        except BaseException:
            await self.close(None)
            raise
        self._is_started = True
        self.sender.start()

    @property
    def is_closed(self) -> bool:
        """Whether it takes no records any more."""
        return self.accumulator.is_closed

    def raise_if_closed(self) -> None:
        """ClientClosedError if it is, or was never started."""
        if self.is_closed:
            raise ClientClosedError("Cannot perform operation after producer has been closed")
        if not self._is_started:
            raise ClientClosedError("The producer has not been started: use it as `async with Producer(…)`")

    async def wait_for_topic(self, name: str, partition: int | None, deadline_ms: int) -> TopicQueue:
        """The topic's queues, once its metadata is known, and has ``partition``; KafkaTimeoutError at the deadline."""
        self.raise_if_closed()
        metadata = await self.cluster.require_topics([name], timeout_ms=max(0, deadline_ms - self.monotonic_ms()))
        topic = self.accumulator.topic(name, metadata)
        while partition is not None and partition >= len(topic.numbers):
            remaining_ms = deadline_ms - self.monotonic_ms()
            if remaining_ms <= 0:
                raise KafkaTimeoutError(
                    f"Partition {partition} of topic {name} with partition count {len(topic.numbers)} is not present "
                    f"in metadata after {self.config.max_block_ms} ms."
                )
            self.cluster.request_update()
            await self.cluster.wait_for_update(remaining_ms)
            topic = self.accumulator.topic(name, self.cluster.metadata)
        self.raise_if_closed()
        return topic

    async def take_memory(self, size_bytes: int, deadline_ms: int) -> None:
        """Take memory for a batch, waiting for it in turn; BufferExhaustedError at the deadline."""
        pool = self.accumulator.pool
        if pool.try_take(size_bytes):
            return
        granted = asyncio.get_running_loop().create_future()
        began_ms = self.monotonic_ms()
        waiter = pool.wait(size_bytes, partial(_wake, granted))
        self.sender.wake()  # what waits for more records waits no longer
        try:
            async with asyncio.timeout(max(0, deadline_ms - began_ms) / 1000):
                await granted
            self.raise_if_closed()
        except BaseException as error:  # cancelled as well: the memory must not stay with nobody
            pool.cancel(waiter)
            if isinstance(error, TimeoutError):
                self.metrics.buffer_exhausted += 1
                raise BufferExhaustedError(
                    f"Failed to allocate {size_bytes} bytes within the configured max blocking time "
                    f"{self.config.max_block_ms} ms. Total memory: {pool.total_bytes} bytes. "
                    f"Available memory: {pool.available_bytes} bytes."
                ) from None
            raise
        self.metrics.buffer_wait.record(self.monotonic_ms() - began_ms)

    async def flush(self) -> None:
        """Send all at once, and wait until the outcome of all that was sent before is known."""
        outcomes = [batch.outcome for batch in self.accumulator.incomplete]
        self.accumulator.flushes_in_progress += 1
        self.sender.wake()
        try:
            await _settled(outcomes)
        finally:
            self.accumulator.flushes_in_progress -= 1

    async def close(self, timeout_ms: int | None) -> None:
        """Deliver what was sent, abort an open transaction, or give both up when the time is over; then disconnect."""
        if self.accumulator.is_closed:
            return
        self.accumulator.is_closed = True
        try:
            if self._is_started:
                await self._finish(timeout_ms)
        finally:
            await self.cluster.close()

    async def _finish(self, timeout_ms: int | None) -> None:
        self.sender.wake()
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await _settled([batch.outcome for batch in self.accumulator.incomplete])
                if self.transactions is not None:
                    await self.transactions.end_open_transaction(self.config.max_block_ms)
        except TimeoutError:
            pass
        finally:
            self.completer.abort_all(ClientClosedError("Producer is closed forcefully."))
            self.sender.close()
            if self.transactions is not None:
                await self.transactions.close()


def producer_state(config: ProducerConfig) -> IdempotentProducer | None:
    """What knows who the producer is to brokers; None where they need not know."""
    if config.transactional_id is not None:
        return TransactionManager(config.transactional_id)
    return IdempotentProducer() if config.enable_idempotence else None


def _accumulator_config(config: ProducerConfig) -> AccumulatorConfig:
    codec = compression_for_name(config.compression_type)
    return AccumulatorConfig(
        batch_size=min(config.batch_size, config.buffer_memory),
        buffer_memory=config.buffer_memory,
        linger_ms=config.linger_ms,
        delivery_timeout_ms=config.delivery_timeout_ms,
        retry_backoff_ms=config.common.retry_backoff_ms,
        retry_backoff_max_ms=config.common.retry_backoff_max_ms,
        compression=codec,
        compression_level=getattr(config, _LEVELS[codec]) if codec in _LEVELS else None,
        adaptive_partitioning=config.partitioner_adaptive_partitioning_enable,
        availability_timeout_ms=config.partitioner_availability_timeout_ms,
        keeps_order_by_muting=config.max_in_flight_requests_per_connection == 1,
    )


async def _settled(outcomes: list[BatchOutcome]) -> None:
    """Wait until all are known, those that they were split into included."""
    for outcome in outcomes:
        while (pending := outcome.first_pending()) is not None:
            settled = asyncio.get_running_loop().create_future()
            pending.add_waiter(0, partial(_wake, settled))
            await settled


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
