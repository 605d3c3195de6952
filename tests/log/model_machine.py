"""A log and its model, side by side: what the rules of the model test are made of."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.records.builder import SimpleRecord, build_batch
from ottla.runtime.inline import ManualClock, run
from tests.log.log_model import LogModel, ModelBatch, as_model, fetch_all, fetch_committed, holes_of, without
from tests.log.partition_disk import DATA_DIRECTORY, DIRECTORY, NOW_MS, new_context, split_batches
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss

CLEANER_CHECKPOINT = f"{DATA_DIRECTORY}/cleaner-offset-checkpoint"
BROKER = BrokerLogConfig(log_cleaner_dedupe_buffer_size=1 << 16)
MANY_BYTES = 1 << 20

keys = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
values = st.sampled_from([b"x", b"a longer value", None])
delays_ms = st.integers(-50, 50)


class ModelMachine(RuleBasedStateMachine):
    """``self.model`` is what ``self.log`` must be; compared after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(NOW_MS)
        self.files = CrashFiles(self.clock)
        self.files.make_dir(DATA_DIRECTORY)
        self.files.sync_all()
        self.epoch = 0
        self.model = LogModel()
        self.recovery_point = 0
        self.log_start_offset = 0
        """The two checkpoints of the data directory, as last written."""
        self.cleaned_end = 0
        self.highest_start = 0
        """Epochs below it are forgotten durably, though a crash may bring the records back."""
        self.log: Log

    @initialize(compact=st.booleans(), preallocate=st.booleans())
    def begin(self, compact: bool, preallocate: bool) -> None:
        self.config = LogConfig(
            segment_bytes=700,
            index_interval_bytes=150,
            cleanup_policy=frozenset(("compact",) if compact else ("delete",)),
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=1 << 40,
            preallocate=preallocate,
            retention_ms=-1,
        )
        self.open_log(clean_shutdown=False)

    def new_batch(
        self,
        data: st.DataObject,
        count: int,
        codec: int,
        producer_id: int = -1,
        *,
        transactional: bool = False,
        base_offset: int = 0,
        leader_epoch: int = -1,
    ) -> bytearray:
        self.clock.advance_ms(1)
        records = [
            SimpleRecord(self.clock.now_ms() + data.draw(delays_ms), data.draw(keys), data.draw(values))
            for _ in range(count)
        ]
        return build_batch(
            records,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            compression=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=self.next_sequence(producer_id) if producer_id >= 0 else -1,
            transactional=transactional,
        )

    def remembered_batch(self, producer_id: int, back: int = 0) -> ModelBatch | None:
        """A producer's last batch, or one ``back`` from it, if the log must know it, whatever happened: records are
        left of it and of those after it.
        """
        recent = self.model.batches_of(producer_id)[-1 - back :]
        if len(recent) <= back or recent[0].base_offset < self.log.log_start_offset:
            return None
        return recent[0] if all(batch.records for batch in recent) else None

    def next_sequence(self, producer_id: int) -> int:
        """What the producer must send; when its batches are gone, what the log still knows decides.

        Compaction keeps the last sequence of each producer, but after a crash that may be the last but one.
        """
        last = self.remembered_batch(producer_id)
        if last is not None:
            return last.last_sequence + 1
        entry = self.log.producer_state.last_entry(producer_id)
        return entry.last_sequence + 1 if entry is not None else 0

    def append_batch(self, batch: bytearray, *, replicated: bool) -> None:
        base_offset = self.log.log_end_offset
        info = self.log.append_as_leader(batch, self.epoch)
        assert info.first_offset == base_offset
        self.take_over(base_offset)
        self.replicate(replicated)

    def take_over(self, base_offset: int) -> None:
        """Put what was just written into the model, from the bytes in the log, which reads check many times again."""
        for data in split_batches(self.log.read(base_offset, MANY_BYTES).read()):
            self.model.append(as_model(data))

    def replicate(self, replicated: bool) -> None:
        if replicated:
            self.model.high_watermark = self.model.log_end_offset
            self.log.update_high_watermark(self.log.log_end_offset)

    def expected_retention(self, retention_bytes: int, retention_ms: int) -> int:
        """Where the log starts after retention, segment by segment from the oldest."""
        model = self.model
        bounds = [*self.log.segments.base_offsets, model.log_end_offset]
        segments = [
            (base, end, [batch for batch in model.batches if base <= batch.base_offset < end])
            for base, end in pairwise(bounds)
        ]
        total = sum(batch.size for _, _, batches in segments for batch in batches)
        start = model.log_start_offset
        for number, (_, end, batches) in enumerate(segments):
            size = sum(batch.size for batch in batches)
            latest_ms = max((record.timestamp for batch in batches for record in batch.records), default=-1)
            is_last = number == len(segments) - 1
            below_start = not is_last and end <= start
            too_large = self.config.delete and retention_bytes >= 0 and total - size >= retention_bytes
            too_old = self.config.delete and 0 <= retention_ms < self.clock.now_ms() - latest_ms and latest_ms >= 0
            if end > model.high_watermark or not (below_start or too_large or too_old) or (is_last and not batches):
                break
            total -= size
            # A log that has lost everything begins where its last batch ended.
            start = max(start, model.end_of_batches if is_last else end)
        return start

    def clean_log(self) -> None:
        """Clean all that can be cleaned, from the start of the log on."""
        if self.files.exists(CLEANER_CHECKPOINT):
            self.files.remove(CLEANER_CHECKPOINT)
        cleaner = LogCleaner(self.log.context.runtime, BROKER, {self.log.topic_partition: self.log}, [DATA_DIRECTORY])
        run(cleaner.clean_filthiest())

    def cleanable_end(self) -> int:
        """Whole segments before the active one, decided, replicated and flushed."""
        limit = min(self.model.last_stable_offset, self.log.recovery_point)
        stable = [base for base in self.log.segments.base_offsets if base <= limit]
        self.cleaned_end = max([self.cleaned_end, *stable])
        return stable[-1] if stable else 0

    def interrupt(self, operation: Callable[[], None], changes: int) -> None:
        """Let the power fail after some changes of the disk; if the operation needs fewer, it fails after them."""
        self.files.power_off_after(changes)
        try:
            operation()
        except PowerLoss:
            note("the power failed")

    def crash_and_recover(self, seed: int, policy: CrashPolicy, timelines: list[LogModel]) -> None:
        """Lose power and start again: what is left is a prefix of what was there, with all that was flushed."""
        flushed = self.log.recovery_point
        self.files.crash(Random(seed), policy=policy)
        self.open_log(clean_shutdown=False)
        log = self.log
        assert self.log_start_offset <= log.log_start_offset <= max(self.model.log_start_offset, self.log_start_offset)
        found = fetch_all(log, MANY_BYTES)
        holes = holes_of(log) if self.config.compact else []
        whole, least = (without(holes, log, timeline, timelines[-1]) for timeline in (timelines[0], timelines[-1]))
        assert set(least.records()) <= set(found), f"{log} holds {found}, and lacks some of {least.records()}"
        assert found == [record for record in whole.records() if record in set(found)], f"{log} holds {found}"
        assert log.log_end_offset == max(log.log_start_offset, whole.end_of_batches, log.segments.active.base_offset)
        offsets = {record.offset for record in found} | {*range(log.log_start_offset)}
        model = replace(
            whole,
            batches=[
                replace(
                    b, records=tuple(r for r in b.records if r.offset in offsets or r.offset < log.log_start_offset)
                )
                for b in whole.batches
            ],
        )
        lost = [
            record
            for record in timelines[-1].records()
            if log.log_start_offset <= record.offset < flushed and record.offset not in offsets
        ]
        assert not lost, f"{lost} had been flushed, up to {flushed}"
        self.model = model
        self.recovery_point = min(self.recovery_point, log.log_end_offset)
        self.epoch += 1
        self.forget_transactions()
        self.replicate(True)

    def forget_transactions(self) -> None:
        """A start knows an open transaction by the batches that are left of it: retention may have taken the first
        ones, and so may compaction, when a crash took the marker that had decided it.
        """
        self.model.forgotten = {}
        for producer_id, txn in self.model.open_transactions().items():
            mine = [
                batch
                for batch in self.model.batches
                if batch.producer_id == producer_id and batch.transactional and batch.base_offset >= txn.first_offset
            ]
            left = [b for b in mine if b.records and b.last_offset >= self.log.log_start_offset]
            entry = self.log.producer_state.last_entry(producer_id)
            known = entry.current_txn_first_offset if entry is not None else None
            assert not left or (known is not None and known <= left[0].base_offset), f"{txn} is not known to be open"
            if left != mine:
                self.model.forgotten[producer_id] = self.model.log_end_offset if known is None else known

    def open_log(self, *, clean_shutdown: bool) -> None:
        self.log = load_log(
            new_context(self.files, self.clock),
            DIRECTORY,
            self.config,
            log_start_offset=self.log_start_offset,
            recovery_point=self.recovery_point,
            clean_shutdown=clean_shutdown,
        )

    @invariant()
    def offsets_agree(self) -> None:
        log, model = self.log, self.model
        assert log.log_start_offset == model.log_start_offset
        assert log.log_end_offset == model.log_end_offset
        assert log.high_watermark == model.high_watermark
        assert log.last_stable_offset == model.last_stable_offset
        self.highest_start = max(self.highest_start, model.log_start_offset)
        for batch in model.batches:
            if batch.base_offset >= self.highest_start:
                assert log.leader_epochs.epoch_for_offset(batch.base_offset) == batch.epoch

    @invariant()
    def everything_is_read_back(self) -> None:
        assert fetch_all(self.log, MANY_BYTES) == self.model.records()
        assert fetch_all(self.log, 1) == self.model.records()
        assert fetch_committed(self.log, MANY_BYTES) == self.model.committed()
        assert fetch_committed(self.log, 1) == self.model.committed()
