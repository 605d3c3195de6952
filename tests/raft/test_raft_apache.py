"""Apache Kafka and we open each other's metadata directories: formatted, written, snapshotted, restarted."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.log.meta_properties import read_meta_properties
from ottla.raft.bootstrap_checkpoint import read_bootstrap_checkpoint
from ottla.raft.config import MetadataLogConfig
from ottla.raft.election_state import ElectionState
from ottla.raft.format import FormatRequest, format_directories
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.raft_client import RaftClient
from ottla.raft.snapshot_names import snapshot_file_name
from ottla.raft.voter_set import KRAFT_VERSIONS, ReplicaKey, VoterNode, VoterSet
from ottla.records.control import Endpoint, LeaderChangeMessage
from ottla.runtime.posix import PosixFiles
from tests.apache.properties import free_ports
from tests.node import CLUSTER_ID
from tests.oracle import ApacheBroker, DumpResult, Oracle
from tests.raft.quorum_of_one import NODE_ID, STATIC_VOTERS, RawSerde, Witness
from tests.raft.turns import TurnRuntime

NO_OP = bytes([1, 20, 0, 0])
"""A NoOpRecord, the only metadata record that says nothing."""
NOT_IN_SNAPSHOTS = {20, 23, 24, 25}
"""The api keys of NoOpRecord and of the beginning and the ends of a metadata transaction."""
DECODER = ["--cluster-metadata-decoder"]
FEATURE_LEVEL = 12
"""The api key of a FeatureLevelRecord."""


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """In memory where the machine has such: no test here needs a disk."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="ottla-raft-", dir=memory))
    yield path
    shutil.rmtree(path)


def runtime_of_this_machine() -> TurnRuntime:
    runtime = TurnRuntime(PosixFiles())
    runtime.clock.set_now_ms(1_800_000_000_000)
    return runtime


def dump(oracle: Oracle, directory: Path) -> DumpResult:
    files = sorted(
        path for path in directory.iterdir() if path.suffix in (".log", ".checkpoint", ".index", ".timeindex")
    )
    dumped = oracle.dump_log(files, extra=DECODER)
    assert dumped.complaints == []
    return dumped


def bootstrap_records(oracle: Oracle, scratch: Path) -> tuple[list[bytes], str]:
    """What Apache's StorageTool writes into bootstrap.checkpoint, and what it prints."""
    directory = scratch / "theirs"
    directory.mkdir()
    properties = scratch / "theirs.properties"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:2\nlog.dirs={directory}\n"
    )
    done = oracle.run(
        "kafka.tools.StorageTool", "format", "--config", properties, "--cluster-id", CLUSTER_ID, "--standalone"
    )
    assert done.returncode == 0, done.stderr
    records = read_bootstrap_checkpoint(PosixFiles(), str(directory), RawSerde())
    assert records is not None
    return records, done.stdout


def test_a_directory_that_apache_formatted(oracle: Oracle, scratch: Path) -> None:
    """And ours is the same, but for ids and times."""
    records, printed = bootstrap_records(oracle, scratch)
    assert {record[1] for record in records} == {FEATURE_LEVEL}
    theirs, ours = scratch / "theirs", scratch / "ours"
    their_properties = read_meta_properties(PosixFiles(), str(theirs))
    assert their_properties is not None
    directory_id = their_properties.directory_id
    voters = VoterSet(
        [
            VoterNode(
                ReplicaKey(1, directory_id), (Endpoint(name="CONTROLLER", host="127.0.0.1", port=2),), KRAFT_VERSIONS
            )
        ]
    )
    description = printed.split("Bootstrap metadata: ")[1].splitlines()[0]
    runtime = runtime_of_this_machine()
    lines = runtime.run(
        format_directories(
            runtime,
            FormatRequest(
                cluster_id=CLUSTER_ID,
                node_id=1,
                directories=[str(ours)],
                metadata_log_directory=str(ours),
                bootstrap_records=records,
                bootstrap_description=description,
                metadata_version="4.3-IV0",
                kraft_version=1,
                initial_controllers=voters,
            ),
        )
    )
    assert lines == printed.replace(str(theirs), str(ours)).splitlines()
    assert read_meta_properties(PosixFiles(), str(ours)) == their_properties
    assert sorted(path.relative_to(ours) for path in ours.rglob("*")) == sorted(
        path.relative_to(theirs) for path in theirs.rglob("*")
    )
    for name in ("bootstrap.checkpoint", f"__cluster_metadata-0/{snapshot_file_name(OffsetAndEpoch(0, 0))}"):
        our_dump, their_dump = (oracle.dump_log([root / name], extra=DECODER) for root in (ours, theirs))
        assert our_dump.complaints == their_dump.complaints == []
        our_records, their_records = (
            [re.sub(r"\d{13}", "TIME", str(record)) for record in one.records] for one in (our_dump, their_dump)
        )
        assert our_records == their_records
        assert (ours / name).stat().st_size == (theirs / name).stat().st_size


