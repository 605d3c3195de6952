"""A log driven at random against a plain list: append, roll, truncate, delete, compact, crash, reopen.

``OTTLA_LONG=1`` runs it for longer, and differently each time.
"""

import os
from dataclasses import replace

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ottla.common.errors import OutOfOrderSequenceError
from ottla.log.offset_lookup import offset_for_timestamp
from ottla.records.batch import patch_offset_and_epoch
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.control import ControlRecordType
from ottla.runtime.inline import run
from tests.log.log_model import ABORT, COMMIT, LogModel, as_model, fetch_committed
from tests.log.model_machine import MANY_BYTES, ModelMachine
from tests.log.partition_disk import append_marker
from tests.sim.crash_files import CrashPolicy

MANY_BATCHES = 12
LONG = os.environ.get("OTTLA_LONG") == "1"

producers = st.integers(1, 3)
counts = st.integers(1, 4)
codecs = st.sampled_from([0, 0, 0, 1, 2, 3, 4])
fetch_bytes = st.sampled_from([1, 150, 400, MANY_BYTES])
seeds = st.integers(0, 1 << 32)
policies = st.sampled_from(
    [CrashPolicy.KEEP_ALL, CrashPolicy.KEEP_ALL, CrashPolicy.RANDOM, CrashPolicy.RANDOM, CrashPolicy.DROP_UNSYNCED]
)
endings = st.sampled_from([COMMIT, ABORT])


