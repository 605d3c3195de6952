"""A node, what its Prometheus endpoint shows, and everything that can happen to it that moves a metric."""

import asyncio
import socket
import struct
import urllib.request
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.metadata.features import SERVED_FEATURES
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.server.node import Node
from ottla.testing import Broker
from tests.server.wire import Wire, create_topic

SESSION_MS = 20_000
"""Longer than the story of a broker of which nobody hears; the controller looks eight times a session."""
POOL_BYTES = 100_000
PROPERTIES = {
    "metrics.listener": "127.0.0.1:0",
    "socket.request.max.bytes": str(POOL_BYTES),
    "queued.max.request.bytes": str(POOL_BYTES),
    "max.connection.creation.rate": "1000",
    "broker.session.timeout.ms": str(SESSION_MS),
    "broker.heartbeat.interval.ms": "200",
    "max.incremental.fetch.session.cache.slots": "1",
    "log.cleaner.backoff.ms": "50",
    "log.retention.ms": "-1",
    "transaction.partition.verification.enable": "false",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
TOPIC = "orders"
SCRAPES_MAX = 2_000
OTHER = 2
"""A second broker, which is there for the controller only."""
T = TypeVar("T")
Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]
Scrape = dict[str, Series]


class Story:
    """One node on one directory, in a process with its reader; ``run`` does something on the node's own loop."""

    def __init__(self, directory: Path) -> None:
        self.directories = [str(directory / name) for name in "ab"]
        self.broker = Broker({**PROPERTIES, "log.dirs": ",".join(self.directories)})
        self.other_broker_epoch = -1
        self.connections: list[Wire | socket.socket] = []
        """Those that stay open after the step that made them."""

    @property
    def node(self) -> Node:
        assert self.broker._node is not None
        return self.broker._node

    @property
    def replicas(self) -> Any:
        assert self.node._broker is not None
        return self.node._broker.replicas

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self.broker._thread is not None
        return self.broker._thread.run(coroutine)

    def poke(self, change: Callable[[], object]) -> None:
        """Change something inside, where no client can."""

        async def do() -> None:
            change()

        self.run(do())

    def scrape(self) -> Scrape:
        """What Prometheus would see."""
        port = self.node.metrics_port
        assert port is not None
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return parse(answer.read().decode())

    def until(self, reached: Callable[[Scrape], bool]) -> None:
        """Scrape until it is so."""
        assert any(reached(self.scrape()) for _ in range(SCRAPES_MAX))

    # -- what happens -------------------------------------------------------------------------------------------------

    def connect(self) -> Wire:
        return Wire(self.broker.bootstrap_servers)

    def produce(self, batch: bytes, *, topic: str = TOPIC, acks: int = 1, timeout_ms: int = 30_000) -> int:
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        with self.connect() as wire:
            answer = wire.ask(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data]), 9)
        code: int = answer.responses[0].partition_responses[0].error_code
        return code

    def fetch(
        self, offset: int, *, topic: str = TOPIC, max_wait_ms: int = 0, replica_id: int = -1, epoch: int = -1
    ) -> Any:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=replica_id,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            session_epoch=epoch,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        )
        with self.connect() as wire:
            return wire.ask(request, 12)


