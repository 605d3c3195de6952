"""A node, a serde of plain bytes and a listener that writes down what it is told."""

from random import Random

from ottla.common.uuid import Uuid
from ottla.raft.batch import CommittedBatch
from ottla.raft.config import MetadataLogConfig
from ottla.raft.raft_client import RaftClient
from ottla.raft.snapshot_reader import SnapshotReader
from ottla.raft.voter_set import KRAFT_VERSIONS, ReplicaKey, VoterNode, VoterSet
from ottla.records.control import Endpoint
from ottla.runtime.port import Runtime

NODE_ID = 1
DIRECTORY_ID = Uuid.random(Random(1))
ENDPOINT = Endpoint(name="CONTROLLER", host="127.0.0.1", port=9093)
LOCAL = VoterNode(ReplicaKey(NODE_ID, DIRECTORY_ID), (ENDPOINT,), KRAFT_VERSIONS)
STATIC_VOTERS = VoterSet.from_static("1@127.0.0.1:9093", "CONTROLLER")


class RawSerde:
    """Records are bytes."""

    def write(self, record: bytes) -> bytes:
        return record

    def read(self, data: bytes) -> bytes:
        return data


class Witness:
    """A listener: `events` in order, `records` as a state machine would hold them, by offset or from a snapshot."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.records: list[bytes] = []
        self.batches: list[CommittedBatch[bytes]] = []
        self.leaders: list[tuple[int | None, int]] = []

    def handle_commit(self, batch: CommittedBatch[bytes]) -> None:
        self.batches.append(batch)
        self.events.append(("commit", batch.base_offset, batch.last_offset, tuple(batch.records)))
        self.records += batch.records

    async def handle_load_snapshot(self, snapshot: SnapshotReader[bytes]) -> None:
        self.events.append(("snapshot", snapshot.snapshot_id))
        self.records = [record async for records in snapshot.slices() for record in records]

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        self.events.append(("leader", leader_id, epoch))
        self.leaders.append((leader_id, epoch))


def client(
    runtime: Runtime, directory: str, *, log_config: MetadataLogConfig | None = None, static: bool = True
) -> RaftClient[bytes]:
    """A client over `directory`; with `static=False` its voters come from the log."""
    return RaftClient(
        runtime,
        directory,
        LOCAL,
        RawSerde(),
        static_voters=STATIC_VOTERS if static else None,
        log_config=log_config,
    )
