"""Random histories of one partition's producers. A step is a tuple of words, as ProducerStateFacts.java reads them.

Producers write, retry, skip, bump their epochs, wrap around and run transactions of either version; coordinators come
and go; the log rolls, reloads, truncates and expires. Many steps are wrong on purpose.
"""

from dataclasses import dataclass, field
from random import Random

from ottla.common.errors import KafkaError
from ottla.log.producer_state import ProducerStateManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import batches
from tests.log.producer_batches import ABORT, COMMIT, SEQUENCES, data_bytes, marker_bytes

EXPIRATION_MS = 5_000
Step = tuple[str, ...]


@dataclass
class _Producer:
    epoch: int = 0
    sequence: int = 0
    sent: list[tuple[int, int, int]] = field(default_factory=list)


class History:
    """Steps that mostly make sense to the partition, whatever it made of those before."""

    def __init__(self, seed: int, producers: int = 4) -> None:
        self._rng = Random(seed)
        self._producers = [_Producer(sequence=self._rng.choice([0, 0, SEQUENCES - 4])) for _ in range(producers)]
        self._offset = 0
        self._start = 0
        self._now = 1_000
        self._coordinator_epoch = 0

    def steps(self, count: int) -> list[Step]:
        rng = self._rng
        kinds = (self._data, self._retry, self._marker, self._replicate, self._odd, self._upkeep)
        return [step for _ in range(count) for step in rng.choices(kinds, (10, 2, 4, 1, 2, 3))[0]()]

    def _append(self, origin: str, version: int, data: bytes, records: int) -> list[Step]:
        self._offset += records
        self._now += self._rng.choice([0, 1, 100, 700])
        return [("append", origin, str(version), data.hex())]

    def _data(self) -> list[Step]:
        number = self._rng.randrange(len(self._producers))
        producer = self._producers[number]
        count = self._rng.choice([1, 1, 2, 5])
        sent = (producer.epoch, producer.sequence, count)
        producer.sent = [*producer.sent, sent][-7:]
        producer.sequence = (producer.sequence + count) % SEQUENCES
        return self._send(number, sent, transactional=self._transactional(number))

    def _transactional(self, number: int) -> bool:
        """Odd producers are transactional, save when they go wrong."""
        return (number % 2 == 1) ^ (self._rng.random() < 0.03)

    def _send(self, number: int, sent: tuple[int, int, int], *, transactional: bool) -> list[Step]:
        epoch, sequence, count = sent
        data = data_bytes(number, epoch, sequence, self._offset, count=count, timestamp=self._now, txn=transactional)
        return self._append(self._rng.choice(["CLIENT", "CLIENT", "CLIENT", "COORDINATOR"]), 0, data, count)

    def _retry(self) -> list[Step]:
        number = self._rng.randrange(len(self._producers))
        sent = self._producers[number].sent
        return self._send(number, self._rng.choice(sent), transactional=number % 2 == 1) if sent else []

    def _marker(self) -> list[Step]:
        rng = self._rng
        number = rng.randrange(1, len(self._producers), 2)
        producer = self._producers[number]
        version = rng.choice([0, 1, 2, 2])
        if version == 2 and rng.random() < 0.9:
            producer.epoch, producer.sequence = producer.epoch + 1, 0
        self._coordinator_epoch += rng.random() < 0.1
        marker = marker_bytes(
            number,
            producer.epoch,
            self._offset,
            kind=rng.choice([ABORT, COMMIT]),
            coordinator_epoch=self._coordinator_epoch - (rng.random() < 0.05),
            timestamp=self._now,
        )
        return self._append("COORDINATOR", version, marker, 1)

    def _replicate(self) -> list[Step]:
        """Several batches of several producers in one append, none of which can be refused."""
        rng = self._rng
        parts, first = [], self._offset
        for _ in range(rng.randrange(1, 6)):
            number = rng.randrange(len(self._producers))
            producer = self._producers[number]
            if number % 2 and rng.random() < 0.4:
                parts.append(marker_bytes(number, producer.epoch, self._offset, timestamp=self._now))
            else:
                parts.append(
                    data_bytes(
                        number,
                        producer.epoch,
                        producer.sequence,
                        self._offset,
                        timestamp=self._now,
                        txn=number % 2 == 1,
                    )
                )
                producer.sequence = (producer.sequence + 1) % SEQUENCES
            self._offset += 1
        count, self._offset = self._offset - first, first
        return self._append("REPLICATION", -1, b"".join(parts), count)

    def _odd(self) -> list[Step]:
        """What goes wrong at the producer: a gap, a bumped epoch, an epoch of the past."""
        producer = self._rng.choice(self._producers)
        match self._rng.randrange(4):
            case 0:
                producer.sequence = (producer.sequence + 1) % SEQUENCES
            case 1 | 2:
                producer.epoch, producer.sequence = producer.epoch + 1, 0
            case 3:
                producer.epoch = max(0, producer.epoch - 1)
        return []

    def _upkeep(self) -> list[Step]:
        rng = self._rng
        match rng.randrange(10):
            case 0 | 1 | 2:
                return [("high_watermark", str(rng.randint(max(0, self._offset - 5), self._offset)))]
            case 3:
                return [("snapshot",)]
            case 4:
                self._now += rng.choice([0, EXPIRATION_MS // 2, EXPIRATION_MS])
                return [("expire", str(self._now))]
            case 5:
                return [("late", str(self._now + rng.choice([0, 1_300_000])))]
            case 6:
                self._start = rng.randint(self._start, self._offset)
                return [("log_start", str(self._start)), ("delete_before", str(self._start))]
            case 7:
                return [
                    ("snapshot",),
                    ("reload", str(self._start), str(rng.randint(self._start, self._offset)), str(self._now)),
                ]
            case 8:
                number = rng.randrange(len(self._producers))
                producer = self._producers[number]
                bump = str(rng.randrange(2))
                return [
                    (
                        "verify",
                        str(number),
                        str(max(0, producer.sequence - rng.randrange(2))),
                        str(producer.epoch),
                        bump,
                    )
                ]
            case _:
                return [("truncate", str(self._offset))] if rng.random() < 0.2 else []


def play(manager: ProducerStateManager, step: Step, now_ms: int = 1 << 60) -> str:
    """Do one step and tell what came of it and the state after it, in the words of the Java program."""
    try:
        outcome = _outcome(manager, step, now_ms)
    except KafkaError as error:
        outcome = f"error {error.code}"
    return f"{outcome} | {state(manager)}"


def _outcome(manager: ProducerStateManager, step: Step, now_ms: int) -> str:
    name, *words = step
    if name == "append":
        return _append(manager, AppendOrigin[words[0]], int(words[1]), bytes.fromhex(words[2]))
    numbers = [int(word) for word in words]
    match name, numbers:
        case "high_watermark", [offset]:
            manager.on_high_watermark_updated(offset)
        case "log_start", [offset]:
            manager.on_log_start_offset_incremented(offset)
        case "expire", [now]:
            manager.remove_expired_producers(now)
        case "snapshot", []:
            path = manager.take_snapshot(sync=False)
            return "none" if path is None else path.rpartition("/")[2]
        case "reload", [start, end, now]:
            manager.truncate_and_reload(start, end, now)
        case "truncate", [offset]:
            manager.truncate_fully_and_start_at(offset)
        case "delete_before", [offset]:
            manager.delete_snapshots_before(offset)
        case "late", [now]:
            return str(manager.has_late_transaction(now)).lower()
        case "verify", [producer_id, sequence, epoch, bump]:
            manager.maybe_create_verification_state_entry(producer_id, sequence, epoch, bump == 1, now_ms)
        case _:
            raise AssertionError(step)
    return "ok"


def _append(manager: ProducerStateManager, origin: AppendOrigin, version: int, data: bytes) -> str:
    found = list(batches(data))
    pending = manager.check(found, origin, transaction_version=version)
    if pending.duplicate is not None:
        return f"duplicate {pending.duplicate.first_offset} {pending.duplicate.last_offset}"
    manager.apply(pending)
    outcome = "ok"
    for txn in pending.completed_txns:
        stable = manager.last_stable_offset(txn)
        outcome += f" {txn.producer_id}:{txn.first_offset}:{txn.last_offset}:{str(txn.is_aborted).lower()}:{stable}"
        manager.complete_txn(txn)
    manager.update_map_end_offset(found[-1].next_offset)
    return outcome


def state(manager: ProducerStateManager) -> str:
    words = []
    for producer_id, entry in sorted(manager.active_producers.items()):
        fields = [entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp]
        fields.append(_or_minus_one(entry.current_txn_first_offset))
        ranges = [
            f"{b.first_sequence}-{b.last_sequence}@{b.first_offset}-{b.last_offset}/{b.timestamp}"
            for b in entry.batches
        ]
        words.append(f"{producer_id}({','.join([*map(str, fields), *ranges])})")
    unstable = manager.first_unstable_offset()
    words.append(f"unstable {-1 if unstable is None else unstable.message_offset}")
    words.append(f"undecided {_or_minus_one(manager.first_undecided_offset())}")
    words.append(f"end {manager.map_end_offset} empty {str(manager.is_empty).lower()}")
    snapshots = map(_or_minus_one, (manager.oldest_snapshot_offset(), manager.latest_snapshot_offset()))
    words.append("snapshots {}..{}".format(*snapshots))
    return " ".join(words)


def _or_minus_one(value: int | None) -> int:
    return -1 if value is None else value