async def get(port: int, line: bytes = b"GET /metrics HTTP/1.0") -> str:
    """What comes back for a request, without its head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line + b"\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode()


def parse(text: str) -> Scrape:
    """By family; what is beside the quantiles of a histogram belongs to the histogram."""
    shown: Scrape = {}
    for family in text_string_to_metric_families(text):
        name = family.name.rpartition("_")[0] if family.name.endswith(("_count", "_sum", "_max")) else family.name
        series = shown.setdefault(name if name in shown else family.name, {})
        for sample in family.samples:
            series[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return shown


def moved(before: Scrape, after: Scrape) -> set[str]:
    """The families of which a value has changed; a series that comes with 0 has not moved anything."""
    return {
        name
        for name in before.keys() | after.keys()
        if _without_zeros(before.get(name, {})) != _without_zeros(after.get(name, {}))
    }


def _without_zeros(series: Series) -> Series:
    return {key: number for key, number in series.items() if number}


def value(scrape: Scrape, name: str, **labels: str) -> float | None:
    """One value."""
    family = scrape.get(name.removesuffix("_total"), {})
    return family.get((name, tuple(sorted(labels.items()))))


def batch(count: int = 1, *, value_bytes: int = 10, **producer: Any) -> bytes:
    """Some records."""
    return bytes(build_batch([SimpleRecord(1_700_000_000_000, b"key", b"x" * value_bytes)] * count, **producer))


# -- the story --------------------------------------------------------------------------------------------------------


def a_topic_is_made(story: Story) -> None:
    create_topic(story.broker.bootstrap_servers, TOPIC, partitions=2)


def records_are_produced(story: Story) -> None:
    assert story.produce(batch(3)) == 0


def a_client_says_what_it_is(story: Story) -> None:
    wire = story.connect()
    story.connections.append(wire)
    wire.ask(ApiVersionsRequest(client_software_name="teller", client_software_version="1.0"), 3)


def a_producer_gets_an_id(story: Story) -> None:
    with story.connect() as wire:
        answer = wire.ask(InitProducerIdRequest(transactional_id=None), 4)
    assert story.produce(batch(producer_id=answer.producer_id, producer_epoch=0, base_sequence=0)) == 0


def a_batch_is_too_large(story: Story) -> None:
    create_topic(story.broker.bootstrap_servers, "small", configs=[("max.message.bytes", "100")])
    assert story.produce(batch(value_bytes=200), topic="small") == 10


def a_batch_is_corrupt(story: Story) -> None:
    corrupt = bytearray(batch())
    corrupt[-1] ^= 1
    assert story.produce(bytes(corrupt)) == 2


def a_sequence_has_a_gap(story: Story) -> None:
    assert story.produce(batch(producer_id=0, producer_epoch=0, base_sequence=7)) == 45


def records_are_consumed(story: Story) -> None:
    assert story.fetch(0).responses[0].partitions[0].records


def a_consumer_waits_in_vain(story: Story) -> None:
    assert not story.fetch(_end(story), max_wait_ms=1).responses[0].partitions[0].records


def a_follower_fetches(story: Story) -> None:
    assert story.fetch(0, topic="followed", replica_id=OTHER).responses[0].partitions[0].records


def a_follower_waits_in_vain(story: Story) -> None:
    assert not story.fetch(1, topic="followed", max_wait_ms=1, replica_id=OTHER).responses[0].partitions[0].records


def sessions_compete(story: Story) -> None:
    first = story.fetch(0, epoch=0)
    assert first.session_id
    story.poke(lambda: setattr(story.node._broker.services.fetch_sessions, "_eviction_ms", -1))  # type: ignore[union-attr]
    assert story.fetch(0, epoch=0).session_id not in (0, first.session_id)


def records_are_deleted(story: Story) -> None:
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])],
        timeout_ms=30_000,
    )
    with story.connect() as wire:
        assert wire.ask(request, 2).topics[0].partitions[0].error_code == 0


def a_consumer_waits(story: Story) -> None:
    """And is still waiting when somebody looks."""
    wire = story.connect()
    partition = FetchPartition(partition=0, fetch_offset=_end(story), partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=TOPIC, partitions=[partition])]
    wire.send(FetchRequest(max_wait_ms=600_000, min_bytes=1, topics=topics), 12)
    story.connections.append(wire)
    name = "kafka_server_delayedoperationpurgatory_numdelayedoperations"
    story.until(lambda shown: value(shown, name, delayedOperation="Fetch") == 1)


def frames_hold_the_memory(story: Story) -> None:
    """Two halves of frames that do not go into the pool together."""
    for _ in range(2):
        half = socket.create_connection(("127.0.0.1", int(story.broker.bootstrap_servers.rpartition(":")[2])))
        half.sendall(struct.pack(">ihhi", POOL_BYTES, 3, 12, 1) + b"x" * 100)
        story.connections.append(half)
    story.until(lambda shown: value(shown, "kafka_network_socketserver_memorypoolavailable", plane="broker") == 0)


def everybody_hangs_up(story: Story) -> None:
    while story.connections:
        story.connections.pop().close()
    story.until(lambda shown: value(shown, "kafka_network_socketserver_memorypoolused", plane="broker") == 0)


def another_broker_comes(story: Story) -> None:
    with Wire(f"127.0.0.1:{story.node.controller_port}") as wire:
        answer = wire.ask(
            BrokerRegistrationRequest(
                broker_id=OTHER,
                cluster_id=story.node.cluster_id,
                incarnation_id=Uuid(b"i" * 16),
                listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=1)],
                features=[
                    Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                    for name, levels in SERVED_FEATURES.items()
                ],
                log_dirs=[Uuid(b"d" * 16)],
            ),
            4,
        )
        assert answer.error_code == 0
        story.other_broker_epoch = answer.broker_epoch
        offset = int(value(story.scrape(), "kafka_controller_kafkacontroller_lastcommittedrecordoffset") or 0)
        beat = BrokerHeartbeatRequest(
            broker_id=OTHER, broker_epoch=answer.broker_epoch, current_metadata_offset=offset, want_fence=False
        )
        assert not wire.ask(beat, 1).is_fenced
        with story.connect() as client:
            topics = [
                CreatableTopic(
                    name=name,
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=brokers)],
                    configs=[CreatableTopicConfig(name="min.insync.replicas", value=min_isr)],
                )
                for name, brokers, min_isr in (
                    ("shared", [OTHER, 1], "1"),
                    ("followed", [1, OTHER], "2"),
                    ("elsewhere", [OTHER], "1"),
                )
            ]
            answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
            assert [topic.error_code for topic in answer.topics] == [0, 0, 0]
    name = "kafka_cluster_partition_replicascount"
    story.until(lambda shown: value(shown, name, topic="followed", partition="0") == 2)


def acks_do_not_come(story: Story) -> None:
    """The other broker is in sync, as far as anybody knows, but fetches nothing."""
    assert story.produce(batch(), topic="followed", acks=-1, timeout_ms=1) == 7


def deleting_waits_in_vain(story: Story) -> None:
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="followed", partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])],
        timeout_ms=1,
    )
    with story.connect() as wire:
        assert wire.ask(request, 2).topics[0].partitions[0].error_code == 7


def the_other_broker_wants_to_go(story: Story) -> None:
    """It leads a partition that nobody else can, so that it may not."""
    with Wire(f"127.0.0.1:{story.node.controller_port}") as wire:
        beat = BrokerHeartbeatRequest(
            broker_id=OTHER, broker_epoch=story.other_broker_epoch, current_metadata_offset=1 << 40, want_shut_down=True
        )
        assert not wire.ask(beat, 1).should_shut_down


def the_other_broker_is_lost(story: Story) -> None:
    """Nobody has heard of it for a session."""
    sessions = story.node._controller.controller._driver.sessions  # type: ignore[union-attr]
    story.poke(lambda: sessions.track(OTHER, story.other_broker_epoch, -SESSION_MS))
    story.until(lambda shown: value(shown, "kafka_controller_kafkacontroller_fencedbrokercount") == 1)


def topics_are_deleted(story: Story) -> None:
    with story.connect() as wire:
        answer = wire.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="small")], timeout_ms=30_000), 6)
    assert answer.responses[0].error_code == 0
    story.until(lambda shown: value(shown, "kafka_log_log_size", topic="small", partition="0") is None)


def a_record_goes_to_the_disk(story: Story) -> None:
    create_topic(story.broker.bootstrap_servers, "synced", configs=[("flush.messages", "1")])
    assert story.produce(batch(), topic="synced") == 0


def a_transaction_is_left_open(story: Story) -> None:
    """It began years ago, by its timestamps."""
    records = batch(producer_id=0, producer_epoch=0, base_sequence=0, transactional=True)
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=1, records=records)])
    with story.connect() as wire:
        answer = wire.ask(ProduceRequest(transactional_id="t", acks=1, timeout_ms=30_000, topic_data=[data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def a_read_fails(story: Story) -> None:
    """As no client can make it."""

    def fail(*_: object, **__: object) -> None:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "made to fail")

    disk = story.replicas.partitions.get(TopicPartition(TOPIC, 0)).log.disk
    story.poke(lambda: setattr(disk, "check", fail))
    assert story.fetch(1).responses[0].partitions[0].error_code == -1
    story.poke(lambda: delattr(disk, "check"))


def a_disk_fails(story: Story) -> None:
    """Not that with the metadata, without which there would be no more to tell."""
    failed = story.directories[1]
    manager = story.node._log_manager
    assert manager is not None
    story.poke(lambda: manager.handle_directory_failure(failed, OSError("made to fail")))


def the_node_restarts(story: Story) -> None:
    story.broker.restart()


def _end(story: Story) -> int:
    return int(value(story.scrape(), "kafka_log_log_logendoffset", topic=TOPIC, partition="0") or 0)
