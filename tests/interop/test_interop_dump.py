"""Apache's DumpLogSegments reads every kind of file that we write, deep, without a complaint, and sees what we see."""

import re
from pathlib import Path
from random import Random

import pytest

from ottla.common.uuid import Uuid
from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.control import (
    Endpoint,
    KRaftControlMessage,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
    control_batch,
)
from ottla.records.record import Header, SimpleRecord
from tests.interop.histories import START_MS, History
from tests.interop.log_script import Command, perform_by_apache, perform_by_ottla
from tests.interop.our_reading import comparable, read_partition
from tests.oracle import DumpResult, Oracle

SMALL = {"internal.segment.bytes": "60000", "index.interval.bytes": "100"}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "5000"}
CODEC_NAMES = ["uncompressed", "gzip", "snappy", "lz4", "zstd"]
VOTERS = (
    Voter(
        voter_id=1,
        voter_directory_id=Uuid.random(Random(1)),
        endpoints=(Endpoint(name="CONTROLLER", host="localhost", port=9093),),
        max_supported_version=1,
    ),
)
MESSAGES: list[KRaftControlMessage] = [
    LeaderChangeMessage(leader_id=1, voters=(1, 2), granting_voters=(1,)),
    SnapshotHeaderRecord(last_contained_log_timestamp=START_MS),
    KRaftVersionRecord(kraft_version=1),
    VotersRecord(voters=VOTERS),
    SnapshotFooterRecord(),
]

EMPTY_BATCH = re.compile(
    r"stderr: Found timestamp mismatch in :.*\.timeindex|stderr:   Index timestamp: \d+, log timestamp: -1"
)
"""DumpLogSegments cannot find the timestamp of a batch whose records were all cleaned away, in anybody's files."""


def serious(dumped: DumpResult, configs: dict[str, str]) -> list[str]:
    """All complaints; for a compacted topic without those that Apache's files bring as well."""
    compacted = configs.get("cleanup.policy") == "compact"
    return [complaint for complaint in dumped.complaints if not (compacted and EMPTY_BATCH.fullmatch(complaint))]


def dump_all(oracle: Oracle, directory: Path, scratch: Path, configs: dict[str, str]) -> DumpResult:
    """Dump every file, compare with our reading of it, and have the indexes checked in Apache's other two ways."""
    dumped = oracle.dump_directory(directory)
    assert serious(dumped, configs) == []
    ours = read_partition(directory, scratch / "copy", configs)
    expected, found = comparable(dumped.files), comparable(ours)
    assert found.keys() == expected.keys()
    for name, file in expected.items():
        assert found[name] == file, name
    indexes = [path for path in directory.iterdir() if path.suffix in (".index", ".timeindex")]
    for option in ("--index-sanity-check", "--verify-index-only"):
        assert serious(oracle.dump_log(indexes, deep=False, extra=[option]), configs) == []
    return dumped


def write(scratch: Path, commands: list[Command]) -> Path:
    """Do a script with our log and stop it cleanly."""
    directory = scratch / "ottla" / "t-0"
    directory.parent.mkdir()
    answers = perform_by_ottla([*commands, ("close",)], directory)
    assert [answer for answer in answers if answer.startswith("error")] == []
    return directory


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_histories_with_every_codec_recompressed_or_not(oracle: Oracle, scratch: Path, name: str) -> None:
    configs = {**SMALL, "compression.type": name} if name == "uncompressed" else SMALL
    codec = Compression.NONE if name == "uncompressed" else Compression[name.upper()]
    history = History(Random(name), codecs=(codec,), configs=configs)
    history.live(200, (history.follow, history.truncate, lambda: history.restart(clean=True)))
    dumped = dump_all(oracle, write(scratch, history.commands), scratch, configs)
    assert {batch.compression for batch in dumped.batches} <= {"none", codec.name.lower()}
    assert {record.control_type for record in dumped.records} == {None, "COMMIT", "ABORT"}
    assert any(file.aborted_txns for file in dumped.files.values())
    assert any(file.producers for file in dumped.files.values())
    assert len({batch.partition_leader_epoch for batch in dumped.batches}) > 3


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_topics_that_recompress(oracle: Oracle, scratch: Path, name: str) -> None:
    configs = {**SMALL, "compression.type": name}
    history = History(Random(name), configs=configs)
    history.live(100)
    dumped = dump_all(oracle, write(scratch, history.commands), scratch, configs)
    wanted = "none" if name == "uncompressed" else name
    assert {batch.compression for batch in dumped.batches if not batch.is_control} == {wanted}


