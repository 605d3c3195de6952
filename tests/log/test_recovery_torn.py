"""The last batch cut at every byte, as a crash in the middle of a write leaves it."""

import pytest

from ottla.log import names
from ottla.records.batch import RecordBatch
from ottla.records.builder import SimpleRecord, build_batch
from tests.log.damage_template import CONFIG, StoredBatch, Template, template
from tests.log.partition_disk import NOW_MS, observe, open_log, read_everything

PLAIN, COMPRESSED, TRANSACTIONAL, MARKER = "plain", "compressed", "transactional", "marker"


def cut_after(made: Template, batch: StoredBatch, size: int) -> dict[str, bytes]:
    """The files with ``size`` bytes of this batch and nothing behind it; later segments never came to be."""
    contents = {
        name: data
        for name, data in made.contents.items()
        if "." not in name
        or name == "partition.metadata"
        or names.offset_from_file_name(name) <= batch.segment_base_offset
    }
    contents[batch.file_name] = contents[batch.file_name][: batch.position + size]
    return contents


def kind_of(batch: RecordBatch) -> str:
    if batch.is_control:
        return MARKER
    if batch.is_transactional:
        return TRANSACTIONAL
    return COMPRESSED if batch.compression else PLAIN


def last_of_kind(made: Template, kind: str, codec: int | None = None) -> StoredBatch:
    return [
        batch
        for batch in made.batches
        if kind_of(batch.view) == kind and (codec is None or batch.view.compression == codec)
    ][-1]


@pytest.mark.parametrize(
    ("kind", "codec"),
    [(PLAIN, 0), *((COMPRESSED, codec) for codec in (1, 2, 3)), (TRANSACTIONAL, 0), (TRANSACTIONAL, 4), (MARKER, 0)],
)
def test_last_batch_cut_at_every_byte(kind: str, codec: int) -> None:
    made = template()
    batch = last_of_kind(made, kind, codec)
    whole = made.recovered.batches[: batch.number]
    undamaged = observe(open_log(cut_after(made, batch, 0), CONFIG))
    assert undamaged.batches == whole
    for size in range(len(batch.data)):
        log = open_log(cut_after(made, batch, size), CONFIG)
        observed = observe(log)
        assert observed == undamaged, f"cut after {size} bytes"
        assert observed.log_end_offset == batch.view.base_offset
        # Appends go on where the sound batches end.
        appended = log.append_as_leader(build_batch([SimpleRecord(NOW_MS, None, b"next")]), 9)
        assert appended.first_offset == batch.view.base_offset
        everything = read_everything(log)
        assert tuple(everything[:-1]) == whole
        assert RecordBatch(everything[-1]).base_offset == batch.view.base_offset


def test_a_whole_last_batch_is_kept() -> None:
    made = template()
    batch = made.batches[-1]
    assert observe(open_log(cut_after(made, batch, len(batch.data)), CONFIG)) == made.recovered


@pytest.mark.parametrize("tail", [b"\0", bytes(11), bytes(12), bytes(61), bytes(4096), b"\xff" * 100])
def test_garbage_behind_the_last_batch_goes(tail: bytes) -> None:
    """Zeros are what a preallocated file or a lost write leaves."""
    made = template()
    name = made.batches[-1].file_name
    log = open_log({**made.contents, name: made.contents[name] + tail}, CONFIG)
    assert observe(log) == made.recovered
    assert log.segments.active.log_file.size() == len(made.contents[name])
