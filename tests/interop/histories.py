"""Random lives of a partition, as scripts: everything that producers, leaders and operators do to a log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import Header, SimpleRecord
from tests.interop.log_script import Command

START_MS = 1_700_000_000_000
ALL_CODECS = tuple(Compression)
_TRANSACTION_VERSION = 1
_VALUE_BYTES = (0, 1, 10, 100, 1000, 6000)


@dataclass(slots=True)
class _Producer:
    id: int
    transactional: bool
    epoch: int = 0
    sequence: int = 0
    in_transaction: bool = False
    last_batch: bytes | None = None


@dataclass(slots=True)
class History:
    """Writes a script; it knows where the log ends as long as every append succeeds, which they all should."""

    rng: Random
    codecs: Sequence[Compression] = ALL_CODECS
    keys: int | None = None
    """How many keys there are; None lets records do without."""
    commands: list[Command] = field(default_factory=list)
    now_ms: int = START_MS
    leader_epoch: int = 0
    log_start_offset: int = 0
    end_offset: int = 0
    batch_ends: list[int] = field(default_factory=lambda: [0])
    configs: dict[str, str] = field(default_factory=dict)
    producers_seen: int = 0
    producers: list[_Producer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.add("now", self.now_ms)
        self.add("open", self.configs, True, 0, 0)

    def add(self, *command: object) -> None:
        """Write a command."""
        self.commands.append(command)

    def live(self, steps: int, also: Sequence[Callable[[], None]] = ()) -> None:
        """Let so much happen, mostly appends; ``also`` is what may happen besides."""
        usual = (self.append,) * 8 + (self.append_by_producer,) * 8 + (self.end_transaction,) * 3
        for _ in range(steps):
            self.rng.choice((*usual, self.pass_time, self.elect_leader, self.repeat, *also))()
            self.add("high_watermark", self.end_offset)
            if self.log_start_offset == 0:
                # Where a transaction began before the log's start, Apache takes the next batch's base for stable.
                self.add("stable")

    def append(self) -> None:
        """A batch of a producer without an id."""
        batch, count = self._batch()
        self._append(AppendOrigin.CLIENT, batch, count)

    def append_by_producer(self) -> None:
        """A batch of an idempotent or transactional producer."""
        if len(self.producers) < 2 or self.rng.random() < 0.1:
            self.producers_seen += 1
            self.producers.append(_Producer(1000 + self.producers_seen, self.rng.random() < 0.7))
        producer = self.rng.choice(self.producers)
        if self.rng.random() < 0.05 and not producer.in_transaction:
            producer.epoch += 1
            producer.sequence = 0
        batch, count = self._batch(producer)
        producer.sequence += count
        producer.in_transaction = producer.transactional
        self._append(AppendOrigin.CLIENT, batch, count)
        producer.last_batch = batch

    def end_transaction(self) -> None:
        """A commit or abort marker, if a transaction is open."""
        for producer in self.producers:
            if producer.in_transaction:
                kind = self.rng.choice((ControlRecordType.COMMIT, ControlRecordType.ABORT))
                batch = end_transaction_batch(
                    EndTransactionMarker(kind, self.leader_epoch),
                    timestamp=self._timestamp(),
                    producer_id=producer.id,
                    producer_epoch=producer.epoch,
                )
                producer.in_transaction = False
                producer.last_batch = None
                self._append(AppendOrigin.COORDINATOR, bytes(batch), 1)
                return

    def repeat(self) -> None:
        """A producer sends its last batch again."""
        batches = [producer.last_batch for producer in self.producers if producer.last_batch is not None]
        if batches:
            self._append(AppendOrigin.CLIENT, self.rng.choice(batches), 0)

    def follow(self) -> None:
        """Some batches that a leader has, in one append."""
        batches = []
        for _ in range(self.rng.randint(1, 4)):
            batch, count = self._batch(base_offset=self.end_offset, leader_epoch=self.leader_epoch)
            batches.append(batch)
            self._reach(count)
        self.add("follow", self.leader_epoch, b"".join(batches))

    def elect_leader(self) -> None:
        """Another leader epoch, which begins where the log ends."""
        self.leader_epoch += self.rng.randint(1, 3)
        self.add("elect", self.leader_epoch)

    def pass_time(self) -> None:
        """Some time passes."""
        self.now_ms += self.rng.choice((1, 100, 10_000))
        self.add("now", self.now_ms)

    def truncate(self) -> None:
        """A follower drops the end of its log; a batch that holds the offset goes whole, and leaves a gap."""
        self._end_at(self.rng.randint(self.end_offset * 2 // 3, self.end_offset))
        self.add("truncate", self.end_offset)

    def truncate_to_batch(self) -> None:
        """A follower drops the end of its log to where another leader's epoch ended, which is the end of a batch."""
        self._end_at(self.rng.choice(self.batch_ends[-10:]))
        self.add("truncate", self.end_offset)

    def truncate_fully(self) -> None:
        """A follower that is far behind begins anew."""
        self._end_at(self.end_offset + 100)
        self.add("truncate_fully", self.end_offset)

    def delete_records(self) -> None:
        """Somebody gives up the oldest records, and their segments go."""
        self.log_start_offset = self.rng.randint(self.log_start_offset, self.end_offset)
        self.add("high_watermark", self.end_offset)
        self.add("log_start", self.log_start_offset)
        self.add("retention")

    def restart(self, *, clean: bool) -> None:
        """Stop as said and start again."""
        self.add("close" if clean else "abandon")
        self.add("open", self.configs, clean, self.log_start_offset, 0)

    def _end_at(self, offset: int) -> None:
        """What producers did behind it is open, so they are not heard of again."""
        self.end_offset = offset
        self.batch_ends = [0, *(end for end in self.batch_ends if 0 < end <= offset)]
        self.log_start_offset = min(self.log_start_offset, offset)
        self.producers.clear()

    def _append(self, origin: AppendOrigin, batch: bytes, count: int) -> None:
        self.add("append", origin, self.leader_epoch, _TRANSACTION_VERSION, batch)
        self._reach(count)

    def _reach(self, count: int) -> None:
        self.end_offset += count
        self.batch_ends.append(self.end_offset)

    def _batch(
        self, producer: _Producer | None = None, base_offset: int = 0, leader_epoch: int = -1
    ) -> tuple[bytes, int]:
        count = self.rng.choice((1, 1, 2, 5, 20))
        batch = build_batch(
            [self._record() for _ in range(count)],
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            compression=self.rng.choice(self.codecs),
            producer_id=-1 if producer is None else producer.id,
            producer_epoch=-1 if producer is None else producer.epoch,
            base_sequence=-1 if producer is None else producer.sequence,
            transactional=producer is not None and producer.transactional,
        )
        return bytes(batch), count

    def _record(self) -> SimpleRecord:
        rng = self.rng
        if self.keys is not None:
            key: bytes | None = b"key-%d" % rng.randrange(self.keys)
        else:
            key = rng.choice((None, b"", rng.randbytes(5)))
        value = (
            None
            if rng.random() < 0.15
            else rng.choice((b"abcdefgh", rng.randbytes(8))) * (rng.choice(_VALUE_BYTES) // 8)
        )
        headers = (Header("h\u00e9", b"\x00\xff"), Header("none", None)) if rng.random() < 0.1 else ()
        return SimpleRecord(self._timestamp(), key, value, headers)

    def _timestamp(self) -> int:
        return self.now_ms - self.rng.choice((0, 0, 1, 5, 3000))
