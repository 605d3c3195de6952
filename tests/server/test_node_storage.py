"""A node's disks and its configuration while it runs: several directories, moves, failures, changes, snapshots."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.controller.configs import OpType
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from ottla.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.testing import Broker
from tests.server.conftest import KEEP_ALL
from tests.server.inside import inside, partition_of
from tests.server.records_on_wire import append, append_on, read_values
from tests.server.wire import Wire, create_topic, eventually

EARLIEST = -2


@pytest.fixture
def disks(tmp_path: Path) -> tuple[Path, Path]:
    """Two data directories."""
    return tmp_path / "a", tmp_path / "b"


@pytest.fixture
def jbod(disks: tuple[Path, Path]) -> Iterator[Broker]:
    """A broker with two data directories."""
    with Broker({**KEEP_ALL, "log.dirs": ",".join(map(str, disks))}) as broker:
        yield broker


def where(broker: Broker, topic: str) -> dict[int, str]:
    """The data directory of each partition; what is on its way to another one has a second place, not told here."""
    with Wire(broker.bootstrap_servers) as wire:
        response = wire.ask(DescribeLogDirsRequest(topics=None), 4)
    return {
        partition.partition_index: result.log_dir
        for result in response.results
        for each in result.topics
        if each.name == topic
        for partition in each.partitions
        if not partition.is_future_key
    }


def registrations(broker: Broker, topic: str) -> dict[int, PartitionRegistration]:
    return inside(broker, lambda server: dict(server.metadata.image.topics.by_name[topic].partitions))


def move(broker: Broker, topic: str, partition: int, directory: Path) -> None:
    """Move a replica and wait until it has arrived."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[partition])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(directory), topics=topics)])
    with Wire(broker.bootstrap_servers) as wire:
        ((result,),) = [each.partitions for each in wire.ask(request, 2).results]
    assert result.error_code == 0
    for _ in eventually():
        if where(broker, topic)[partition] == str(directory):
            return


def alter(broker: Broker, type_: ConfigResourceType, name: str, *changes: tuple[str, str]) -> None:
    configs = [AlterableConfig(name=key, config_operation=OpType.SET, value=value) for key, value in changes]
    resource = AlterConfigsResource(resource_type=type_, resource_name=name, configs=configs)
    with Wire(broker.bootstrap_servers) as wire:
        (result,) = wire.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert result.error_code == 0, result.error_message


# -- several data directories -----------------------------------------------------------------------------------------


def test_partitions_are_spread_and_the_controller_knows_where(jbod: Broker, disks: tuple[Path, Path]) -> None:
    create_topic(jbod.bootstrap_servers, "t", partitions=6)
    found = where(jbod, "t")
    assert sorted(found) == list(range(6))
    assert [list(found.values()).count(str(disk)) for disk in disks] == [3, 3]
    ids = inside(jbod, lambda server: {each.path: each.directory_id for each in server.log_manager.directories.online})
    for _ in eventually():
        if all(
            tuple(partition.directories) == (ids[found[index]],)
            for index, partition in registrations(jbod, "t").items()
        ):
            return


def test_a_replica_moves_under_load(jbod: Broker, disks: tuple[Path, Path]) -> None:
    create_topic(jbod.bootstrap_servers, "t")
    sent: list[bytes] = []
    stopping = threading.Event()

    def write() -> None:
        with Wire(jbod.bootstrap_servers) as wire:
            while not stopping.is_set():
                values = [b"%d" % number for number in range(len(sent), len(sent) + 10)]
                append_on(wire, "t", *values)
                sent.extend(values)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for _ in range(4):
        here = where(jbod, "t")[0]
        move(jbod, "t", 0, next(disk for disk in disks if str(disk) != here))
    stopping.set()
    writer.join(20)
    assert not writer.is_alive()
    assert read_values(jbod.bootstrap_servers, "t") == sent
    final = where(jbod, "t")
    jbod.restart()
    assert where(jbod, "t") == final
    assert read_values(jbod.bootstrap_servers, "t") == sent


def test_a_failed_directory_takes_only_its_partitions_offline(jbod: Broker, disks: tuple[Path, Path]) -> None:
    create_topic(jbod.bootstrap_servers, "t", partitions=4)
    for index in range(4):
        append(jbod.bootstrap_servers, "t", b"value", partition=index)
    metadata_dir = inside(jbod, lambda server: server.log_manager.directories.online[0].path)
    lost = next(str(disk) for disk in disks if str(disk) != metadata_dir)
    on_lost = [index for index, directory in where(jbod, "t").items() if directory == lost]
    kept = [index for index in range(4) if index not in on_lost]
    assert on_lost
    assert kept

    def break_it() -> None:
        partition = partition_of(server_holder[0], "t", on_lost[0])
        log = partition.log
        assert log is not None
        log.disk.failed("testing", OSError(5, "the disk is gone"))

    server_holder = [inside(jbod, lambda server: server)]
    inside(jbod, lambda _: break_it())
    for index in kept:
        append(jbod.bootstrap_servers, "t", b"after", partition=index)
        assert read_values(jbod.bootstrap_servers, "t", index) == [b"value", b"after"]
    for index in on_lost:
        with pytest.raises(AssertionError, match="error"):
            append(jbod.bootstrap_servers, "t", b"after", partition=index)
    for _ in eventually():
        leaders = {index: each.leader for index, each in registrations(jbod, "t").items()}
        if leaders == {**dict.fromkeys(on_lost, -1), **dict.fromkeys(kept, 1)}:
            return


