"""The process that gets killed: a log manager that appends, rolls, flushes, retains, truncates and compacts at random.

``python -m tests.chaos.writer DIRECTORY SEED EPOCH STOP_AFTER REPORT_DESCRIPTOR``. It reports line by line, what it is
about to do before it does it and what is promised after: the parent knows at every moment what must be on the disk.
With ``STOP_AFTER`` > 0 it stops in good order after that many turns.
"""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from random import Random
from typing import TypeVar

from ottla.common.topic_partition import TopicPartition
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord
from ottla.runtime.live import AsyncioRuntime
from tests.chaos.slow_files import SlowFiles
from tests.chaos.topics import BOTH, PARTITIONS, PLAIN, SHORT, TOPICS, broker_config

T = TypeVar("T")

IDEMPOTENT, TRANSACTIONAL = range(1, 4), range(100, 104)
CODECS = (Compression.NONE, Compression.NONE, Compression.LZ4, Compression.ZSTD)


class TellingRuntime(AsyncioRuntime):
    """Tells when a worker process starts."""

    on_work: Callable[[], None]

    async def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        self.on_work()
        async with aclosing(super().work(function, *args)) as items:
            async for item in items:
                yield item


class Writer:
    """One life of the process."""

    def __init__(self, directory: str, seed: int, epoch: int, stop_after: int, descriptor: int) -> None:
        self._rng = Random(seed)
        self._epoch = epoch
        self._stop_after = stop_after
        self._descriptor = descriptor
        files = SlowFiles(lambda stage: self.report("stage", name=stage))
        runtime = TellingRuntime(files, rng=Random(seed))
        runtime.on_work = lambda: self.report("stage", name="cleaning")
        self._runtime = runtime
        self.manager = LogManager(runtime, broker_config(directory), topic_overrides=TOPICS.__getitem__)

    def report(self, kind: str, partition: TopicPartition | None = None, **facts: object) -> None:
        """One line to the parent; it is in the pipe before this returns."""
        line = json.dumps({"kind": kind, "topic": partition.topic if partition else None, **facts}).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]

    async def run(self) -> None:
        """Live until killed, or until it is time to stop."""
        self.report("stage", name="starting")
        await self.manager.start()
        for partition in PARTITIONS:
            log = self.manager.get_or_create_log(partition)
            self.report("loaded", partition, start=log.log_start_offset, end=log.log_end_offset)
            log.update_high_watermark(log.log_end_offset)
        cleaner = asyncio.create_task(self.manager.cleaner.run())
        chores = (
            *(self._append,) * 20,
            *(self._flush,) * 3,
            *(self._retain, self._checkpoint, self._delete_records, self._delete_files, self._roll, self._truncate),
        )
        turn = 0
        while turn != self._stop_after or not turn:
            turn += 1
            await self._rng.choice(chores)(self.manager.logs[self._rng.choice(PARTITIONS)])
            await asyncio.sleep(0.001)
        self.report("stage", name="stopping")
        self.manager.cleaner.shutdown()
        await cleaner
        await self.manager.stop()
        self.report("stopped")

    # -- appending ----------------------------------------------------------------------------------------------------

    async def _append(self, log: Log) -> None:
        rng = self._rng
        producer_id = rng.choice((-1, rng.choice(IDEMPOTENT), rng.choice(TRANSACTIONAL)))
        entry = log.producer_state.last_entry(producer_id)
        if entry is not None and entry.current_txn_first_offset is not None and rng.random() < 0.6:
            kind = rng.choice((ControlRecordType.ABORT, ControlRecordType.COMMIT))
            batch = end_transaction_batch(
                EndTransactionMarker(kind, 0),
                timestamp=self._runtime.clock.now_ms(),
                producer_id=producer_id,
                producer_epoch=0,
            )
            self._write(log, batch, AppendOrigin.COORDINATOR)
            return
        batch = build_batch(
            [self._record() for _ in range(rng.randint(1, 6))],
            compression=rng.choice(CODECS),
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=-1 if producer_id < 0 else 0 if entry is None else entry.last_sequence + 1,
            transactional=producer_id in TRANSACTIONAL,
        )
        self._write(log, batch, AppendOrigin.CLIENT)
        if log.flush_due:
            await self._flush(log)

    def _record(self) -> SimpleRecord:
        rng = self._rng
        value = None if rng.random() < 0.05 else rng.randbytes(rng.randint(0, 120))
        return SimpleRecord(self._runtime.clock.now_ms(), b"key %d" % rng.randrange(40), value)

    def _write(self, log: Log, batch: bytearray, origin: AppendOrigin) -> None:
        text = base64.b64encode(batch).decode()
        self.report("append", log.topic_partition, offset=log.log_end_offset, epoch=self._epoch, batch=text)
        info = log.append_as_leader(batch, self._epoch, origin, transaction_version=1)
        log.update_high_watermark(log.log_end_offset)
        self.report("appended", log.topic_partition, end=info.last_offset + 1)

    # -- everything else ----------------------------------------------------------------------------------------------

    async def _flush(self, log: Log) -> None:
        end = log.log_end_offset
        await log.flush()
        self.report("flushed", log.topic_partition, end=end)

    async def _roll(self, log: Log) -> None:
        if log.segments.active.size:
            log.roll()

    async def _retain(self, _: Log) -> None:
        for partition in (SHORT, BOTH):
            self.report("start may move", partition, offset=self.manager.logs[partition].log_end_offset)
        self.manager.clean_up_logs()

    async def _checkpoint(self, _: Log) -> None:
        await self.manager.checkpoint_recovery_points()
        starts = {log.topic_partition: log.log_start_offset for log in self.manager.logs.values()}
        await self.manager.checkpoint_log_start_offsets()
        for partition, start in starts.items():
            self.report("start", partition, offset=start)

    async def _delete_records(self, log: Log) -> None:
        """Of the partition that has no other way to shrink."""
        log = self.manager.logs[PLAIN]
        target = log.log_start_offset + self._rng.randint(0, log.log_end_offset - log.log_start_offset)
        self.report("start may move", PLAIN, offset=target)
        log.maybe_increment_log_start_offset(target, "client delete records deletion")

    async def _delete_files(self, _: Log) -> None:
        self.manager.context.deletions.run_due()

    async def _truncate(self, _: Log) -> None:
        """As a replica that was a leader and wrote too much; whoever leads next has a higher epoch."""
        log = self.manager.logs[PLAIN]
        last_segments = log.segments.values()[-2:]
        ends = [batch.next_offset for segment in last_segments for batch in segment.read_batches()]
        offset = self._rng.choice(ends) if ends else 0
        if offset >= log.log_start_offset:
            self.report("truncate", PLAIN, offset=offset)
            self._epoch += 1
            await self.manager.truncate_to(PLAIN, offset)
            self.report("truncated", PLAIN, offset=offset)


def main() -> None:
    directory, *numbers = sys.argv[1:]
    asyncio.run(Writer(directory, *map(int, numbers)).run())


if __name__ == "__main__":
    main()