class LogMachine(ModelMachine):
    """The rules."""

    @rule(data=st.data(), count=counts, codec=codecs, replicated=st.booleans())
    def append_plain(self, data: st.DataObject, count: int, codec: int, replicated: bool) -> None:
        self.append_batch(self.new_batch(data, count, codec), replicated=replicated)

    @rule(data=st.data(), producer_id=producers, count=counts, replicated=st.booleans())
    def append_idempotent(self, data: st.DataObject, producer_id: int, count: int, replicated: bool) -> None:
        transactional = producer_id in self.model.open_transactions()
        self.append_batch(
            self.new_batch(data, count, 0, producer_id, transactional=transactional), replicated=replicated
        )

    @rule(data=st.data(), producer_id=producers, count=counts, codec=codecs, replicated=st.booleans())
    def append_transactional(
        self, data: st.DataObject, producer_id: int, count: int, codec: int, replicated: bool
    ) -> None:
        self.append_batch(self.new_batch(data, count, codec, producer_id, transactional=True), replicated=replicated)

    @precondition(lambda self: self.model.open_transactions())
    @rule(data=st.data(), kind=endings, replicated=st.booleans())
    def end_transaction(self, data: st.DataObject, kind: ControlRecordType, replicated: bool) -> None:
        producer_id = data.draw(st.sampled_from(sorted(self.model.open_transactions())))
        base_offset = self.log.log_end_offset
        append_marker(self.log, self.epoch, kind, producer_id)
        self.take_over(base_offset)
        self.replicate(replicated)

    @rule(data=st.data(), producer_id=producers, batches=st.integers(1, 5), kind=endings)
    def run_transactions(self, data: st.DataObject, producer_id: int, batches: int, kind: ControlRecordType) -> None:
        """A transaction from its first batch to its marker, with others in between."""
        others = [other for other in (1, 2, 3) if other != producer_id]
        for number in range(batches):
            self.append_transactional(data, producer_id, 1, 0, True)
            if number % 2:
                self.append_transactional(data, data.draw(st.sampled_from(others)), 1, 0, True)
            else:
                self.append_plain(data, 1, 0, True)
        base_offset = self.log.log_end_offset
        append_marker(self.log, self.epoch, kind, producer_id)
        self.take_over(base_offset)
        self.replicate(True)

    @rule(data=st.data(), batches=st.lists(counts, min_size=1, max_size=3), gap=st.integers(0, 3))
    def append_as_follower(self, data: st.DataObject, batches: list[int], gap: int) -> None:
        """Several batches in one go, as a leader's fetch response has them, with holes where it was compacted."""
        base_offset = self.log.log_end_offset
        sent = bytearray()
        offset = base_offset + (gap if self.config.compact else 0)
        for count in batches:
            sent += self.new_batch(data, count, 0, base_offset=offset, leader_epoch=self.epoch)
            offset += count
        self.log.append_as_follower(sent, self.epoch)
        self.take_over(base_offset)
        self.replicate(True)

    @rule(producer_id=producers, back=st.integers(0, 4))
    def retry_recent_batch(self, producer_id: int, back: int) -> None:
        """A repeated batch, one of the last five, gets its first answer and is not written again."""
        last = self.remembered_batch(producer_id, back)
        if last is None:
            return
        first_sequence = last.last_sequence - (last.last_offset - last.base_offset)
        records = [SimpleRecord(self.clock.now_ms(), b"a", b"x")] * (last.last_offset - last.base_offset + 1)
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=first_sequence,
            transactional=last.transactional,
        )
        info = self.log.append_as_leader(batch, self.epoch)
        assert (info.first_offset, info.last_offset) == (last.base_offset, last.last_offset)

    @rule(producer_id=producers)
    def skip_a_sequence(self, producer_id: int) -> None:
        """A batch that does not follow the producer's last one is refused and leaves no trace."""
        last = self.remembered_batch(producer_id)
        if last is None:
            return
        batch = build_batch(
            [SimpleRecord(self.clock.now_ms(), b"a", b"x")],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=last.last_sequence + 2,
            transactional=producer_id in self.model.open_transactions(),
        )
        try:
            self.log.append_as_leader(batch, self.epoch)
        except OutOfOrderSequenceError:
            return
        raise AssertionError("a sequence was skipped")

    @precondition(lambda self: self.log.segments.active.size)
    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(data=st.data())
    def truncate_to(self, data: st.DataObject) -> None:
        """Not into what was cleaned, which is replicated. A truncation is on the disk when it returns, and the next
        leader's epoch is a new one.
        """
        lowest = max(self.model.log_start_offset, self.cleaned_end)
        starts = [batch.base_offset for batch in self.model.batches if batch.base_offset >= lowest]
        # Mostly to one of the last few batches, such as a marker whose transaction then ends otherwise; also into one.
        inside = st.integers(min(lowest, self.model.log_end_offset), self.model.log_end_offset)
        between = st.sampled_from([self.model.log_end_offset, *starts[-3:] * 3, *starts])
        offset = data.draw(between | inside)
        self.replicate(True)
        self.recovery_point = min(self.recovery_point, offset)
        if self.log.truncate_to(offset):
            self.model.truncate_to(offset)
            self.forget_transactions()
        self.epoch += 1

    @precondition(lambda self: len(self.model.batches) > MANY_BATCHES)
    @rule(ahead=st.integers(0, 20))
    def truncate_fully_and_start_at(self, ahead: int) -> None:
        offset = self.model.log_end_offset + ahead
        self.recovery_point = self.log_start_offset = 0
        self.log.truncate_fully_and_start_at(offset)
        self.model = LogModel([], offset, offset, offset)
        self.highest_start = offset
        self.cleaned_end = 0
        self.epoch += 1

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.model.log_start_offset, self.model.high_watermark))
        self.log.maybe_increment_log_start_offset(offset, "a test")
        self.model.log_start_offset = offset

    @rule(data=st.data(), by_size=st.booleans(), by_time=st.booleans())
    def retention(self, data: st.DataObject, by_size: bool, by_time: bool) -> None:
        """The oldest segments go as long as a rule says so; the model says which, from its own batches."""
        retention_bytes = data.draw(st.integers(0, 3000)) if by_size else -1
        retention_ms = data.draw(st.integers(0, 200)) if by_time else -1
        self.clock.advance_ms(data.draw(st.integers(0, 200)))
        expected = self.expected_retention(retention_bytes, retention_ms)
        self.log.update_config(replace(self.config, retention_bytes=retention_bytes, retention_ms=retention_ms))
        self.log.delete_old_segments()
        self.log.update_config(self.config)
        self.model.log_start_offset = expected
        assert self.log.log_start_offset == expected

    @precondition(lambda self: self.config.compact)
    @rule()
    def compact(self) -> None:
        end_offset = self.cleanable_end()
        self.clean_log()
        if end_offset > self.model.log_start_offset:
            self.model = self.model.compacted(end_offset)

    @rule()
    def flush(self) -> None:
        run(self.log.flush())
        assert self.log.recovery_point >= self.model.end_of_batches

    @rule()
    def checkpoint(self) -> None:
        """As the log manager does from time to time."""
        self.log_start_offset = self.model.log_start_offset
        self.recovery_point = self.log.recovery_point

    @rule(duration_ms=st.sampled_from([1, 1000, 61_000]))
    def pass_time(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.log.context.deletions.run_due()

    @rule()
    def close_and_reopen(self) -> None:
        self.log.close()
        self.checkpoint()
        self.open_log(clean_shutdown=True)
        # An end in the middle of a batch that was truncated is forgotten; a segment that began there is not.
        self.model.log_end_offset = max(self.model.end_of_batches, self.log.segments.active.base_offset)
        self.forget_transactions()
        self.replicate(True)

    @rule(data=st.data(), seed=seeds, policy=policies, doing=st.sampled_from(["nothing", "append", "flush", "compact"]))
    def crash(self, data: st.DataObject, seed: int, policy: CrashPolicy, doing: str) -> None:
        """Between two operations, or in the middle of one: at each change of the disk that it makes."""
        timelines = [self.model]
        if doing == "append":
            timelines = [self._crash_during_append(data)]
        elif doing == "flush":
            self.interrupt(lambda: run(self.log.flush()), data.draw(st.integers(0, 12)))
        elif doing == "compact" and self.config.compact:
            # Each group of segments is there as it was or as it became, nothing twice, nothing lost.
            end_offset = self.cleanable_end()
            self.interrupt(self.clean_log, data.draw(st.integers(0, 60)))
            if end_offset > self.model.log_start_offset:
                timelines.append(self.model.compacted(end_offset))
        self.crash_and_recover(seed, policy, timelines)

    def _crash_during_append(self, data: st.DataObject) -> LogModel:
        """The batch is there whole, or not at all."""
        batch = self.new_batch(data, 2, 0)
        after = replace(self.model, batches=list(self.model.batches))
        sent = bytearray(batch)

        def append() -> None:
            self.log.append_as_leader(sent, self.epoch)

        self.interrupt(append, data.draw(st.integers(0, 12)))
        patch_offset_and_epoch(batch, 0, self.model.log_end_offset, self.epoch)
        after.append(as_model(bytes(batch)))
        return after

    @rule(max_bytes=fetch_bytes)
    def read_in_pieces(self, max_bytes: int) -> None:
        """Fetches cut in the middle of a batch, as consumers see them, are read by a reader of whole batches."""
        assert fetch_committed(self.log, max(max_bytes, 1)) == self.model.committed()

    @invariant()
    def timestamps_are_found(self) -> None:
        timestamps = {record.timestamp for record in self.model.records()[::3]}
        for timestamp in sorted({*timestamps, self.clock.now_ms() + 100}):
            expected = self.model.first_at_timestamp(timestamp)
            found = offset_for_timestamp(self.log, timestamp)
            assert (found and found.offset) == (expected and expected.offset)


LogMachine.TestCase.settings = settings(
    max_examples=4000 if LONG else 400,
    stateful_step_count=80 if LONG else 50,
    derandomize=not LONG,
    deadline=None,
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
TestLogModel = LogMachine.TestCase
