"""The tables "Index Recovery" and "Corrupted Segment Handling" of seed 000, row by row; see docs/recovery.md."""

import logging
from collections.abc import Callable

import pytest

from ottla.log import names
from ottla.log.loader import load_log
from ottla.log.log import Log
from tests.log.damage_template import CONFIG, StoredBatch, Template, template
from tests.log.partition_disk import DIRECTORY, Contents, contents_of, new_context, observe, open_log
from tests.log.test_recovery_flips import check_reads
from tests.sim.crash_files import CrashFiles

SEALED = 26
"""A segment that is not the last one; CLEAN and FLUSHED starts do not scan its records."""

STARTS = {
    "unclean": {"recovery_point": 0},
    "flushed": {"recovery_point": 77},
    "clean": {"clean_shutdown": True},
}
INDEXES = (names.offset_index_file_name, names.time_index_file_name)


def start(contents: Contents, how: str) -> Log:
    return open_log(contents, CONFIG, **STARTS[how])  # type: ignore[arg-type]


def index_files(log: Log) -> dict[str, bytes]:
    """The index files of the sealed segments: those of the active one may lack entries that are in memory."""
    files = log.context.runtime.files
    assert isinstance(files, CrashFiles)
    active = log.segments.active.base_offset
    return {
        name: data
        for name, data in contents_of(files).items()
        if names.is_index_file(name) and names.offset_from_file_name(name) < active
    }


def expected_index_files() -> dict[str, bytes]:
    made = template()
    return {
        name: data
        for name, data in made.contents.items()
        if names.is_index_file(name) and names.offset_from_file_name(name) < made.base_offsets[-1]
    }


def check_rebuilt(log: Log) -> None:
    made = template()
    assert index_files(log) == expected_index_files()
    assert observe(log).batches == made.recovered.batches
    assert observe(log).producers == made.recovered.producers
    check_reads(made, log)


# -- Index Recovery ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("index", INDEXES)
def test_missing_index_is_rebuilt(how: str, index: Callable[[int], str], caplog: pytest.LogCaptureFixture) -> None:
    made = template()
    contents = {name: data for name, data in made.contents.items() if name != index(SEALED)}
    log = start(contents, how)
    check_rebuilt(log)
    if how != "unclean":
        assert f"{index(SEALED)} is missing. Recovering segment and rebuilding index files." in caplog.text


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("index", INDEXES)
def test_truncated_index_is_rebuilt(how: str, index: Callable[[int], str], caplog: pytest.LogCaptureFixture) -> None:
    """Cut in the middle of an entry: the size is no multiple of an entry's."""
    made = template()
    contents = {**made.contents, index(SEALED): made.contents[index(SEALED)][:-5]}
    log = start(contents, how)
    check_rebuilt(log)
    if how != "unclean":
        assert "Corrupt index found for log file" in caplog.text


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("entry", ["offset", "position", "time"])
def test_corrupted_entries_are_rebuilt(how: str, entry: str, caplog: pytest.LogCaptureFixture) -> None:
    """The last entry, which is what a start looks at; entries before it are checked by whoever uses them."""
    made = template()
    name, at = {
        "offset": (names.offset_index_file_name(SEALED), -8),
        "position": (names.offset_index_file_name(SEALED), -4),
        "time": (names.time_index_file_name(SEALED), -12),
    }[entry]
    data = bytearray(made.contents[name])
    data[at] ^= 0x80
    log = start({**made.contents, name: bytes(data)}, how)
    check_rebuilt(log)
    if how != "unclean":
        assert "Corrupt index found for log file" in caplog.text


