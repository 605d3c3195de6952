"""Sends a task's Arrow batches, and knows in the end where each record is: the task fails if one was not taken."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.clients.sync import Producer
from ottla.common.topic_partition import TopicPartition
from ottla.spark.freed_memory import give_back_freed_memory
from ottla.spark.kept_modules import MODULES
from ottla.spark.sink.record_tables import in_larger_batches, tables_by_topic
from ottla.spark.sink.sink_schema import SinkColumns
from ottla.spark.sink.task_transaction import Written

if TYPE_CHECKING:
    import pyarrow

    from ottla.clients.producer.batch_delivery import BatchMetadata
    from ottla.clients.sync.batch_delivery import BatchDelivery


class TableSender:
    """``send`` any number of batches, then ``finish``; a record's error is raised by the first call that knows it."""

    def __init__(self, producer: Producer, columns: SinkColumns) -> None:
        self._producer = producer
        self._columns = columns
        self._under_way: deque[BatchDelivery] = deque()
        self._written: dict[TopicPartition, Written] = {}
        self._sent_bytes = 0

    def send_all(self, batches: Iterable["pyarrow.RecordBatch"]) -> None:
        """Send every batch; waits while the producer's memory is full."""
        record_columns, topic = self._columns
        for rows in in_larger_batches(batches):
            for name, table in tables_by_topic(rows, record_columns, topic):
                self._under_way.append(self._producer.send_batch(name, table))
                self._sent_bytes += table.nbytes
                del table
            del rows
            while self._under_way and self._under_way[0].done():
                self._note(self._under_way.popleft().result())

    def finish(self) -> list[Written]:
        """Wait until all is acknowledged; what was written where."""
        self._producer.flush()
        while self._under_way:
            self._note(self._under_way.popleft().result())
        MODULES.keep()
        give_back_freed_memory(self._sent_bytes)
        return list(self._written.values())

    def _note(self, metadata: "BatchMetadata") -> None:
        for partition, (first, last, count) in metadata.partitions.items():
            before = self._written.get(partition)
            if before is None:
                self._written[partition] = Written(*partition, first, last, count)
                continue
            is_known = min(before.first_offset, first) >= 0 and min(before.last_offset, last) >= 0
            self._written[partition] = Written(
                *partition,
                min(before.first_offset, first) if is_known else -1,
                max(before.last_offset, last) if is_known else -1,
                before.records_count + count,
            )