# -- after a kill -----------------------------------------------------------------------------------------------------


def test_leaders_are_recovered_after_a_kill(tmp_path: Path) -> None:
    with Broker(directory=tmp_path) as broker:
        create_topic(broker.bootstrap_servers, "t", partitions=3)
        append(broker.bootstrap_servers, "t", b"one")
        broker.kill()
        broker.start()
        for _ in eventually():
            found = registrations(broker, "t").values()
            if all(each.leader == 1 for each in found) and all(
                each.leader_recovery_state is LeaderRecoveryState.RECOVERED for each in found
            ):
                break
        assert all(list(each.isr) == [1] for each in found)
        assert read_values(broker.bootstrap_servers, "t") == [b"one"]


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill])
def test_producer_ids_do_not_come_back(tmp_path: Path, end: object) -> None:
    assert callable(end)
    ids: list[int] = []
    with Broker(directory=tmp_path) as broker:
        for _ in range(4):
            with Wire(broker.bootstrap_servers) as wire:
                request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
                ids += [wire.ask(request, 4).producer_id for _ in range(3)]
            end(broker)
            broker.start()
    assert -1 not in ids
    assert len(set(ids)) == len(ids)


# -- configurations ---------------------------------------------------------------------------------------------------


def log_start(broker: Broker, topic: str) -> int:
    asked = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    with Wire(broker.bootstrap_servers) as wire:
        ((answer,),) = [each.partitions for each in wire.ask(request, 5).topics]
    start: int = answer.offset
    return start


def test_configurations_change_live_and_outlive_a_restart(tmp_path: Path) -> None:
    # What is deleted is deleted for its size.
    properties = {**KEEP_ALL, "log.retention.check.interval.ms": "20", "log.initial.task.delay.ms": "0"}
    with Broker(properties, directory=tmp_path) as broker:
        address = broker.bootstrap_servers
        for name in ("by-topic", "by-broker"):
            create_topic(address, name)

        def settings(topic: str) -> tuple[int, int]:
            def look() -> tuple[int, int]:
                log = partition_of(servers[0], topic).log
                assert log is not None
                return log.config.segment_bytes, log.config.retention_bytes

            servers = [inside(broker, lambda server: server)]
            return inside(broker, lambda _: look())

        assert settings("by-topic") == settings("by-broker") == (1 << 30, -1)
        alter(
            broker,
            ConfigResourceType.TOPIC,
            "by-topic",
            ("segment.bytes", str(1 << 20)),
            ("retention.bytes", "1"),
        )
        alter(broker, ConfigResourceType.BROKER, "", ("log.retention.bytes", "2097152"))
        for _ in eventually():
            if settings("by-topic") == (1 << 20, 1) and settings("by-broker") == (1 << 30, 2097152):
                break
        with Wire(address) as wire:
            for _ in range(3):
                append_on(wire, "by-topic", b"x" * 900_000)
        for _ in eventually():
            if log_start(broker, "by-topic") > 0:
                break
        broker.restart()
        assert settings("by-topic") == (1 << 20, 1)
        assert settings("by-broker") == (1 << 30, 2097152)


def test_a_limit_of_connections_takes_effect_at_once() -> None:
    with Broker() as broker:
        address = broker.bootstrap_servers
        alter(broker, ConfigResourceType.BROKER, "1", ("max.connections.per.ip", "2"))

        def limit() -> int:
            return inside(broker, lambda server: server.services.config.current.network.max_connections_per_ip)

        for _ in eventually():
            if limit() == 2:
                break
        with Wire(address) as one, Wire(address) as two, Wire(address) as three:
            assert three.is_hung_up()
            request = DescribeLogDirsRequest(topics=None)
            assert one.ask(request, 4).error_code == two.ask(request, 4).error_code == 0


# -- snapshots --------------------------------------------------------------------------------------------------------


def test_the_metadata_is_restarted_from_a_snapshot(tmp_path: Path) -> None:
    properties = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    metadata = tmp_path / "__cluster_metadata-0"
    with Broker(properties, directory=tmp_path) as broker:
        first = sorted(metadata.glob("*.checkpoint"))
        for number in range(40):
            create_topic(broker.bootstrap_servers, f"topic-{number}")
        for _ in eventually():
            if len(set(metadata.glob("*.checkpoint")) - set(first)) >= 2:
                break
        for end in (Broker.stop, Broker.kill):
            end(broker)
            broker.start()
            assert inside(broker, lambda server: len(server.metadata.image.topics.by_name)) == 40
            append(broker.bootstrap_servers, "topic-39", b"value")
        assert read_values(broker.bootstrap_servers, "topic-39") == [b"value", b"value"]
