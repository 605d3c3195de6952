"""The send that need not wait: a record into the open batch of its partition."""

from collections.abc import Callable
from typing import Any, Final

from ottla.clients.producer.delivery import Delivery
from ottla.clients.producer.partitioner import partition_for_key
from ottla.clients.producer.record_fields import TIMESTAMP_MAX_MS
from ottla.clients.producer.topic_queue import TopicQueue
from ottla.clients.producer.transaction_manager import TransactionManager

_NULL_SIZE: Final = -1


class RecordAppender:
    """No task, no future, no lock and, where a wheel is installed, no interpreter: most records go this way.

    What it does not take it leaves as it was, for those who may wait.
    """

    __slots__ = ("_is_by_key", "_largest_bytes", "_now_ms", "_topics", "_transactions")

    def __init__(
        self,
        topics: dict[str, TopicQueue],
        *,
        now_ms: Callable[[], int],
        transactions: TransactionManager | None,
        is_by_key: bool,
        largest_bytes: int,
    ) -> None:
        """``largest_bytes`` are those of a key and a value that certainly fit in a request."""
        self._topics = topics
        self._now_ms = now_ms
        self._transactions = transactions
        self._is_by_key = is_by_key
        self._largest_bytes = largest_bytes

    def append(
        self, topic: str, value: Any, key: Any, partition: int | None, timestamp_ms: int | None
    ) -> Delivery | None:
        """The delivery of a record without headers, if there is a batch with room for it; None otherwise.

        Also None for keys and values that are neither bytes nor None, and for partitions and times that do not exist.
        """
        queues = self._topics.get(topic)
        if queues is None or not queues.count:
            return None
        key_size = value_size = _NULL_SIZE
        if value is not None:
            if type(value) is not bytes:
                return None
            value_size = len(value)
        if partition is None:
            partition = queues.sticky_partition
            if key is not None:
                if type(key) is not bytes:
                    return None
                key_size = len(key)
                if self._is_by_key:
                    partition = partition_for_key(key, queues.count)
        elif key is not None:
            if type(key) is not bytes:
                return None
            key_size = len(key)
        if not 0 <= partition < queues.count or key_size + value_size > self._largest_bytes:
            return None
        if timestamp_ms is None:
            timestamp_ms = self._now_ms()
        elif type(timestamp_ms) is not int or not 0 <= timestamp_ms <= TIMESTAMP_MAX_MS:
            return None
        queue = queues.partitions[partition]
        builder, outcome = queue.builder, queue.outcome
        if builder is None or outcome is None:
            return None
        transactions = self._transactions
        if transactions is not None:
            transactions.require_transaction("send")
        index = builder.append(timestamp_ms, key, value, None)
        if index < 0:
            return None
        if transactions is not None:
            transactions.add_partition(queue.topic_partition)
        return Delivery(outcome, index, timestamp_ms, key_size, value_size)
