"""ListOffsets over the wire: every special timestamp in every version, times, isolation, errors."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.builder import SimpleRecord, build_batch
from tests.server.wire import Wire, create_topic

VERSIONS = range(1, 12)
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


class Found(NamedTuple):
    error: int
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "false", "transaction.partition.verification.enable": "false"}


@pytest.fixture
def filled(address: str, topic: str) -> str:
    """Offsets 0–5 with the times 100, 300, 200, 300, 400, 350, of which 0 and 1 are deleted; in three batches."""
    create_topic(address, topic)
    with Wire(address) as wire:
        for times in ((100, 300), (200, 300), (400, 350)):
            records = bytes(build_batch([SimpleRecord(time, None, b"v") for time in times]))
            data = PartitionProduceData(index=0, records=records)
            request = ProduceRequest(
                acks=-1, timeout_ms=9_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            )
            ((answer,),) = [each.partition_responses for each in wire.ask(request, 9).responses]
            assert answer.error_code == 0
        delete = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
        ((deleted,),) = [
            each.partitions for each in wire.ask(DeleteRecordsRequest(topics=[delete], timeout_ms=9_000), 2).topics
        ]
        assert (deleted.error_code, deleted.low_watermark) == (0, 2)
    return topic


def ask(
    wire: Wire, topic: str, timestamp: int, version: int, *, partition: int = 0, epoch: int = -1, **options: int
) -> Found:
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(
        **{"replica_id": -1, "timeout_ms": 9_000, **options},
        topics=[ListOffsetsTopic(name=topic, partitions=[asked])],
    )
    ((answer,),) = [each.partitions for each in wire.ask(request, version).topics]
    assert answer.partition_index == partition
    return Found(answer.error_code, answer.timestamp, answer.offset, answer.leader_epoch)


def epoch_of(version: int) -> int:
    return 0 if version >= 4 else -1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timestamp", SINCE)
def test_special_timestamps(wire: Wire, filled: str, version: int, timestamp: int) -> None:
    expected = {
        LATEST: Found(0, -1, 6, epoch_of(version)),
        EARLIEST: Found(0, -1, 2, epoch_of(version)),
        MAX_TIMESTAMP: Found(0, 400, 4, epoch_of(version)),
        EARLIEST_LOCAL: Found(0, -1, 2, epoch_of(version)),
        LATEST_TIERED: Found(0, -1, -1, -1),
        EARLIEST_PENDING_UPLOAD: Found(0, -1, -1, -1),
    }[timestamp]
    if version < SINCE[timestamp]:
        expected = Found(ErrorCode.UNSUPPORTED_VERSION)
    assert ask(wire, filled, timestamp, version) == expected


@pytest.mark.parametrize("version", [1, 11])
def test_a_timestamp_that_means_nothing(wire: Wire, filled: str, version: int) -> None:
    assert ask(wire, filled, -7, version) == Found(ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("time", "timestamp", "offset"),
    [(0, 200, 2), (200, 200, 2), (201, 300, 3), (300, 300, 3), (301, 400, 4), (400, 400, 4)],
)
def test_times(wire: Wire, filled: str, version: int, time: int, timestamp: int, offset: int) -> None:
    assert ask(wire, filled, time, version) == Found(0, timestamp, offset, epoch_of(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_time_after_the_last(wire: Wire, filled: str, version: int) -> None:
    assert ask(wire, filled, 401, version) == Found(0)


@pytest.mark.parametrize("version", [1, 4, 11])
def test_an_empty_partition(wire: Wire, address: str, topic: str, version: int) -> None:
    create_topic(address, topic)
    assert ask(wire, topic, LATEST, version) == Found(0, -1, 0, epoch_of(version))
    assert ask(wire, topic, EARLIEST, version)[:3] == (0, -1, 0)
    assert ask(wire, topic, 0, version) == Found(0)


@pytest.mark.parametrize("version", [1, 6, 11])
def test_what_is_not_there(wire: Wire, filled: str, version: int) -> None:
    for name, partition in (("nowhere", 0), (filled, 1), (filled, -1)):
        answer = ask(wire, name, LATEST, version, partition=partition)
        assert answer == Found(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("version", [4, 11])
def test_leader_epochs(wire: Wire, filled: str, version: int) -> None:
    assert ask(wire, filled, LATEST, version, epoch=0).error == 0
    assert ask(wire, filled, LATEST, version, epoch=1) == Found(ErrorCode.UNKNOWN_LEADER_EPOCH)


@pytest.mark.parametrize("version", [1, 11])
def test_a_partition_that_is_named_twice(wire: Wire, filled: str, version: int) -> None:
    twice = [ListOffsetsPartition(partition_index=0, timestamp=time) for time in (LATEST, EARLIEST)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=filled, partitions=twice)])
    (answer,) = wire.ask(request, version).topics
    assert {each.error_code for each in answer.partitions} == {ErrorCode.INVALID_REQUEST}


def test_an_open_transaction_bounds_readers_of_what_is_committed(wire: Wire, filled: str) -> None:
    records = build_batch(
        [SimpleRecord(500, None, b"open")], producer_id=9, producer_epoch=0, base_sequence=0, transactional=True
    )
    data = PartitionProduceData(index=0, records=bytes(records))
    request = ProduceRequest(
        transactional_id="t",
        acks=-1,
        timeout_ms=9_000,
        topic_data=[TopicProduceData(name=filled, partition_data=[data])],
    )
    ((answer,),) = [each.partition_responses for each in wire.ask(request, 9).responses]
    assert (answer.error_code, answer.base_offset) == (0, 6)
    for version in (2, 11):
        assert ask(wire, filled, LATEST, version).offset == 7
        assert ask(wire, filled, LATEST, version, isolation_level=1).offset == 6
        assert ask(wire, filled, 450, version) == Found(0, 500, 6, epoch_of(version))
        assert ask(wire, filled, 450, version, isolation_level=1) == Found(0)
    assert ask(wire, filled, MAX_TIMESTAMP, 11, isolation_level=1) == Found(0)
    assert ask(wire, filled, LATEST, 11, replica_id=-2, isolation_level=1).offset == 7, "a debugger sees everything"
