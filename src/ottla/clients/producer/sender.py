"""Sends what is ready to the leaders, and brings the answers back; the producer's only driver.

No task runs while there is nothing to do: ``wake`` lets it look once in this turn of the loop, a timer when something
has lingered, backed off or taken too long, and each answer when it comes.
"""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.clients.errors import InvalidMetadataError, error_for
from ottla.clients.producer.batch_completer import BatchCompleter, PartitionAnswer
from ottla.clients.producer.idempotence import IdempotentProducer, ProducerIdAndEpoch
from ottla.clients.producer.metrics import ProducerMetrics
from ottla.clients.producer.produce_request import (
    ProduceAttempt,
    leader_hints,
    partition_answer,
    produce_attempt,
    read_answers,
)
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.record_accumulator import FOR_EVER, RecordAccumulator
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.produce import ProduceResponse

if TYPE_CHECKING:
    from ottla.clients.cluster.cluster_client import ClusterClient
    from ottla.clients.cluster.metadata import ClusterMetadata

logger = logging.getLogger(__name__)

_TRANSACTION_TIMEOUT_MS: Final = 2**31 - 1
"""Of a producer without transactions."""


class SenderConfig(NamedTuple):
    """The keys of a producer's configuration that this is about."""

    acks: int
    max_request_size: int
    max_in_flight_requests: int
    request_timeout_ms: int


