"""The controller on the real log: what it answered survives restarts, from the log and from a snapshot."""

import asyncio
from dataclasses import replace
from pathlib import Path

from ottla.controller.quorum_controller import QuorumController
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import MetadataRecord, NoOpRecord
from ottla.metadata.serde import MetadataRecordSerde
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from ottla.raft.batch import CommittedBatch
from ottla.raft.raft_client import RaftClient
from ottla.raft.snapshot_reader import SnapshotReader
from ottla.runtime.live import AsyncioRuntime
from tests.controller.controller_world import BOOTSTRAP, CLUSTER_ID, CONTEXT, registration, topic_request
from tests.raft.quorum_of_one import LOCAL, NODE_ID, STATIC_VOTERS


class Node:
    """A quorum of one with its controller, for the length of an ``async with``."""

    def __init__(self, directory: Path, metadata_max_idle_interval_ms: int = 500) -> None:
        self.runtime = AsyncioRuntime()
        serde = MetadataRecordSerde(lambda: self.controller.metadata_version)
        self.raft: RaftClient[MetadataRecord] = RaftClient(
            self.runtime, str(directory), LOCAL, serde, static_voters=STATIC_VOTERS
        )
        settings = ControllerSettings(
            node_id=NODE_ID,
            cluster_id=CLUSTER_ID,
            quorum_node_ids=(NODE_ID,),
            metadata_max_idle_interval_ms=metadata_max_idle_interval_ms,
        )
        self.controller = QuorumController(self.runtime, self.raft, settings, BOOTSTRAP)
        self.raft.register(self.controller.listener)

    async def __aenter__(self) -> "Node":
        await self.raft.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.controller.stop()
        await self.raft.stop()
        self.runtime.close()

    async def join(self, incarnation: int) -> None:
        """A broker registers and is unfenced."""
        context = ControllerRequestContext(api_version=4)
        response = await self.controller.register_broker(context, registration(1, incarnation=incarnation))
        await self.controller.process_broker_heartbeat(
            context,
            BrokerHeartbeatRequest(
                broker_id=1,
                broker_epoch=response.broker_epoch,
                current_metadata_offset=self.raft.log_end_offset - 1,
            ),
        )


def test_a_cluster_survives_its_controller(tmp_path: Path) -> None:
    async def first() -> MetadataImage:
        async with Node(tmp_path) as node:
            assert node.controller.is_active
            await node.join(1)
            answers = await asyncio.gather(
                *(node.controller.create_topics(CONTEXT, topic_request(f"t{number}", 3)) for number in range(20))
            )
            assert [answer.topics[0].error_code for answer in answers] == [0] * 20
            return node.controller.image

    async def again() -> MetadataImage:
        async with Node(tmp_path) as node:
            assert node.controller.claim_epoch == 2
            image = node.controller.image
            provenance = image.provenance
            await node.raft.create_snapshot(
                provenance.last_contained_offset + 1,
                provenance.last_contained_epoch,
                provenance.last_contained_log_time_ms,
                image.records(),
            )
            return image

    async def from_a_snapshot() -> MetadataImage:
        async with Node(tmp_path) as node:
            image = node.controller.image
            assert node.raft.latest_snapshot_id is not None
            await node.controller.create_topics(CONTEXT, topic_request("after"))
            assert "after" in node.controller.image.topics.by_name
            return image

    image = asyncio.run(first())
    assert len(image.topics.by_name) == 20
    for life in (again, from_a_snapshot):
        restored = asyncio.run(life())
        assert replace(restored, provenance=image.provenance) == image


class NoOpWitness:
    """Waits for a NoOpRecord to be committed."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    def handle_commit(self, batch: CommittedBatch[MetadataRecord]) -> None:
        if NoOpRecord() in batch.records:
            self.seen.set()

    def handle_load_snapshot(self, snapshot: SnapshotReader[MetadataRecord]) -> None:
        """There is none."""

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Of no interest."""


def test_signs_of_life_are_written_while_it_runs(tmp_path: Path) -> None:
    async def live() -> None:
        async with Node(tmp_path, metadata_max_idle_interval_ms=1) as node:
            witness = NoOpWitness()
            node.raft.register(witness)
            running = asyncio.create_task(node.controller.run())
            await witness.seen.wait()
            node.controller.stop()
            await running

    asyncio.run(live())
