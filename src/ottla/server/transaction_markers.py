"""Sends the markers that end transactions to the leaders of their partitions, until every one is written.

A partition that this broker leads is written to at once, without a socket; markers for another broker go out in one
request at a time, with all that gathered meanwhile. What fails and may yet succeed waits for the next round, and rounds
come less often while nothing succeeds.

A transaction's markers are: sent → all written or refused for good (``done`` hears which), or cancelled, or replaced.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.metadata.image.metadata import MetadataImage
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.runtime.port import Runtime
from ottla.server.txn_marker_writer import TxnMarker, Written
from ottla.transaction.markers import MarkersDone, TransactionMarkers

logger = logging.getLogger(__name__)

RETRY_BACKOFF_MS: Final = 20
RETRY_BACKOFF_MAX_MS: Final = 500
LOCAL_SLICE: Final = 32
"""Partitions of this broker that are written to in one turn of the reactor."""
REQUEST_MARKERS_MAX: Final = 1000
"""Transactions in one request to another broker."""

_WRITTEN: Final = frozenset(
    {
        ErrorCode.NONE,
        # Nothing of the transaction can be in such a partition.
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_RETRIABLE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class LocalMarkers(Protocol):
    """Writes markers to the partitions that this broker leads; see :mod:`ottla.server.txn_marker_writer`."""

    def write(self, marker: TxnMarker, partitions: Sequence[TopicPartition], written: Written) -> None:
        """Append the marker to each partition; ``written`` is called once, at once or later."""


class RemoteMarkers(Protocol):
    """Takes markers to other brokers."""

    def can_reach(self, node_id: int) -> bool:
        """Whether it is known where the broker listens."""

    def write(
        self, node_id: int, markers: Sequence[tuple[TxnMarker, Sequence[TopicPartition]]]
    ) -> Awaitable[Mapping[int, Mapping[TopicPartition, int]]]:
        """A WriteTxnMarkers; gives error codes by producer id and partition, or raises where no answer came."""


class _Transaction:
    """The markers of one transaction; ``unwritten`` are the partitions that still need theirs."""

    __slots__ = ("done", "log_partition", "marker", "transactional_id", "unwritten")

    def __init__(self, markers: TransactionMarkers, done: MarkersDone) -> None:
        self.transactional_id = markers.transactional_id
        self.log_partition = markers.transaction_log_partition
        self.marker = TxnMarker(
            markers.producer_id,
            markers.producer_epoch,
            markers.coordinator_epoch,
            markers.committed,
            markers.transaction_version,
        )
        self.unwritten = dict.fromkeys(markers.partitions)
        self.done = done


_Batch = tuple[_Transaction, list[TopicPartition]]
"""Partitions of a transaction that are written to together."""


class TransactionMarkerSender:
    """See the module and :class:`ottla.transaction.markers.MarkerSender`."""

    def __init__(
        self,
        runtime: Runtime,
        node_id: int,
        image: Callable[[], MetadataImage],
        *,
        writer: LocalMarkers,
        remote: RemoteMarkers | None,
        registry: Registry,
    ) -> None:
        self._runtime = runtime
        self._node_id = node_id
        self._image = image
        self._writer = writer
        self._remote = remote
        self._pending: dict[str, _Transaction] = {}
        self._unknown_destination: list[_Batch] = []
        self._retries: list[_Batch] = []
        self._gathered: dict[int, list[_Batch]] = {}
        """By broker, what goes out with the next request; a broker is here while one is under way."""
        self._backoff_ms = RETRY_BACKOFF_MS
        self._is_waiting = False
        registry.gauge(
            metric_name(
                "kafka.coordinator.transaction", "TransactionMarkerChannelManager", "UnknownDestinationQueueSize"
            ),
            "Transactions with markers for partitions whose leader cannot be reached",
            lambda: float(len(self._unknown_destination)),
        )

    @property
    def pending_count(self) -> int:
        """Transactions whose markers are under way."""
        return len(self._pending)

    def send(self, markers: TransactionMarkers, done: MarkersDone) -> None:
        """See the port. Markers of the same transactional id that are under way are replaced."""
        transaction = _Transaction(markers, done)
        if markers.transactional_id in self._pending:
            logger.info("Replaced the pending markers of %s with %s", markers.transactional_id, markers)
        self._pending[markers.transactional_id] = transaction
        self._route(transaction, list(transaction.unwritten))
        self._finish_if_written(transaction)

    def cancel(self, transaction_log_partition: int) -> None:
        """See the port."""
        for transactional_id, transaction in list(self._pending.items()):
            if transaction.log_partition == transaction_log_partition:
                logger.info("No longer the coordinator of %s: cancel its markers", transactional_id)
                del self._pending[transactional_id]
        for queue in (self._unknown_destination, self._retries, *self._gathered.values()):
            queue[:] = [batch for batch in queue if self._is_pending(batch[0])]

    def close(self) -> None:
        """The broker stops: nothing more is sent."""
        self._pending.clear()
        self._unknown_destination.clear()
        self._retries.clear()
        self._gathered.clear()

    def _is_pending(self, transaction: _Transaction) -> bool:
        return self._pending.get(transaction.transactional_id) is transaction

    # -- where to -----------------------------------------------------------------------------------------------------

    def _route(self, transaction: _Transaction, partitions: Iterable[TopicPartition]) -> None:
        """Send each partition's marker to its leader as the metadata has it now."""
        topics = self._image().topics
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic_partition in partitions:
            registration = topics.partition(*topic_partition)
            if registration is None:
                logger.info("%s is gone: %s needs no marker there", topic_partition, transaction.transactional_id)
                transaction.unwritten.pop(topic_partition, None)
            else:
                by_leader.setdefault(registration.leader, []).append(topic_partition)
        for leader, found in by_leader.items():
            if leader == self._node_id:
                self._write_here(transaction, found)
            elif self._remote is not None and self._remote.can_reach(leader):
                self._gather(leader, (transaction, found))
            else:
                # Apache Kafka takes a partition without a leader for one that is gone; its transaction would hang.
                self._unknown_destination.append((transaction, found))
                self._come_again()

    def _write_here(self, transaction: _Transaction, partitions: list[TopicPartition]) -> None:
        if len(partitions) <= LOCAL_SLICE:
            self._writer.write(transaction.marker, partitions, lambda errors: self._answered(transaction, errors))
        else:
            self._runtime.spawn(self._write_in_slices(transaction, partitions))

    async def _write_in_slices(self, transaction: _Transaction, partitions: list[TopicPartition]) -> None:
        remaining = iter(partitions)
        while (part := list(islice(remaining, LOCAL_SLICE))) and self._is_pending(transaction):
            self._writer.write(transaction.marker, part, lambda errors: self._answered(transaction, errors))
            await self._runtime.sleep_ms(0)

    def _gather(self, node_id: int, batch: _Batch) -> None:
        gathered = self._gathered.get(node_id)
        if gathered is None:
            self._gathered[node_id] = [batch]
            self._runtime.spawn(self._send_gathered(node_id))
        else:
            gathered.append(batch)

    async def _send_gathered(self, node_id: int) -> None:
        """One request after the other, as long as there are markers for a broker."""
        assert self._remote is not None
        while gathered := self._gathered.get(node_id):
            batches = gathered[:REQUEST_MARKERS_MAX]
            del gathered[:REQUEST_MARKERS_MAX]
            errors: Mapping[int, Mapping[TopicPartition, int]] = {}
            try:
                errors = await self._remote.write(
                    node_id, [(transaction.marker, partitions) for transaction, partitions in batches]
                )
            except KafkaError as error:
                logger.info("Broker %d gave no answer to %d markers: %s", node_id, len(batches), error)
            for transaction, partitions in batches:
                codes = errors.get(transaction.marker.producer_id, {})
                self._answered(
                    transaction,
                    {one: codes.get(one, ErrorCode.REQUEST_TIMED_OUT) for one in partitions},
                )
        self._gathered.pop(node_id, None)

    # -- what became of it --------------------------------------------------------------------------------------------

    def _answered(self, transaction: _Transaction, errors: Mapping[TopicPartition, int]) -> None:
        if not self._is_pending(transaction):
            return
        retries = []
        for topic_partition, code in errors.items():
            if code in _WRITTEN:
                transaction.unwritten.pop(topic_partition, None)
                self._backoff_ms = RETRY_BACKOFF_MS
            elif code in _FENCED:
                del self._pending[transaction.transactional_id]
                message = f"The marker of {transaction.transactional_id} for {topic_partition} was refused for good"
                logger.info("%s: %s", message, ErrorCode(code).name)
                transaction.done(ApiError(ErrorCode(code), message))
                return
            else:
                level = logging.INFO if code in _RETRIABLE else logging.ERROR
                logger.log(
                    level,
                    "The marker of %s for %s has failed with %s, retrying",
                    transaction.transactional_id,
                    topic_partition,
                    ErrorCode(code).name,
                )
                retries.append(topic_partition)
        if retries:
            self._retries.append((transaction, retries))
            self._come_again()
        self._finish_if_written(transaction)

    def _finish_if_written(self, transaction: _Transaction) -> None:
        if not transaction.unwritten and self._is_pending(transaction):
            del self._pending[transaction.transactional_id]
            transaction.done(None)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def _come_again(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._runtime.spawn(self._next_round())

    async def _next_round(self) -> None:
        backoff_ms = self._backoff_ms
        self._backoff_ms = min(backoff_ms * 2, RETRY_BACKOFF_MAX_MS)
        await self._runtime.sleep_ms(backoff_ms)
        self._is_waiting = False
        batches = self._unknown_destination + self._retries
        self._unknown_destination.clear()
        self._retries.clear()
        routed = 0
        for transaction, partitions in batches:
            if self._is_pending(transaction):
                self._route(transaction, partitions)
                self._finish_if_written(transaction)
            routed += len(partitions)
            if routed >= LOCAL_SLICE:
                routed = 0
                await self._runtime.sleep_ms(0)