def test_apaches_tool_reads_what_we_write(oracle: Oracle, scratch: Path) -> None:
    runtime = runtime_of_this_machine()
    raft: RaftClient[bytes] = RaftClient(
        runtime,
        str(scratch),
        VoterNode(ReplicaKey(NODE_ID)),
        RawSerde(),
        static_voters=STATIC_VOTERS,
        log_config=MetadataLogConfig(segment_bytes=2_000),
    )
    witness = Witness()
    raft.register(witness)
    runtime.run(raft.start())
    for number in range(100):
        raft.schedule_append(1, [NO_OP] * (number % 3 + 1))
        runtime.settle()
    end = witness.batches[-1].last_offset + 1
    assert runtime.run(raft.create_snapshot(end, 1, witness.batches[-1].append_time_ms, [NO_OP] * 3)) == (end, 1)
    runtime.run(raft.stop())
    directory = scratch / "__cluster_metadata-0"
    dumped = dump(oracle, directory)
    records = [record for record in dumped.records if record.control_type is None]
    assert len(records) == end - 1 + 3
    assert {record.value for record in records} == {'{"type":"NO_OP_RECORD","version":0,"data":{}}'}
    controls = [record.control_type for record in dumped.records if record.control_type is not None]
    assert sorted(set(controls)) == ["LeaderChange", "SnapshotFooter", "SnapshotHeader"]
    assert len(list(directory.glob("*.log"))) > 3


def local_voter(broker: ApacheBroker, runtime: TurnRuntime) -> VoterNode:
    properties = read_meta_properties(runtime.files, str(broker.log_dir))
    assert properties is not None
    endpoint = Endpoint(name="CONTROLLER", host="127.0.0.1", port=broker.ports.controller)
    return VoterNode(ReplicaKey(NODE_ID, properties.directory_id), (endpoint,), KRAFT_VERSIONS)


def lead(broker: ApacheBroker, static_voters: VoterSet | None, *, take_snapshot: bool = False) -> Witness:
    """Lead one epoch over a stopped broker's directory."""
    runtime = runtime_of_this_machine()
    raft: RaftClient[bytes] = RaftClient(
        runtime, str(broker.log_dir), local_voter(broker, runtime), RawSerde(), static_voters=static_voters
    )
    witness = Witness()
    raft.register(witness)
    runtime.run(raft.start())
    epoch = raft.leader_and_epoch.epoch
    raft.schedule_append(epoch, [NO_OP, NO_OP])
    runtime.settle()
    if take_snapshot:
        last = witness.batches[-1]
        records = [record for record in witness.records if record[1] not in NOT_IN_SNAPSHOTS]
        made = raft.create_snapshot(last.last_offset + 1, epoch, last.append_time_ms, records)
        assert runtime.run(made) == (last.last_offset + 1, epoch)
    runtime.run(raft.stop())
    return witness


def election(broker: ApacheBroker) -> ElectionState:
    path = broker.log_dir / "__cluster_metadata-0" / "quorum-state"
    return ElectionState.decode(path.read_bytes(), str(path))


def test_a_dynamic_quorum_changes_hands(oracle: Oracle, scratch: Path) -> None:
    """Apache leads epoch 1, we lead 2, Apache 3, we 4 with a snapshot, Apache 5: nothing is lost on the way."""
    broker = oracle.broker(scratch)
    broker.start()
    try:
        broker.create_topic("first")
        broker.stop()
        theirs = (broker.log_dir / "__cluster_metadata-0" / "quorum-state").read_bytes()
        assert election(broker).encode(1) == theirs
        ours = lead(broker, None)
        assert ours.leaders == [(NODE_ID, 2)]
        assert any(b"first" in record for record in ours.records)
        leader_change = LeaderChangeMessage(leader_id=1, voters=(1,), granting_voters=(1,))
        assert [batch.control_records for batch in ours.batches if batch.control_records][-1] == (leader_change,)
        broker.start()
        assert election(broker).epoch == 3
        broker.create_topic("second")
        assert broker.consume("first") == []
        broker.stop()
        ours = lead(broker, None, take_snapshot=True)
        assert ours.leaders == [(NODE_ID, 4)]
        assert any(b"second" in record for record in ours.records)
        dump(oracle, broker.log_dir / "__cluster_metadata-0")
        broker.start()
        assert election(broker).epoch == 5
        assert broker.consume("first") == broker.consume("second") == []
        broker.stop()
    finally:
        broker.kill()
    assert [line for line in broker.log_lines() if " ERROR " in line or " FATAL " in line] == []


def test_a_static_quorum_formatted_by_us(oracle: Oracle, scratch: Path) -> None:
    """Version 0 of quorum-state, and a directory that Apache has not formatted."""
    records, _ = bootstrap_records(oracle, scratch)
    ports = free_ports()
    voters = f"1@127.0.0.1:{ports.controller}"
    broker = oracle.broker(scratch, {"controller.quorum.voters": voters}, ports)
    runtime = runtime_of_this_machine()
    directory = str(broker.log_dir)
    request = FormatRequest(
        cluster_id=CLUSTER_ID,
        node_id=1,
        directories=[directory],
        metadata_log_directory=directory,
        bootstrap_records=records,
        bootstrap_description="",
        metadata_version="4.3-IV0",
    )
    lines = runtime.run(format_directories(runtime, request))
    assert lines[-1] == f"Formatting metadata directory {directory} with metadata.version 4.3-IV0."
    broker.start()
    try:
        broker.create_topic("first")
        broker.stop()
        theirs = (broker.log_dir / "__cluster_metadata-0" / "quorum-state").read_bytes()
        assert election(broker).encode(0) == theirs
        ours = lead(broker, VoterSet.from_static(voters, "CONTROLLER"))
        assert ours.leaders == [(NODE_ID, 2)]
        broker.start()
        assert election(broker).epoch == 3
        assert broker.consume("first") == []
        broker.stop()
    finally:
        broker.kill()
