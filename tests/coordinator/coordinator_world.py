"""A coordinator small enough to see through: a table of strings on a log whose high watermark the test moves."""

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.loader import Loader
from ottla.coordinator.ports import Acknowledge, Appended
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.coordinator.timers import Timers
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metrics.registry import Registry
from ottla.protocol.message import STRING, Message, field
from ottla.records.batch import RecordBatch, patch_offset_and_epoch
from ottla.runtime.completion import Completion

PARTITION = TopicPartition("__table", 0)


class EntryKey(Message, api_key=7, versions="0", flexible="none"):
    name: str = field(STRING, "0", default="")


class EntryValue(Message, versions="0-1", flexible="1+"):
    text: str = field(STRING, "0+", default="")


SERDE = RecordSerde({7: (EntryKey, EntryValue)})


def entry(name: str, text: str | None) -> CoordinatorRecord:
    return CoordinatorRecord(EntryKey(name=name), None if text is None else EntryValue(text=text), 1)


class TableShard:
    """Entries by name; those of a transaction count when it is committed."""

    def __init__(self, leader_epoch: int, timers: Timers) -> None:
        self.leader_epoch = leader_epoch
        self.timers = timers
        self.entries: dict[str, str] = {}
        self.offsets: list[int] = []
        self.pending: dict[int, dict[str, str | None]] = {}
        self.is_loaded = self.is_unloaded = False
        self.images: list[MetadataImage] = []

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        assert isinstance(record.key, EntryKey)
        assert record.value is None or isinstance(record.value, EntryValue)
        self.offsets.append(offset)
        text = None if record.value is None else record.value.text
        if producer_id != -1:
            self.pending.setdefault(producer_id, {})[record.key.name] = text
        else:
            self._set(record.key.name, text)

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        for name, text in self.pending.pop(producer_id, {}).items():
            if committed:
                self._set(name, text)

    def _set(self, name: str, text: str | None) -> None:
        if text is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = text

    def on_loaded(self, image: MetadataImage, now_ms: int) -> None:
        self.is_loaded = True
        self.images.append(image)

    def on_unloaded(self) -> None:
        self.is_unloaded = True

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage, now_ms: int) -> None:
        self.images.append(image)

    def put(self, name: str, text: str | None, now_ms: int) -> CoordinatorResult[str | None]:
        """Answers with what was there before."""
        return CoordinatorResult([entry(name, text)], self.entries.get(name))


class Partition:
    """A leader's log in memory; ``autocommit`` moves the high watermark with every append, as a leader alone does."""

    def __init__(self, *, autocommit: bool = True) -> None:
        self.autocommit = autocommit
        self.batches: list[bytes] = []
        self.end_offset = 0
        self.start_offset = 0
        self.high_watermark = 0
        self.refusal: KafkaError | None = None
        self.is_leader = True
        self.max_bytes = 1_000_000
        self.reads = 0
        self.waiting: list[tuple[int, Acknowledge]] = []

    def append(
        self,
        topic_partition: TopicPartition,
        batch: bytearray,
        acknowledge: Acknowledge,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = -1,
    ) -> Appended:
        if self.refusal is not None:
            raise self.refusal
        if len(batch) > self.max_bytes:
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE)
        base_offset = self.end_offset
        patch_offset_and_epoch(batch, 0, base_offset, 0)
        self.batches.append(bytes(batch))
        self.end_offset = RecordBatch(batch).next_offset
        if self.autocommit:
            self.high_watermark = self.end_offset
            return Appended(base_offset, is_committed=True)
        self.waiting.append((self.end_offset, acknowledge))
        return Appended(base_offset, is_committed=False)

    def await_committed(self, topic_partition: TopicPartition, end_offset: int, acknowledge: Acknowledge) -> bool:
        if self.autocommit or self.high_watermark >= end_offset:
            return True
        self.waiting.append((end_offset, acknowledge))
        return False

    def max_batch_bytes(self, topic_partition: TopicPartition) -> int:
        return self.max_bytes

    def bounds(self, topic_partition: TopicPartition) -> tuple[int, int]:
        if not self.is_leader:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.start_offset, self.end_offset

    async def read(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        self.reads += 1
        found = b""
        for batch in self.batches:
            if RecordBatch(batch).next_offset > offset and (not found or len(found) + len(batch) <= max_bytes):
                found += batch
        return found

    def commit(self, offset: int) -> None:
        """The high watermark moves."""
        self.high_watermark = max(self.high_watermark, min(offset, self.end_offset))
        due = [acknowledge for end, acknowledge in self.waiting if end <= self.high_watermark]
        self.waiting = [one for one in self.waiting if one[0] > self.high_watermark]
        for acknowledge in due:
            acknowledge(None)

    def give_up(self, error: KafkaError) -> None:
        """What waits is told that nobody knows."""
        waiting, self.waiting = self.waiting, []
        for _, acknowledge in waiting:
            acknowledge(error)


class World:
    """A runtime over one partition, with a monotonic clock that the test moves and a wall clock that it steps."""

    def __init__(self, *, autocommit: bool = True, buffer_bytes: int = 1 << 20) -> None:
        self.partition = Partition(autocommit=autocommit)
        self.time_ms = 1_000_000
        self.wall_ahead_ms = 0
        self.registry = Registry()
        self.deadlines: list[int] = []
        self.pauses = 0
        self.on_pause: Callable[[], None] = lambda: None
        self.microseconds = itertools.count(0, 100)
        self.metrics = CoordinatorRuntimeMetrics(
            self.registry, "table-coordinator-metrics", lambda: 1_000 * next(self.microseconds)
        )
        self.runtime: CoordinatorRuntime[TableShard] = CoordinatorRuntime(
            lambda _topic_partition, leader_epoch, timers: TableShard(leader_epoch, timers),
            Loader(
                self.partition,
                SERDE,
                buffer_bytes=buffer_bytes,
                now_us=lambda: next(self.microseconds),
                pause=self._pause,
            ),
            writer=self.partition,
            batches=BatchBuilder(base_sequence=0),
            clock=self,
            metrics=self.metrics,
            on_loading=lambda: None,
            on_earlier_deadline=self.deadlines.append,
        )

    def now_ms(self) -> int:
        return self.time_ms + self.wall_ahead_ms

    def monotonic_ms(self) -> int:
        return self.time_ms

    async def _pause(self) -> None:
        self.pauses += 1
        self.on_pause()

    def load(self, leader_epoch: int = 1) -> TableShard:
        """Load the partition to the end."""
        self.runtime.load(PARTITION, leader_epoch)
        while self.runtime.is_loading:
            run(self.runtime.load_next())
        return self.shard

    @property
    def shard(self) -> TableShard:
        found: list[TableShard] = []
        self.runtime.read(PARTITION, lambda shard, _now_ms: found.append(shard))
        return found[0]

    def put(self, name: str, text: str | None) -> Completion[str | None]:
        return self.runtime.write(PARTITION, lambda shard, now_ms: shard.put(name, text, now_ms))

    def get(self, name: str) -> Completion[str | None]:
        return self.runtime.read(PARTITION, lambda shard, _now_ms: shard.entries.get(name))


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Drive a coroutine that never really waits."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("the coroutine waits for something")