class Sender:
    """Idle → open, by ``start`` → closed, by ``close``."""

    def __init__(  # noqa: PLR0917  the parts of a producer
        self,
        cluster: "ClusterClient",
        accumulator: RecordAccumulator,
        completer: BatchCompleter,
        idempotence: IdempotentProducer | None,
        config: SenderConfig,
        metrics: ProducerMetrics,
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._completer = completer
        self._idempotence = idempotence
        self._config = config
        self._metrics = metrics
        self._monotonic_ms = cluster.runtime.clock.monotonic_ms
        self._in_flight: dict[int, int] = {}
        """Requests that were sent and not answered, by node."""
        self._connecting: dict[int, asyncio.Task[None]] = {}
        self._is_scheduled = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = FOR_EVER
        self._initializing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop

    def start(self) -> None:
        """Begin; a producer id is asked for ahead of the first batch."""
        self._loop = asyncio.get_running_loop()
        self._cluster.on_update(self._on_metadata)
        self._ask_for_producer_id()

    @property
    def in_flight_count(self) -> int:
        """How many requests are without an answer."""
        return sum(self._in_flight.values())

    def wake(self) -> None:
        """Something may be ready; look at the end of this turn of the loop."""
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def close(self) -> None:
        """Look no more. What is in flight ends with the connections."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._initializing, *self._connecting.values()):
            if task is not None:
                task.cancel()

    # One look

    def _run(self) -> None:
        self._is_scheduled = False
        if self._is_closed:
            return
        accumulator, state = self._accumulator, self._idempotence
        now_ms = self._monotonic_ms()
        if state is not None:
            if state.fatal_error is not None:
                self._completer.abort_all(state.fatal_error)
            state.resolve_sequences()
            state.bump_epoch_if_needed()
            if accumulator.has_undrained and not state.producer.is_valid:
                self._ask_for_producer_id()
        if now_ms >= accumulator.next_expiry_ms():
            self._completer.expire(now_ms)
            if state is not None:
                self.wake()  # sequences may have to be settled
        next_check_ms = self._send_ready(now_ms)
        self._arm(min(next_check_ms, accumulator.next_expiry_ms()), now_ms)

    def _send_ready(self, now_ms: int) -> int:
        """Send all that can be sent now; when to look again if nothing happens before."""
        accumulator = self._accumulator
        while True:
            ready = accumulator.ready(now_ms)
            if ready.leaderless_topics:
                for topic in ready.leaderless_topics:
                    self._cluster.use_topic(topic)
                self._cluster.request_update()
            has_sent = False
            for node_id in ready.nodes:
                can_send = self._can_send(node_id)
                accumulator.note_node(node_id, now_ms, can_send=can_send)
                if can_send:
                    is_idle = not self._in_flight.get(node_id)
                    batches = accumulator.drain(node_id, self._config.max_request_size, now_ms, takes_all=is_idle)
                    if batches:
                        self._send(node_id, batches, now_ms)
                        has_sent = True
            if not has_sent:
                return ready.next_check_ms

    def _can_send(self, node_id: int) -> bool:
        if self._in_flight.get(node_id, 0) >= self._config.max_in_flight_requests:
            return False
        node = self._cluster.node(node_id)
        if node is None:
            self._cluster.request_update()
            return False
        if self._cluster.is_ready(node):
            return True
        if node_id not in self._connecting:
            self._connecting[node_id] = self._loop.create_task(self._connect(node))
        return False

    async def _connect(self, node: Node) -> None:
        """Connect, or wait out a throttle, so that batches are not taken for a node that cannot be sent to."""
        try:
            await self._cluster.connect(node)
        except NetworkError as error:
            logger.debug("Node %s cannot be reached: %s", node, error)
            self._cluster.request_update()
        except KafkaError as error:
            self._completer.abort_all(error)  # who refuses us once, refuses us again
        finally:
            del self._connecting[node.id]
        self.wake()

    def _send(self, node_id: int, batches: list[ProducerBatch], now_ms: int) -> None:
        config, metrics, state = self._config, self._metrics, self._idempotence
        metadata = self._cluster.metadata
        attempt = produce_attempt(
            batches,
            {batch.topic_partition.topic: metadata.topic_id(batch.topic_partition.topic) for batch in batches},
            acks=config.acks,
            timeout_ms=config.request_timeout_ms,
            transactional_id=None if state is None else state.transactional_id,
            version_max=None if state is None else state.produce_version_max,
        )
        records_count = 0
        for batch in batches:
            self._cluster.use_topic(batch.topic_partition.topic)
            size_bytes = batch.size_bytes
            records_count += batch.records_count
            metrics.sent_bytes += size_bytes
            metrics.batch_size.record(size_bytes)
            metrics.queue_time_ms.record(now_ms - batch.created_ms)
        metrics.records_per_request.record(records_count)
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        answer = self._cluster.send(
            node_id, attempt.request, max_version=attempt.version_max, expect_response=config.acks != 0
        )
        assert isinstance(answer, asyncio.Future)
        answer.add_done_callback(partial(self._on_answer, node_id, attempt, batches, now_ms))

    # Answers

    def _on_answer(
        self,
        node_id: int,
        attempt: ProduceAttempt,
        batches: list[ProducerBatch],
        sent_ms: int,
        answer: "asyncio.Future[Any]",
    ) -> None:
        self._in_flight[node_id] -= 1
        now_ms = self._monotonic_ms()
        error = NetworkError("The producer was closed") if answer.cancelled() else answer.exception()
        if error is not None:
            if not isinstance(error, KafkaError):  # a bug, which must not keep the batches and their memory
                self._fail_attempt(batches, NetworkError(f"The answer could not be read: {error!r}"), now_ms)
                raise error
            self._fail_attempt(batches, error, now_ms)
        elif (response := answer.result()) is None:
            for batch in batches:
                self._completer.complete(batch, PartitionAnswer(), now_ms)
        else:
            self._metrics.request_latency_ms.record(now_ms - sent_ms)
            self._read_response(attempt, batches, response, now_ms)
        self.wake()

    def _fail_attempt(self, batches: list[ProducerBatch], error: KafkaError, now_ms: int) -> None:
        answer = PartitionAnswer(error.code, error_message=str(error))
        for batch in batches:
            self._completer.complete(batch, answer, now_ms)
        self._cluster.request_update()

    def _read_response(
        self, attempt: ProduceAttempt, batches: list[ProducerBatch], response: ProduceResponse, now_ms: int
    ) -> None:
        answers = read_answers(attempt, response)
        self._metrics.throttle_time_ms.record(response.throttle_time_ms)
        is_stale = False
        for batch, partition in answers:
            self._completer.complete(batch, partition_answer(partition), now_ms)
            if partition.error_code and isinstance(error_for(partition.error_code), InvalidMetadataError):
                is_stale = True
        if len(answers) < len(batches):
            answered = {id(batch) for batch, _ in answers}
            left_out = [batch for batch in batches if id(batch) not in answered]
            self._fail_attempt(left_out, NetworkError("The broker's answer leaves the partition out"), now_ms)
        if is_stale:
            leaders, nodes = leader_hints(answers, response)
            if leaders:
                self._cluster.learn_leaders(leaders, nodes)
            self._cluster.request_update()

    def _on_metadata(self, metadata: "ClusterMetadata") -> None:
        self._accumulator.update_metadata(metadata)
        self.wake()

    # Time

    def _arm(self, at_ms: int, now_ms: int) -> None:
        """Look again then, or earlier."""
        if at_ms >= self._timer_at_ms or at_ms >= FOR_EVER:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_ms = at_ms
        self._timer = self._loop.call_later(max(0, at_ms - now_ms) / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_at_ms = FOR_EVER
        self.wake()

    # The producer id

    def _ask_for_producer_id(self) -> None:
        state = self._idempotence
        if state is not None and state.wants_producer_id and self._initializing is None:
            self._initializing = self._loop.create_task(self._init_producer_id(state))

    async def _init_producer_id(self, state: IdempotentProducer) -> None:
        """Ask for an id until there is one. A refusal fails what waits for it; what is sent later asks again."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS)
        try:
            while not state.producer.is_valid:
                response = await self._cluster.ask_any(request, timeout_ms=self._config.request_timeout_ms)
                assert isinstance(response, InitProducerIdResponse)
                if not response.error_code:
                    state.initialized(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))
                    logger.info("ProducerId set to %d with epoch %d", *state.producer)
                elif (error := error_for(response.error_code)).retriable:
                    await self._cluster.runtime.sleep_ms(self._cluster.config.retry_backoff_ms)
                else:
                    raise error
        except KafkaError as error:
            if not error.retriable:
                self._completer.abort_all(error)
        finally:
            self._initializing = None
        self.wake()
