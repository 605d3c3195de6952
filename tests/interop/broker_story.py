"""Apache's broker and our log manager take turns on one data directory.

1. Apache's broker writes and stops. 2. Our log manager appends, cleans and stops cleanly. 3. Apache's broker starts,
reads, writes and is killed. 4. Our log manager recovers, appends and ends uncleanly. 5. Apache's broker recovers and
reads.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.log.checkpoints import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint
from ottla.log.clean_shutdown import CleanShutdownFile
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import NO_PRODUCER_ID
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import Header, SimpleRecord
from ottla.runtime.inline import InlineRuntime, run
from ottla.runtime.posix import PosixFiles
from tests.apache import driver
from tests.apache.driver import ConsumedRecord, Operation
from tests.interop.our_consumer import consume
from tests.node import CLUSTER_ID
from tests.oracle import ApacheBroker, Oracle

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SMALL = {"internal.segment.bytes": "20000", "index.interval.bytes": "500"}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "internal.segment.bytes": "10000"}
TOPICS: dict[str, dict[str, str]] = {
    **{f"codec-{codec}": SMALL for codec in CODECS},
    "transactions": SMALL,
    "compacted": {**COMPACT, "delete.retention.ms": "1000"},
    "shortened": {**SMALL, "file.delete.delay.ms": "0"},
    "append-time": {**SMALL, "message.timestamp.type": "LogAppendTime"},
    "ours": SMALL,
    "ours-compacted": COMPACT,
}
INTERNAL = {"cleanup.policy": "compact"}
ISOLATIONS = ("read_uncommitted", "read_committed")
BROKER_CONFIGS = {
    "log.cleaner.backoff.ms": "50",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "200",
    "broker.session.timeout.ms": "1000",  # a killed broker can register again so soon
    "broker.heartbeat.interval.ms": "200",
}
OUR_PRODUCER_ID = 5_000_000
HOUSEKEEPING_BOUND_S = 60
HEADERS = (Header("ours", b"1"), Header("none", None))


@dataclass
class Story:
    """What happened: copies of the data directory after each stop, and what Apache's consumer saw before or after."""

    after_stop: Path
    after_our_stop: Path
    after_kill: Path
    seen_before_stop: dict[tuple[str, str], list[ConsumedRecord]] = field(default_factory=dict)
    seen_after_our_stop: dict[tuple[str, str], list[ConsumedRecord]] = field(default_factory=dict)
    seen_after_our_crash: dict[tuple[str, str], list[ConsumedRecord]] = field(default_factory=dict)
    ours_after_stop: dict[tuple[str, str], list[ConsumedRecord]] = field(default_factory=dict)
    ours_after_crash: dict[tuple[str, str], list[ConsumedRecord]] = field(default_factory=dict)
    our_cleanings: int = 0
    lines_after_our_stop: list[str] = field(default_factory=list)
    lines_after_our_crash: list[str] = field(default_factory=list)


def tell(oracle: Oracle, memory: Path) -> Story:
    """Let it all happen, under ``memory``."""
    told = Story(memory / "after-stop", memory / "after-our-stop", memory / "after-kill")
    with oracle.broker(memory / "broker", BROKER_CONFIGS) as broker:
        broker.drive([*(driver.create_topic(name, configs=configs) for name, configs in TOPICS.items()), *writes("1")])
        await_housekeeping(broker)
        told.seen_before_stop = everything(broker)
        broker.stop()
        shutil.copytree(broker.log_dir, told.after_stop)

        epoch = CleanShutdownFile(PosixFiles(), str(broker.log_dir)).read()
        assert epoch is not None
        manager = our_manager(broker.log_dir)
        run(manager.start())
        append_ours(manager, Random(1))
        told.ours_after_stop = everything_ours(manager)
        while run(manager.cleaner.clean_filthiest()) is not None:
            told.our_cleanings += 1
        run(manager.stop(epoch))
        shutil.copytree(broker.log_dir, told.after_our_stop)

        seen = len(broker.log_lines())
        broker.start()
        told.seen_after_our_stop = everything(broker)
        told.lines_after_our_stop = broker.log_lines()[seen:]
        broker.drive(writes("2"))
        broker.kill()
        shutil.copytree(broker.log_dir, told.after_kill)

        manager = our_manager(broker.log_dir)
        run(manager.start())
        append_ours(manager, Random(2))
        told.ours_after_crash = everything_ours(manager)
        for log in manager.logs.values():
            log.close_handlers()
        manager.directories.close()

        seen = len(broker.log_lines())
        broker.start()
        told.seen_after_our_crash = everything(broker)
        told.lines_after_our_crash = broker.log_lines()[seen:]
        broker.stop()
    return told


