"""Random logs, cleaned by both maps and compared with a model of compaction that knows nothing of batches."""

import tempfile
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.log.cleaner import offset_map
from ottla.log.cleaner.plan import cleanable_offsets, log_to_clean
from ottla.log.cleaner.task import CleanedGroup, CleaningDone, CleanTask
from ottla.log.cleaner.worker import clean_segments, remove_cleaned_files
from ottla.records.record import Record
from ottla.runtime.inline import run
from tests.log.cleaner.cleaner_logs import PARTITION, CleanerBench

DAY_MS = 24 * 60 * 60 * 1000

keys = st.sampled_from([b"a", b"b", b"c", b"dd", b"a longer key than eight bytes"])
values = st.none() | st.binary(max_size=30)
records = st.lists(st.tuples(keys, values), min_size=1, max_size=5)
codecs = st.integers(0, 4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), records, codecs),
        st.tuples(st.just("idempotent"), st.sampled_from([11, 12]), records, codecs),
        st.tuples(st.just("transactional"), st.sampled_from([1, 2, 3]), records, codecs),
        st.tuples(st.just("end"), st.sampled_from([1, 2, 3]), st.booleans()),
        st.tuples(st.just("roll")),
        st.tuples(st.just("clean"), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from([1, DAY_MS // 2, 2 * DAY_MS])),
    ),
    max_size=40,
)


@dataclass
class Model:
    """Every record ever appended, and what became of its transaction."""

    records: list[Record] = field(default_factory=list)
    open: dict[int, list[int]] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)

    def check(self, found: list[Record], clean_to: int) -> None:
        """Of what lies below ``clean_to`` the latest committed value of each key is there, above it everything."""
        appended = {record.offset: record for record in self.records}
        assert [record.offset for record in found] == sorted({record.offset for record in found})
        for record in found:
            original = appended[record.offset]
            assert record[:5] == original[:5]
        kept = {record.offset for record in found}
        assert {record.offset for record in self.records if record.offset >= clean_to} <= kept
        latest: dict[bytes | None, Record] = {}
        for record in self.records:
            if record.offset < clean_to and record.offset not in self.aborted:
                latest[record.key] = record
        expected = {record.offset for record in latest.values()}
        tombstones = {record.offset for record in latest.values() if record.value is None}
        below = {offset for offset in kept if offset < clean_to}
        assert below <= expected, "an old or aborted record survived"
        assert expected - tombstones <= below, "a latest value was lost"


class Driver:
    """Runs steps on a log and on the model."""

    def __init__(self, directory: str) -> None:
        self.bench = CleanerBench(directory, {"segment.bytes": str(1 << 20), "delete.retention.ms": str(DAY_MS)})
        self.model = Model()
        self.clean_to = 0
        self._appended: list[Record] = []

    def do(self, step: tuple[object, ...]) -> None:
        getattr(self, str(step[0]))(*step[1:])

    def plain(self, batch: list[tuple[bytes, bytes | None]], codec: int) -> None:
        self._append(batch, codec, -1, transactional=False)

    def idempotent(self, producer_id: int, batch: list[tuple[bytes, bytes | None]], codec: int) -> None:
        self._append(batch, codec, producer_id, transactional=False)

    def transactional(self, producer_id: int, batch: list[tuple[bytes, bytes | None]], codec: int) -> None:
        offsets = self._append(batch, codec, producer_id, transactional=True)
        self.model.open.setdefault(producer_id, []).extend(offsets)

    def end(self, producer_id: int, commit: bool) -> None:
        if producer_id in self.model.open:
            self.bench.end_transaction(producer_id, commit=commit)
            offsets = self.model.open.pop(producer_id)
            if not commit:
                self.model.aborted |= set(offsets)

    def roll(self) -> None:
        self.bench.roll()

    def wait(self, duration_ms: int) -> None:
        self.bench.clock.advance_ms(duration_ms)

    def clean(self, slots: int) -> None:
        """With few slots the map fills up, and several runs are needed."""
        task = clean_task(self.bench)
        if task is None:
            return
        assert_both_maps_clean_alike(task)
        assert_both_maps_clean_alike(replace(task, offset_map_bytes=1 << 20, load_factor=slots / 2000))
        if run(self.bench.cleaner.clean_filthiest()) is not None:
            self.clean_to = self.bench.cleaner.cleaner_checkpoints()[PARTITION]
        self.model.check(self.bench.records(), self.clean_to)

    def _append(
        self, batch: list[tuple[bytes, bytes | None]], codec: int, producer_id: int, *, transactional: bool
    ) -> list[int]:
        first_offset = self.bench.log.log_end_offset
        timestamp = self.bench.clock.now_ms()
        self.bench.append(batch, codec=codec, producer_id=producer_id, transactional=transactional, timestamp=timestamp)
        added = [Record(first_offset + i, timestamp + i, key, value) for i, (key, value) in enumerate(batch)]
        self.model.records += added
        return [record.offset for record in added]


def clean_task(bench: CleanerBench) -> CleanTask | None:
    """What the cleaner would have cleaned now."""
    log = bench.log
    offsets = cleanable_offsets(log, bench.cleaner.cleaner_checkpoints().get(PARTITION), bench.clock.now_ms())
    to_clean = log_to_clean(log, offsets, need_compaction_now=False)
    if not to_clean.cleanable_bytes:
        return None
    return bench.cleaner.task(log, to_clean)


def assert_both_maps_clean_alike(task: CleanTask) -> None:
    """All files that they write, and how far they come, are the same."""
    outcomes = []
    for compiled in (False, True):
        written: list[object] = []
        # The plain map has fewer slots in the same memory; here both get the same number of keys.
        scale = 192 / 24 if compiled else 1
        for report in clean_segments(replace(task, compiled=compiled, load_factor=task.load_factor / scale)):
            if isinstance(report, CleanedGroup):
                base_offset = report.base_offsets[0]
                prefix = f"{task.directory}/{base_offset:020d}"
                for suffix in (".log", ".index", ".timeindex", ".txnindex"):
                    path = f"{prefix}{suffix}.cleaned"
                    written.append(task.files.read(path) if task.files.exists(path) else None)
                remove_cleaned_files(task.files, task.directory, base_offset)
            elif isinstance(report, CleaningDone):
                stats = report.stats
                written.append((report.end_offset, stats.messages_read, stats.messages_written, stats.bytes_written))
        outcomes.append(written)
    assert outcomes[0] == outcomes[1]


@settings(deadline=None, max_examples=60)
@given(steps, st.sampled_from([1, 2, offset_map.SLICE_RECORDS_MAX]))
def test_cleaning_keeps_what_compaction_promises(script: list[tuple[object, ...]], slice_records_max: int) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_map, "SLICE_RECORDS_MAX", slice_records_max)
        driver = Driver(directory)
        for step in script:
            driver.do(step)
        driver.roll()
        driver.clean(3)
        driver.bench.log.local.close()
        driver.bench.log = driver.bench.load()
        driver.model.check(driver.bench.records(), driver.clean_to)
        driver.bench.log.local.close()
