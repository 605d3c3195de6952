"""A partition's log and what a broker would answer from it, for tests that need no broker."""

from typing import NamedTuple

from ottla.clients.consumer.aborted_transactions import AbortedTransaction
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import TimestampType
from ottla.records.builder import build_batch
from ottla.records.control import EndTransactionMarker, end_transaction_batch
from ottla.records.control_type import ControlRecordType
from ottla.records.record import Header, SimpleRecord

CODECS = 5


class Step(NamedTuple):
    """Something that is written: data of a producer (0: not transactional), or the end of its transaction."""

    producer: int
    records: int = 1
    end: bool | None = None
    """None: data; True: commit; False: abort."""
    codec: int = 0


class SimulatedLog:
    """Writes steps one after the other, and knows which records each isolation level may see."""

    def __init__(self, partition: TopicPartition, steps: list[Step]) -> None:
        self.partition = partition
        self.batches: list[tuple[int, int, bytes]] = []
        self.aborted: list[tuple[int, int, int]] = []
        """Producer, first offset, offset of the marker."""
        self.data: list[tuple[int, int]] = []
        """Offset and producer of each record that is no marker."""
        self._open: dict[int, int] = {}
        self._aborted_offsets: set[int] = set()
        self._offsets_of_open: dict[int, list[int]] = {}
        self.end_offset = 0
        for step in steps:
            self._write(step)

    def _write(self, step: Step) -> None:
        base = self.end_offset
        if step.end is not None:
            if step.producer == 0 or step.producer not in self._open:
                return
            kind = ControlRecordType.COMMIT if step.end else ControlRecordType.ABORT
            marker = end_transaction_batch(
                EndTransactionMarker(kind, 0),
                timestamp=base,
                producer_id=step.producer,
                producer_epoch=0,
                base_offset=base,
                leader_epoch=3,
            )
            first = self._open.pop(step.producer)
            offsets = self._offsets_of_open.pop(step.producer)
            if not step.end:
                self.aborted.append((step.producer, first, base))
                self._aborted_offsets.update(offsets)
            self.batches.append((base, base, bytes(marker)))
            self.end_offset += 1
            return
        records = [
            SimpleRecord(
                1_000 + base + index,
                None if (base + index) % 3 == 0 else b"k%d" % (base + index),
                None if (base + index) % 7 == 0 else b"v%d" % (base + index) * ((base + index) % 5),
                (Header("h", b"x"), Header("é", None)) if (base + index) % 4 == 0 else (),
            )
            for index in range(step.records)
        ]
        is_append_time = base % 2 == 1
        batch = build_batch(
            records,
            base_offset=base,
            leader_epoch=3,
            compression=step.codec,
            producer_id=step.producer or -1,
            producer_epoch=0 if step.producer else -1,
            base_sequence=0 if step.producer else -1,
            transactional=step.producer > 0,
            timestamp_type=TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME,
            log_append_time_ms=77_000 + base if is_append_time else None,
        )
        offsets = list(range(base, base + step.records))
        if step.producer:
            self._open.setdefault(step.producer, base)
            self._offsets_of_open.setdefault(step.producer, []).extend(offsets)
        self.data += [(offset, step.producer) for offset in offsets]
        self.batches.append((base, base + step.records - 1, bytes(batch)))
        self.end_offset += step.records

    @property
    def last_stable_offset(self) -> int:
        return min(self._open.values(), default=self.end_offset)

    def visible(self, *, committed: bool) -> list[int]:
        """The offsets that may be seen."""
        if not committed:
            return [offset for offset, _ in self.data]
        end = self.last_stable_offset
        return [offset for offset, _ in self.data if offset < end and offset not in self._aborted_offsets]

    def fetch(self, offset: int, max_bytes: int, *, committed: bool, node_id: int = 1) -> CompletedFetch:
        """What a broker answers: whole batches from the one that holds the offset, the last perhaps cut off."""
        limit = self.last_stable_offset if committed else self.end_offset
        found = [batch for batch in self.batches if batch[1] >= offset and batch[0] < limit]
        data = b"".join(batch[2] for batch in found)
        first_bytes = len(found[0][2]) if found else 0
        data = data[: max(max_bytes, first_bytes)]
        aborted = None
        if committed:
            aborted = [
                AbortedTransaction(first, producer)
                for producer, first, marker in self.aborted
                if marker >= offset and first < limit
            ]
        return CompletedFetch(self.partition, offset, memoryview(data), node_id=node_id, aborted=aborted)
