"""On a live reactor: flushes and moves go on while others append."""

import asyncio
from pathlib import Path

from ottla.common.uuid import Uuid
from ottla.config.broker import BrokerLogConfig
from ottla.log.manager import LogManager
from ottla.metadata.directory_id import UNASSIGNED
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.records import ConfigRecord, PartitionRecord, TopicRecord
from ottla.metrics.registry import Registry
from ottla.purgatory.timer import Timer
from ottla.replication.append_result import AppendResult
from ottla.replication.purgatories import Purgatories
from ottla.replication.read_result import FetchParams, FetchPartition, ReadResult
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.live import AsyncioRuntime
from tests.log.log_machine import batch, offsets_in
from tests.replication.replica_machine import NODE, T0, TOPIC

TOPIC_ID = Uuid.from_halves(5, 5)


class LiveBroker:
    """A replica manager with two data directories and one topic."""

    def __init__(self, directory: Path) -> None:
        self.paths = (f"{directory}/a", f"{directory}/b")
        runtime = AsyncioRuntime()
        self.log_manager = LogManager(
            runtime,
            BrokerLogConfig(log_dirs=self.paths),
            topic_overrides=lambda topic: self.replicas.topic_overrides(topic),
            cluster_id="cluster",
            node_id=NODE,
        )
        purgatories = Purgatories.create(lambda: Timer(runtime.clock.monotonic_ms))
        self.replicas = ReplicaManager(runtime, self.log_manager, NODE, registry=Registry(), purgatories=purgatories)

    async def start(self, **configs: str) -> None:
        await self.log_manager.start()
        delta = MetadataDelta(MetadataImage())
        delta.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
        for name, value in configs.items():
            delta.replay(
                ConfigRecord(
                    resource_type=ConfigResourceType.TOPIC,
                    resource_name=TOPIC,
                    name=name.replace("_", "."),
                    value=value,
                )
            )
        delta.replay(
            PartitionRecord(
                partition_id=0,
                topic_id=TOPIC_ID,
                replicas=(NODE,),
                isr=(NODE,),
                leader=NODE,
                leader_epoch=0,
                partition_epoch=0,
                directories=(UNASSIGNED,),
            )
        )
        await self.replicas.apply_delta(delta.topics_delta, delta.apply(MetadataProvenance()))

    async def produce(self) -> AppendResult:
        answered: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        self.replicas.append_records([(T0, None, batch(value_bytes=200))], -1, 10_000, answered.set_result)
        (result,) = await answered
        return result

    def read_all(self) -> list[int]:
        found: list[int] = []
        results: list[ReadResult] = []
        while True:
            results.clear()
            self.replicas.fetch(FetchParams(), [FetchPartition(T0, len(found), 1 << 20)], results.extend)
            if results[0].records is None:
                return found
            found += offsets_in(results[0].records.read())


def test_appends_that_wait_for_the_disk_are_committed_in_order_and_all_answered(tmp_path: Path) -> None:
    async def story() -> None:
        broker = LiveBroker(tmp_path)
        await broker.start(flush_messages="1")
        results = await asyncio.gather(*(broker.produce() for _ in range(20)))
        assert [(result.error_code, result.base_offset) for result in results] == [(0, n) for n in range(20)]
        log = broker.log_manager.logs[T0]
        assert (log.recovery_point, log.high_watermark) == (20, 20)
        await broker.log_manager.stop()

    asyncio.run(story())


def test_a_replica_that_moves_loses_nothing_of_what_is_appended_meanwhile(tmp_path: Path) -> None:
    async def story() -> None:
        broker = LiveBroker(tmp_path)
        await broker.start()
        for _ in range(1000):
            await broker.produce()
        home = broker.log_manager.logs[T0].data_directory
        target = next(path for path in broker.paths if path != home)
        assert await broker.replicas.log_dirs.alter_replica_log_dirs([(T0, target)]) == [0]
        appended = 1000
        while broker.log_manager.logs[T0].data_directory == home:
            assert (await broker.produce()).base_offset == appended
            appended += 1
            await asyncio.sleep(0)
        assert (await broker.produce()).base_offset == appended
        assert broker.read_all() == list(range(appended + 1))
        while T0 in broker.log_manager.future_logs:
            await asyncio.sleep(0)
        await broker.log_manager.stop()

    asyncio.run(asyncio.wait_for(story(), 60))
