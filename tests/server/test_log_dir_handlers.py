"""DescribeLogDirs and AlterReplicaLogDirs on a broker with disks in memory, which have names of real directories."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.headers import RequestHeader
from ottla.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from ottla.runtime.inline import run
from ottla.server.authorizer import AllowAll
from ottla.server.handlers import alter_replica_log_dirs, describe_log_dirs
from tests.replication.replica_machine import T0, TOPIC, Broker

T1 = TopicPartition(TOPIC, 1)
HIGHEST = 5


class RefuseAll(AllowAll):
    """Nobody may do anything."""

    def authorize(self, *_: object) -> bool:
        """No."""
        return False


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    """Two directories that exist, so that they have a size."""
    found = (tmp_path / "a", tmp_path / "b")
    for path in found:
        path.mkdir()
    return str(found[0]), str(found[1])


@pytest.fixture
def broker(paths: tuple[str, str]) -> Broker:
    """Two partitions, one in each directory."""
    broker = Broker(*paths)
    broker.replay(*BootstrapMetadata.default().records)
    broker.create(partitions=2)
    return broker


def describe(
    broker: Broker, *asked: tuple[str, Sequence[int]], version: int = HIGHEST, **services: Any
) -> list[DescribeLogDirsResult]:
    """DescribeLogDirs over the wire; about everything if nothing is named."""
    topics = [DescribableLogDirTopic(topic=topic, partitions=partitions) for topic, partitions in asked]
    request = DescribeLogDirsRequest(topics=topics or None)
    where = context(ApiKey.DESCRIBE_LOG_DIRS, version)
    response = run(describe_log_dirs.handle(services_of(broker, **services), where, request))
    return list(decode(DescribeLogDirsResponse, encode(response, version), version).results)


def alter(broker: Broker, *wanted: tuple[TopicPartition, str], **services: Any) -> dict[TopicPartition, int]:
    """AlterReplicaLogDirs over the wire: the error of each replica."""
    response = run(
        alter_replica_log_dirs.handle(
            services_of(broker, **services), context(ApiKey.ALTER_REPLICA_LOG_DIRS, 2), moves(*wanted)
        )
    )
    answer = decode(AlterReplicaLogDirsResponse, encode(response, 2), 2)
    return {
        TopicPartition(topic.topic_name, partition.partition_index): partition.error_code
        for topic in answer.results
        for partition in topic.partitions
    }


def moves(*wanted: tuple[TopicPartition, str]) -> AlterReplicaLogDirsRequest:
    """Replicas and where they shall go."""
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=moved.topic, partitions=[moved.partition])]
            )
            for moved, path in wanted
        ]
    )


def services_of(broker: Broker, **services: Any) -> Any:
    """What the handlers see of a broker."""
    bundle = SimpleNamespace(
        runtime=broker.machine.runtime,
        replicas=broker.replicas,
        metadata=SimpleNamespace(image=broker.image),
        config=SimpleNamespace(current=SimpleNamespace(log=broker.machine.config)),
        authorizer=AllowAll(),
    )
    vars(bundle).update(services)
    return bundle


def context(api_key: ApiKey, version: int) -> Any:
    """A request of an anonymous client."""
    return SimpleNamespace(header=RequestHeader(api_key, version, 1, None), principal="User:ANONYMOUS")


def replicas(result: DescribeLogDirsResult) -> dict[TopicPartition, tuple[int, int, bool]]:
    """Size, lag and whether it is a future one, of each replica in a directory."""
    return {
        TopicPartition(topic.name, partition.partition_index): (
            partition.partition_size,
            partition.offset_lag,
            partition.is_future_key,
        )
        for topic in result.topics
        for partition in topic.partitions
    }


def test_every_directory_with_its_replicas_and_its_room(broker: Broker, paths: tuple[str, str]) -> None:
    broker.append(T0, count=3)
    results = describe(broker)
    assert [result.log_dir for result in results] == list(paths)
    assert [list(replicas(result)) for result in results] == [[T0], [T1]]
    assert replicas(results[0])[T0] == (broker.log(T0).size_in_bytes, 0, False)
    assert replicas(results[1])[T1] == (0, 0, False)
    for result, path in zip(results, paths, strict=True):
        found = os.statvfs(path)
        assert (result.error_code, result.total_bytes) == (0, found.f_blocks * found.f_frsize)
        assert 0 < result.usable_bytes <= result.total_bytes
        assert not result.is_cordoned


@pytest.mark.parametrize("version", range(1, HIGHEST + 1))
def test_only_what_is_asked_for(broker: Broker, version: int) -> None:
    first, second = describe(broker, (TOPIC, [1, 7]), ("nobody", [0]), version=version)
    assert (first.topics, list(replicas(second))) == ([], [T1])
    assert (second.total_bytes > 0) == (version >= 4)


def test_a_future_replica_lags_behind_the_one_that_it_will_replace(broker: Broker, paths: tuple[str, str]) -> None:
    broker.append(T0, count=3)
    broker.log_manager.get_or_create_log(T0, is_future=True, directory=paths[1])
    assert replicas(describe(broker, (TOPIC, [0]))[1])[T0] == (0, 3, True)


def test_the_lag_of_a_replica_without_a_partition_is_unknown(broker: Broker) -> None:
    stray = TopicPartition("stray", 0)
    broker.log_manager.get_or_create_log(stray)
    found = {key: value for result in describe(broker) for key, value in replicas(result).items()}
    assert found[stray] == (0, -1, False)


def test_an_offline_directory_is_an_error_and_the_other_is_not(broker: Broker, paths: tuple[str, str]) -> None:
    broker.log_manager.handle_directory_failure(paths[0], OSError("gone"))
    first, second = describe(broker)
    assert (first.error_code, first.log_dir, first.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, paths[0], [])
    assert (first.total_bytes, first.usable_bytes) == (-1, -1)
    assert (second.error_code, list(replicas(second))) == (0, [T1])


def test_a_directory_without_a_size_is_an_error(broker: Broker, paths: tuple[str, str]) -> None:
    Path(paths[1]).rmdir()
    first, second = describe(broker)
    assert (first.error_code, second.error_code) == (0, ErrorCode.UNKNOWN_SERVER_ERROR)


def test_cordoned_directories(paths: tuple[str, str]) -> None:
    broker = Broker(*paths, cordoned_log_dirs=(paths[1],))
    broker.replay(*BootstrapMetadata.default().records)
    assert [result.is_cordoned for result in describe(broker)] == [False, True]


def test_nobody_without_permission(broker: Broker) -> None:
    with pytest.raises(ApiError) as refused:
        describe(broker, authorizer=RefuseAll())
    assert refused.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


# -- moving -----------------------------------------------------------------------------------------------------------


def test_a_replica_that_lies_where_it_is_wanted_stays(broker: Broker, paths: tuple[str, str]) -> None:
    assert alter(broker, (T0, paths[0]), (T1, paths[1])) == {T0: 0, T1: 0}
    assert broker.log_manager.future_logs == {}


def test_a_move_ends_in_the_other_directory(broker: Broker, paths: tuple[str, str]) -> None:
    broker.append(T0, count=3)
    assert alter(broker, (T0, paths[1])) == {T0: 0}
    assert [list(replicas(result)) for result in describe(broker, (TOPIC, [0]))] == [[], [T0]]
    assert broker.log(T0).log_end_offset == 3


def test_each_move_has_its_own_error(broker: Broker, paths: tuple[str, str]) -> None:
    nobody = TopicPartition("nobody", 0)
    too_long = TopicPartition("x" * 249, 0)
    assert alter(broker, (nobody, paths[0]), (T0, "/elsewhere"), (too_long, paths[0]), (T1, paths[1])) == {
        nobody: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        T0: ErrorCode.LOG_DIR_NOT_FOUND,
        too_long: ErrorCode.INVALID_TOPIC_EXCEPTION,
        T1: ErrorCode.NONE,
    }


def test_nothing_moves_to_a_cordoned_or_an_offline_directory(paths: tuple[str, str]) -> None:
    broker = Broker(*paths, cordoned_log_dirs=(paths[1],))
    broker.create()
    assert alter(broker, (T0, paths[1])) == {T0: ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    broker.log_manager.handle_directory_failure(paths[1], OSError("gone"))
    assert alter(broker, (T0, paths[1])) == {T0: ErrorCode.KAFKA_STORAGE_ERROR}


def test_moving_needs_permission(broker: Broker, paths: tuple[str, str]) -> None:
    with pytest.raises(ApiError) as refused:
        alter(broker, (T0, paths[1]), authorizer=RefuseAll())
    assert refused.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    response = alter_replica_log_dirs.error_response(moves((T0, paths[1])), refused.value)
    assert response.results[0].partitions[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