def writes(turn: str) -> list[Operation]:
    """All that Apache's clients write in one run of the broker."""
    rng = Random(turn)
    operations: list[Operation] = []

    def fill(producer: str, topic: str, count: int, keys: int) -> None:
        for number in range(count):
            key = rng.choice((None, b"", b"key")) if keys == 0 else b"key-%d" % rng.randrange(keys)
            value = rng.choice((None, b"", rng.randbytes(10), b"abc" * rng.randrange(300)))
            headers = [("h", b"1"), ("", None), ("ключ", b"\xff")] if rng.random() < 0.2 else []
            operations.append(driver.send(producer, topic, value, key=key, headers=headers))
            if number % 7 == 6:
                operations.append(driver.flush(producer))
        operations.append(driver.flush(producer))

    for codec in CODECS:
        operations.append(driver.open_producer(codec, compression=codec, idempotent=codec != "gzip"))
        fill(codec, f"codec-{codec}", 100, 0)
    fill("none", "append-time", 60, 0)
    fill("none", "shortened", 300, 0)
    if turn == "1":
        operations.append(driver.delete_records("shortened", 200))
    fill("lz4", "compacted", 9, 20)  # all overwritten later, but its last sequence must stay
    for number in range(3):
        name = f"t{number}"
        operations.append(driver.open_producer(name, compression=CODECS[number], transactional_id=name))
    for number in range(12):
        operations.append(driver.begin(f"t{number % 3}"))
        fill(f"t{number % 3}", "transactions", 9, 5)
        fill(f"t{number % 3}", "compacted", 9, 20)
        operations.append((driver.abort if number % 4 == 1 else driver.commit)(f"t{number % 3}"))
    fill("none", "compacted", 200, 20)
    fill("zstd", "compacted", 100, 20)
    return operations


def await_housekeeping(broker: ApacheBroker) -> None:
    """Wait until the broker's cleaner has been over what there is to clean, and deleted records are off the disk."""
    active = max(base_offsets(broker, "compacted"))
    checkpoint = OffsetCheckpoint(PosixFiles(), str(broker.log_dir / CLEANER_OFFSET_CHECKPOINT))
    deadline = time.monotonic() + HOUSEKEEPING_BOUND_S
    while (
        checkpoint.read_or_empty().get(TopicPartition("compacted", 0)) != active
        or min(base_offsets(broker, "shortened")) == 0
    ):
        assert time.monotonic() < deadline, "the broker did not clean"
        time.sleep(0.05)


def base_offsets(broker: ApacheBroker, topic: str) -> list[int]:
    """Where the segments of a topic begin."""
    return [int(path.stem) for path in broker.partition_dir(topic).glob("*.log")]


def everything(broker: ApacheBroker) -> dict[tuple[str, str], list[ConsumedRecord]]:
    """All records of all topics, as Apache's consumer gets them at both isolation levels."""
    wanted = [(topic, isolation) for topic in TOPICS for isolation in ISOLATIONS]
    answers = broker.drive([driver.consume(topic, isolation=isolation) for topic, isolation in wanted])
    return dict(zip(wanted, map(driver.consumed, answers), strict=True))


def everything_ours(manager: LogManager) -> dict[tuple[str, str], list[ConsumedRecord]]:
    """The same from our log manager."""
    found = {}
    for topic in TOPICS:
        log = manager.logs[TopicPartition(topic, 0)]
        log.update_high_watermark(log.log_end_offset)
        for isolation in ISOLATIONS:
            found[topic, isolation] = consume(log, isolation)
    return found


def our_manager(log_dir: Path) -> LogManager:
    """A log manager of ours on the broker's data directory, with its topics' configurations."""
    return LogManager(
        InlineRuntime(),
        BrokerLogConfig(
            log_dirs=(str(log_dir),),
            log_cleaner_dedupe_buffer_size=8 << 20,
            transaction_partition_verification_enable=False,
        ),
        topic_overrides=lambda topic: INTERNAL if topic.startswith("__") else TOPICS[topic],
        cluster_id=CLUSTER_ID,
        node_id=1,
    )


@contextmanager
def started(log_dir: Path) -> Iterator[LogManager]:
    """Our log manager, started on a data directory and stopped cleanly at the end."""
    manager = our_manager(log_dir)
    run(manager.start())
    yield manager
    run(manager.stop(7))


def append_ours(manager: LogManager, rng: Random) -> None:
    """Append to all topics with our own log: every codec, producers with and without ids, both ends of transactions."""
    for topic in TOPICS:
        log = manager.logs[TopicPartition(topic, 0)]
        idempotent, transactional = OUR_PRODUCER_ID + log.log_end_offset, 2 * OUR_PRODUCER_ID + log.log_end_offset
        sequences = {idempotent: 0, transactional: 0}
        for number in range(36):
            now_ms = int(time.time() * 1000)
            keys = [b"key-%d" % rng.randrange(20) for _ in range(rng.randint(1, 9))]
            records = [SimpleRecord(now_ms, key, rng.choice((None, rng.randbytes(50))), HEADERS) for key in keys]
            producer_id = (NO_PRODUCER_ID, idempotent, transactional)[number % 3]
            batch = build_batch(
                records,
                compression=list(Compression)[number % 5],
                producer_id=producer_id,
                producer_epoch=-1 if producer_id == NO_PRODUCER_ID else 0,
                base_sequence=sequences.get(producer_id, -1),
                transactional=producer_id == transactional,
            )
            append(log, batch)
            if producer_id in sequences:
                sequences[producer_id] += len(records)
            if producer_id == transactional and number % 2:
                kind = ControlRecordType.ABORT if number % 4 == 1 else ControlRecordType.COMMIT
                marker = EndTransactionMarker(kind, 0)
                batch = end_transaction_batch(marker, timestamp=now_ms, producer_id=producer_id, producer_epoch=0)
                append(log, batch, AppendOrigin.COORDINATOR)


def append(log: Log, batch: bytearray, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
    """Append in the epoch of the last leader."""
    log.append_as_leader(batch, log.leader_epochs.latest_epoch or 0, origin, transaction_version=1)