@pytest.mark.parametrize("how", STARTS)
def test_index_ahead_of_log_is_rebuilt(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Entries beyond the log's end: the seed truncates such an index, here it is rebuilt, which leaves the same."""
    made = template()
    name = names.offset_index_file_name(SEALED)
    ahead = made.contents[name] + (900).to_bytes(4) + (1 << 20).to_bytes(4)
    log = start({**made.contents, name: ahead}, how)
    check_rebuilt(log)
    if how != "unclean":
        assert "is beyond the log's end" in caplog.text


@pytest.mark.parametrize("how", ["unclean", "clean"])
def test_index_ahead_of_log_in_the_last_segment(how: str) -> None:
    """The log's end is found from the last index entry on: one that lies must not move it."""
    made = template()
    name = names.offset_index_file_name(made.base_offsets[-1])
    for offset, position in ((900, 1 << 20), (900, 97)):
        ahead = made.contents[name] + offset.to_bytes(4) + position.to_bytes(4)
        log = start({**made.contents, name: ahead}, how)
        assert observe(log).batches == made.recovered.batches
        assert log.log_end_offset == made.recovered.log_end_offset
        check_reads(made, log)


@pytest.mark.parametrize("how", STARTS)
def test_transaction_index_is_rebuilt(how: str) -> None:
    made = template()
    name = names.txn_index_file_name(SEALED)
    for damaged in (made.contents[name][:-1], b"\1" + made.contents[name][1:]):
        log = start({**made.contents, name: damaged}, how)
        check_rebuilt(log)
        assert observe(log).aborted == made.recovered.aborted


def test_clean_shutdown_scans_nothing() -> None:
    """A clean stop needs no recovery: of sealed segments no records are read, and of their indexes only the end."""
    made = template()
    files = disk_after_clean_stop(made)
    files.journal.clear()
    log = load(files)
    active = log.segments.active
    preads = {operation.path for operation in files.journal if operation.name == "pread"}
    assert {path for path in preads if path.endswith(".log")} <= {active.log_file.path}
    whole = {operation.path for operation in files.journal if operation.name == "read"}
    assert {path for path in whole if path.endswith((".index", ".timeindex"))} <= {
        active.offset_index.path,
        active.time_index.path,
    }
    assert observe(log).batches == made.recovered.batches


def disk_after_clean_stop(made: Template) -> CrashFiles:
    log = open_log(made.contents, CONFIG)
    log.close()
    files = log.context.runtime.files
    assert isinstance(files, CrashFiles)
    return files


def load(files: CrashFiles) -> Log:
    return load_log(new_context(files), DIRECTORY, CONFIG, clean_shutdown=True)


# -- Corrupted Segment Handling ---------------------------------------------------------------------------------------


def check_cut_at(damaged: StoredBatch, data: bytearray, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    """Everything before the damage stays, everything from it on goes, in this segment and in later ones."""
    made = template()
    log = open_log({**made.contents, damaged.file_name: bytes(data)}, CONFIG)
    observed = observe(log)
    assert observed.batches == made.recovered.batches[: damaged.number]
    assert observed.log_end_offset == damaged.view.base_offset
    assert log.segments.base_offsets == [base for base in made.base_offsets if base <= damaged.segment_base_offset]
    cut_bytes = len(data) - damaged.position
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any(
        line.startswith("Found invalid messages in log segment ")
        and f"at byte offset {damaged.position}: " in line
        and reason in line
        and line.endswith(f"Truncating {cut_bytes} bytes.")
        for line in lines
    ), lines
    assert any(line.startswith(f"Corruption found in segment {damaged.segment_base_offset} ") for line in lines)


def damaged_batch() -> tuple[StoredBatch, bytearray]:
    """A batch in the middle of the second segment, and its file."""
    made = template()
    damaged = made.batches_of(names.log_file_name(SEALED))[5]
    return damaged, bytearray(made.contents[damaged.file_name])


def test_invalid_magic_byte_cuts_the_segment(caplog: pytest.LogCaptureFixture) -> None:
    damaged, data = damaged_batch()
    data[damaged.position + 16] = 7
    check_cut_at(damaged, data, caplog, "magic 7")


def test_crc_mismatch_cuts_at_the_batch(caplog: pytest.LogCaptureFixture) -> None:
    damaged, data = damaged_batch()
    data[damaged.position + 70] ^= 1
    check_cut_at(damaged, data, caplog, "the CRC does not match")


def test_incomplete_record_at_the_end_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    made = template()
    damaged = made.batches[-1]
    data = bytearray(made.contents[damaged.file_name][:-9])
    check_cut_at(damaged, data, caplog, f"{len(damaged.data) - 9} bytes are not a whole batch")


def test_invalid_offset_sequence_cuts_at_the_offset(caplog: pytest.LogCaptureFixture) -> None:
    damaged, data = damaged_batch()
    data[damaged.position + 7] -= 2
    check_cut_at(damaged, data, caplog, "cannot follow offset")


def test_falling_epoch_cuts_at_the_batch(caplog: pytest.LogCaptureFixture) -> None:
    damaged, data = damaged_batch()
    data[damaged.position + 15] = 1
    check_cut_at(damaged, data, caplog, "in epoch 1 cannot follow")


def test_a_damaged_tail_after_a_clean_shutdown_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    """The marker says clean, the disk says otherwise: appends must not go behind the garbage."""
    made = template()
    damaged = made.batches[-1]
    log = start({**made.contents, damaged.file_name: made.contents[damaged.file_name][:-3]}, "clean")
    assert observe(log).batches == made.recovered.batches[:-1]
    assert log.log_end_offset == damaged.view.base_offset
    assert "though it was stopped cleanly" in caplog.text
