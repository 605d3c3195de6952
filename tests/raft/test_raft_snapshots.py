"""Snapshots: written, read, loaded by listeners, and cleaned away with the log that they cover."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import CorruptRecordError, KafkaStorageError
from ottla.raft.bootstrap_checkpoint import read_bootstrap_checkpoint, write_bootstrap_checkpoint
from ottla.raft.config import MetadataLogConfig
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.raft_client import CLEANING_INTERVAL_MS, RaftClient
from ottla.raft.snapshot_names import parse_snapshot_name, partial_file_name, snapshot_file_name
from ottla.raft.snapshot_reader import SnapshotReader, read_snapshot
from ottla.raft.snapshot_writer import BATCH_BYTES, SnapshotWriter
from ottla.raft.voter_set import VoterSet
from ottla.records.control import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord
from tests.raft.quorum_of_one import LOCAL, NODE_ID, RawSerde, Witness, client
from tests.raft.turns import TurnRuntime
from tests.sim.crash_files import CrashFiles

DIR = "/data"
LOG_DIR = f"{DIR}/__cluster_metadata-0"
ID = OffsetAndEpoch(42, 3)


@pytest.fixture
def runtime() -> TurnRuntime:
    runtime = TurnRuntime()
    runtime.files.make_dir(DIR)
    return runtime


def write(runtime: TurnRuntime, values: list[bytes], **options: object) -> str:
    writer = SnapshotWriter(runtime, DIR, ID, last_contained_log_timestamp=7, **options)  # type: ignore[arg-type]
    for value in values:
        writer.append(value)
    runtime.run(writer.freeze())
    writer.close()
    return f"{DIR}/{snapshot_file_name(ID)}"


def test_names() -> None:
    assert snapshot_file_name(ID) == "00000000000000000042-0000000003.checkpoint"
    parsed = parse_snapshot_name("00000000000000000042-0000000003.checkpoint")
    assert parsed == (ID, False, False)
    assert parse_snapshot_name(partial_file_name(ID, Random(1))) == (ID, True, False)
    assert parse_snapshot_name("00000000000000000042-0000000003.checkpoint.deleted") == (ID, False, True)
    for other in ("00000000000000000042.log", "bootstrap.checkpoint", "leader-epoch-checkpoint", "quorum-state"):
        assert parse_snapshot_name(other) is None


def test_a_snapshot_has_a_header_its_records_and_a_footer(runtime: TurnRuntime) -> None:
    path = write(runtime, [b"a", b"b"], kraft_version=1, voters=VoterSet([LOCAL]))
    header, data, footer = read_snapshot(runtime.files, path, RawSerde())
    version, voters = KRaftVersionRecord(kraft_version=1), VoterSet([LOCAL]).to_record()
    assert header.control_records == (SnapshotHeaderRecord(last_contained_log_timestamp=7), version, voters)
    assert (header.base_offset, header.last_offset, header.epoch) == (0, 2, 3)
    assert (data.base_offset, data.records) == (3, (b"a", b"b"))
    assert (footer.base_offset, footer.control_records) == (5, (SnapshotFooterRecord(),))
    assert runtime.files.list_dir(DIR) == [snapshot_file_name(ID)]


def test_version_0_names_no_voters(runtime: TurnRuntime) -> None:
    header, footer = read_snapshot(runtime.files, write(runtime, []), RawSerde())
    assert header.control_records == (SnapshotHeaderRecord(last_contained_log_timestamp=7),)
    assert footer.control_records == (SnapshotFooterRecord(),)


@settings(max_examples=20)
@given(st.lists(st.integers(1, BATCH_BYTES * 6), max_size=8))
def test_records_of_any_size_come_back_whole_and_in_slices(sizes: list[int]) -> None:
    runtime = TurnRuntime()
    runtime.files.make_dir(DIR)
    values = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    reader = SnapshotReader(runtime, write(runtime, values), ID, RawSerde())
    assert [record for batch in reader for record in batch.records] == values

    async def slices() -> list[bytes]:
        return [record async for records in reader.slices() for record in records]

    assert runtime.run(slices()) == values
    assert reader.last_contained_log_timestamp() == 7
    assert (reader.last_contained_log_offset, reader.last_contained_log_epoch) == (41, 3)


def test_a_snapshot_that_was_given_up_leaves_nothing(runtime: TurnRuntime) -> None:
    writer = SnapshotWriter(runtime, DIR, ID, last_contained_log_timestamp=7)
    writer.append(b"a")
    writer.close()
    assert runtime.files.list_dir(DIR) == []


@pytest.mark.parametrize("cut", [1, 70, 100])
def test_a_cut_snapshot_is_refused(runtime: TurnRuntime, cut: int) -> None:
    path = write(runtime, [b"a" * 100])
    file = runtime.files.open(path)
    file.truncate(file.size() - cut)
    with pytest.raises(CorruptRecordError):
        list(SnapshotReader(runtime, path, ID, RawSerde()))


def test_a_damaged_snapshot_is_refused(runtime: TurnRuntime) -> None:
    path = write(runtime, [b"a" * 100])
    file = runtime.files.open(path)
    file.pwrite(b"?", file.size() // 2)
    with pytest.raises(CorruptRecordError):
        list(SnapshotReader(runtime, path, ID, RawSerde()))


def test_the_bootstrap_checkpoint(runtime: TurnRuntime) -> None:
    assert read_bootstrap_checkpoint(runtime.files, DIR, RawSerde()) is None
    write_bootstrap_checkpoint(runtime.files, DIR, [b"a", b"b"], 5)
    assert read_bootstrap_checkpoint(runtime.files, DIR, RawSerde()) == [b"a", b"b"]


# -- the client -------------------------------------------------------------------------------------------------------


def started(runtime: TurnRuntime, config: MetadataLogConfig | None = None) -> tuple[RaftClient[bytes], Witness]:
    raft, witness = client(runtime, DIR, log_config=config), Witness()
    raft.register(witness)
    runtime.run(raft.start())
    return raft, witness


def append(runtime: TurnRuntime, raft: RaftClient[bytes], *records: bytes) -> None:
    raft.schedule_append(raft.leader_and_epoch.epoch, records)
    runtime.settle()


def snapshot(runtime: TurnRuntime, raft: RaftClient[bytes], witness: Witness) -> OffsetAndEpoch | None:
    last = witness.batches[-1]
    return runtime.run(
        raft.create_snapshot(last.last_offset + 1, last.epoch, last.append_time_ms, list(witness.records))
    )


def test_a_restart_loads_the_snapshot_and_what_follows(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    append(runtime, raft, b"a", b"b")
    assert snapshot(runtime, raft, witness) == (3, 1) == raft.latest_snapshot_id
    assert snapshot(runtime, raft, witness) is None
    append(runtime, raft, b"c")
    late = Witness()
    raft.register(late)
    runtime.settle()
    assert late.events == [("snapshot", (3, 1)), ("commit", 3, 3, (b"c",)), ("leader", NODE_ID, 1)]
    runtime.run(raft.stop())
    raft, witness = started(runtime)
    assert witness.events == [
        ("snapshot", (3, 1)),
        ("commit", 3, 3, (b"c",)),
        ("commit", 4, 4, ()),
        ("leader", NODE_ID, 2),
    ]
    assert witness.records == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("offset", "epoch", "complaint"),
    [(9, 1, "high-watermark"), (2, 1, "batch aligned"), (3, 2, "not valid according to the log")],
)
def test_a_snapshot_that_the_log_contradicts(runtime: TurnRuntime, offset: int, epoch: int, complaint: str) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a", b"b")
    with pytest.raises(ValueError, match=complaint):
        runtime.run(raft.create_snapshot(offset, epoch, 0, []))


def files_in(runtime: TurnRuntime, suffix: str) -> list[int]:
    return [int(name[:20]) for name in runtime.files.list_dir(LOG_DIR) if name.endswith(suffix)]


@pytest.mark.parametrize("by", ["bytes", "ms"])
def test_old_snapshots_and_segments_go_and_the_latest_stays(runtime: TurnRuntime, by: str) -> None:
    limits = {"retention_bytes": 5_000, "retention_ms": -1} if by == "bytes" else {"retention_bytes": -1}
    if by == "ms":
        limits["retention_ms"] = 50_000
    raft, witness = started(runtime, MetadataLogConfig(segment_bytes=1_000, **limits))
    runtime.spawn(raft.run())
    for number in range(20):
        append(runtime, raft, b"%d" % number * 300)
        snapshot(runtime, raft, witness)
        runtime.pass_ms(10_000)
    kept = files_in(runtime, ".checkpoint")
    assert 1 <= len(kept) < 15
    assert kept[-1] == 21
    assert 0 < files_in(runtime, ".log")[0] <= kept[0]
    late = Witness()
    raft.register(late)
    runtime.settle()
    assert late.records == witness.records
    runtime.pass_ms(CLEANING_INTERVAL_MS + 60_000)
    if by == "ms":
        assert files_in(runtime, ".checkpoint") == [21]
    assert files_in(runtime, ".checkpoint.deleted") == []
    runtime.run(raft.stop())
    raft, again = started(runtime)
    assert again.records == witness.records


def test_leftovers_go_at_the_start(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    append(runtime, raft, b"a")
    snapshot(runtime, raft, witness)
    runtime.run(raft.stop())
    for name in (partial_file_name(ID, Random(1)), "00000000000000000001-0000000001.checkpoint.deleted"):
        runtime.files.open(f"{LOG_DIR}/{name}", create=True).close()
    started(runtime)
    assert files_in(runtime, ".part") == files_in(runtime, ".deleted") == []
    assert files_in(runtime, ".checkpoint") == [2]


def test_a_log_without_its_beginning_needs_a_snapshot(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime, MetadataLogConfig(segment_bytes=1_000, retention_bytes=1))
    for number in range(10):
        append(runtime, raft, b"%d" % number * 300)
        snapshot(runtime, raft, witness)
    runtime.clock.advance_ms(CLEANING_INTERVAL_MS)
    runtime.run(raft.run_due())
    runtime.run(raft.stop())
    for name in runtime.files.list_dir(LOG_DIR):
        if name.endswith(".checkpoint"):
            runtime.files.remove(f"{LOG_DIR}/{name}")
    with pytest.raises(KafkaStorageError, match="Inconsistent snapshot state"):
        started(runtime)


def test_a_snapshot_beyond_the_log_replaces_it(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a")
    runtime.run(raft.stop())
    writer = SnapshotWriter(runtime, LOG_DIR, OffsetAndEpoch(50, 4), last_contained_log_timestamp=1)
    writer.append(b"from the leader")
    runtime.run(writer.freeze())
    raft, witness = started(runtime)
    assert witness.records == [b"from the leader"]
    assert raft.leader_and_epoch == (NODE_ID, 5)
    assert raft.high_watermark == 51


def test_a_snapshot_holds_the_voters_of_a_dynamic_quorum(runtime: TurnRuntime) -> None:
    runtime.files.make_dir(LOG_DIR)
    writer = SnapshotWriter(
        runtime,
        LOG_DIR,
        OffsetAndEpoch(0, 0),
        last_contained_log_timestamp=1,
        kraft_version=1,
        voters=VoterSet([LOCAL]),
    )
    runtime.run(writer.freeze())
    raft, witness = client(runtime, DIR, static=False), Witness()
    raft.register(witness)
    runtime.run(raft.start())
    assert [type(message).__name__ for message in witness.batches[0].control_records] == [
        "LeaderChangeMessage",
        "KRaftVersionRecord",
        "VotersRecord",
    ]
    assert (raft.kraft_version, raft.voters, raft.high_watermark) == (1, VoterSet([LOCAL]), 3)
    append(runtime, raft, b"a")
    assert snapshot(runtime, raft, witness) == (4, 1)
    header, *_ = read_snapshot(runtime.files, f"{LOG_DIR}/{snapshot_file_name(OffsetAndEpoch(4, 1))}", RawSerde())
    assert header.control_records[1:] == (KRaftVersionRecord(kraft_version=1), VoterSet([LOCAL]).to_record())
    assert b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}' in runtime.files.read(
        f"{LOG_DIR}/quorum-state"
    )
    runtime.run(raft.stop())
    raft = client(runtime, DIR, static=False)
    runtime.run(raft.start())
    assert (raft.leader_and_epoch, raft.high_watermark) == ((NODE_ID, 2), 5)


def test_a_long_replay_gives_the_reactor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = TurnRuntime()
    runtime.files.make_dir(DIR)
    raft, witness = started(runtime)
    for _ in range(10):
        append(runtime, raft, *[b"x"] * 100)
    snapshot(runtime, raft, witness)
    append(runtime, raft, *[b"y"] * 1_000)
    clock, calls = runtime.clock, 0

    class SlowSerde(RawSerde):
        def read(self, data: bytes) -> bytes:
            nonlocal calls
            calls += 1
            if calls % 20 == 0:
                clock.advance_ms(1)  # 50 µs a record
            return data

    runtime.run(raft.stop())
    again: RaftClient[bytes] = client(runtime, DIR)
    monkeypatch.setattr(again._notifier, "_serde", SlowSerde())
    late, other = Witness(), Witness()
    again.register(late)
    again.register(other)
    turns = runtime.turns
    runtime.run(again.start())
    assert len(late.records) == len(other.records) == 2_000
    assert calls == 3_000, "the snapshot is read for each listener, the log once for both"
    # 100 ms of work in slices of at most two: at least 50 turns.
    assert runtime.turns - turns >= 50
    assert isinstance(runtime.files, CrashFiles)