@pytest.mark.parametrize(
    "configs",
    [
        {"message.timestamp.type": "LogAppendTime"},
        {"preallocate": "true", "internal.segment.bytes": "50000"},
        {"segment.ms": "5000", "segment.index.bytes": "100"},
    ],
    ids=str,
)
@pytest.mark.parametrize("clean", [True, False])
def test_kinds_of_topics_after_both_kinds_of_stop(
    oracle: Oracle, scratch: Path, configs: dict[str, str], clean: bool
) -> None:
    history = History(Random(7), configs=configs)
    history.live(100)
    history.restart(clean=clean)
    history.live(100, (history.delete_records,))
    dump_all(oracle, write(scratch, history.commands), scratch, configs)


@pytest.mark.parametrize("codec", list(Compression))
def test_compacted_topics(oracle: Oracle, scratch: Path, codec: Compression) -> None:
    configs = {**SMALL, **COMPACT}
    history = History(Random(3), codecs=(codec,), keys=10, configs=configs)
    for _ in range(8):
        history.live(40)
        while any(producer.in_transaction for producer in history.producers):
            history.end_transaction()
        history.add("high_watermark", history.end_offset)
        history.pass_time()
        history.add("roll")
        history.add("clean")
    directory = write(scratch, history.commands)
    dumped = dump_all(oracle, directory, scratch, configs)
    assert dumped.gaps
    assert any(batch.delete_horizon_ms is not None and not batch.is_control for batch in dumped.batches)
    assert any(batch.delete_horizon_ms is not None and batch.is_control for batch in dumped.batches)
    assert any(batch.record_count == 0 for batch in dumped.batches)
    if codec is Compression.NONE:
        apache = scratch / "apache" / "t-0"
        apache.parent.mkdir()
        perform_by_apache(oracle, [*history.commands, ("close",)], apache, scratch)
        theirs = [
            complaint.replace(str(apache), str(directory)) for complaint in oracle.dump_directory(apache).complaints
        ]
        assert dumped.complaints == theirs


def test_records_of_every_shape(oracle: Oracle, scratch: Path) -> None:
    headers = (Header("", b""), Header("k", None), Header("k", b"\x00" * 300), Header("ключ", b"\xff"))
    shapes = [
        SimpleRecord(0, None, None),
        SimpleRecord(START_MS, b"", b"", headers),
        SimpleRecord(START_MS - 1, b"k" * 70_000, bytes(range(256)) * 2500, headers[:2]),
        SimpleRecord(START_MS + 1, None, b"v" * 200),
    ]
    commands: list[Command] = [("now", START_MS), ("open", {}, True, 0, 0)]
    for codec in Compression:
        many = [SimpleRecord(START_MS + number, b"%d" % number, None) for number in range(5000)]
        for records in (shapes, shapes[:1], many):
            batch = bytes(build_batch(records, compression=codec))
            commands.append(("append", AppendOrigin.CLIENT, 0, 0, batch))
    dumped = dump_all(oracle, write(scratch, commands), scratch, {})
    assert len(dumped.records) == len(Compression) * (4 + 1 + 5000)


def test_control_batches_of_raft(oracle: Oracle, scratch: Path) -> None:
    commands: list[Command] = [("now", START_MS), ("open", {}, True, 0, 0)]
    offset = 0
    groups = [[message] for message in MESSAGES] + [MESSAGES[1:4]]
    for epoch, messages in enumerate(groups):
        batch = bytes(control_batch(messages, base_offset=offset, timestamp=START_MS + epoch, leader_epoch=epoch))
        commands.append(("append", AppendOrigin.RAFT_LEADER, epoch, 0, batch))
        offset += len(messages)
    directory = write(scratch, commands)
    snapshot = scratch / "00000000000000000100-0000000001.checkpoint"
    snapshot.write_bytes(
        control_batch(MESSAGES[1:4], base_offset=0, timestamp=START_MS, leader_epoch=1)
        + control_batch(MESSAGES[4:], base_offset=3, timestamp=START_MS, leader_epoch=1)
    )
    dumped = dump_all(oracle, directory, scratch, {})
    names = ["LeaderChange", "SnapshotHeader", "KRaftVersion", "KRaftVoters", "SnapshotFooter"]
    assert [record.control_type for record in dumped.records] == names + names[1:4]
    assert dumped.records[3].control_data["voters"][0]["endpoints"][0]["host"] == "localhost"
    dumped = oracle.dump_log([snapshot])
    assert dumped.complaints == []
    assert [record.control_type for record in dumped.records] == names[1:]
