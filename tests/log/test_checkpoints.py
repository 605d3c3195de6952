"""Checkpoint files: Apache Kafka's bytes, and errors that name the line."""

import logging
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.topic_partition import TopicPartition
from ottla.log.checkpoints import MalformedCheckpointError, OffsetCheckpoint
from tests.sim.crash_files import CrashFiles, CrashPolicy

PATH = "/data/recovery-point-offset-checkpoint"
# What Apache Kafka 4.3.1 left in its data directory.
APACHE = b"0\n2\norders 0 8\norders 1 0\n"
OFFSETS = {TopicPartition("orders", 0): 8, TopicPartition("orders", 1): 0}


def checkpoint(content: bytes | None = None) -> OffsetCheckpoint:
    files = CrashFiles()
    files.make_dir("/data")
    if content is not None:
        files.open(PATH, create=True).pwrite(content, 0)
    return OffsetCheckpoint(files, PATH)


def test_apaches_bytes() -> None:
    assert checkpoint(APACHE).read() == OFFSETS
    files = CrashFiles()
    files.make_dir("/data")
    OffsetCheckpoint(files, PATH).write(OFFSETS)
    assert files.read(PATH) == APACHE
    OffsetCheckpoint(files, PATH).write({})
    assert files.read(PATH) == b"0\n0\n"


@pytest.mark.parametrize("content", [None, b"", b"0\n", b"0\n0\n"])
def test_nothing_there(content: bytes | None) -> None:
    assert checkpoint(content).read() == {}


@pytest.mark.parametrize("content", [b"0\r\n1\r\na 0 1\r\n", b"0\n1\na  0\t1", b"0\n1\na 0 1 \n", b"+0\n1\na 0 +1\n"])
def test_what_java_reads_as_well(content: bytes) -> None:
    assert checkpoint(content).read() == {TopicPartition("a", 0): 1}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        *[(b"1\n0\n", 1), (b"x\n0\n", 1), (b"\n0\n", 1), (b"0\n-1\n", 2), (b"0\nx\n", 2), (b"0\n99999999999\n", 2)],
        *[(b"0\n2\na 0 1\n", 2), (b"0\n0\na 0 1\n", 2), (b"0\n1\na 0\n", 3), (b"0\n1\na 0 1 2\n", 3)],
        *[(b"0\n1\na x 1\n", 3), (b"0\n1\na 0 1_0\n", 3), (b"0\n1\n 0 1\n", 3), (b"0\n2\na 0 1\n\n", 4)],
        *[(b"0\n1\na 0 9223372036854775808\n", 3), (b"0\n1\na 2147483648 1\n", 3), (b"0\n1\n\xff 0 1\n", 3)],
    ],
)
def test_malformed_files_name_the_line(content: bytes, line: int, caplog: pytest.LogCaptureFixture) -> None:
    damaged = checkpoint(content)
    with pytest.raises(MalformedCheckpointError, match=f"Line {line} of checkpoint file {PATH}"):
        damaged.read()
    with caplog.at_level(logging.WARNING):
        assert damaged.read_or_empty() == {}
    assert PATH in caplog.text


@given(st.binary(max_size=40) | st.integers(0, 8 * len(APACHE) - 1))
def test_no_damage_stops_a_start(damage: bytes | int) -> None:
    if isinstance(damage, int):
        flipped = bytearray(APACHE)
        flipped[damage // 8] ^= 1 << damage % 8
        damage = bytes(flipped)
    checkpoint(damage).read_or_empty()


partitions = st.builds(TopicPartition, st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 1 << 30))


@given(st.dictionaries(partitions, st.integers(0, (1 << 63) - 1), max_size=10))
def test_offsets_come_back(offsets: dict[TopicPartition, int]) -> None:
    written = checkpoint()
    written.write(offsets)
    assert written.read() == offsets


def test_a_write_is_durable() -> None:
    files = CrashFiles()
    files.make_dir("/data")
    files.sync_all()
    OffsetCheckpoint(files, PATH).write(OFFSETS)
    files.crash(Random(1), policy=CrashPolicy.DROP_UNSYNCED)
    assert OffsetCheckpoint(files, PATH).read() == OFFSETS
