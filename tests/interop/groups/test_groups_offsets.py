"""Offsets: committed with metadata and without membership, reset, refused, forgotten."""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata as AiokafkaOffset
from aiokafka.structs import TopicPartition as AiokafkaPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from kafka.structs import OffsetAndMetadata as PythonOffset

from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.interop.clients.client import RefusedError
from tests.interop.groups.crew import Crew, await_processed, await_shared
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import BOUND_S
from tests.interop.groups.kinds import CONFLUENT_CONSUMER, CONFLUENT_COOPERATIVE, CONFLUENT_RANGE, Kind, kinds, member
from tests.interop.groups.member_spec import Partition
from tests.node import Node
from tests.server.wire import Wire

OFFSET_METADATA_TOO_LARGE = 12
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69

Committed = tuple[int, str] | None


def with_confluent(bootstrap: str, group: str, partition: Partition, offset: int, metadata: str) -> Committed:
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 2})) as consumer:
        consumer.assign([TopicPartition(*partition)])
        consumer.commit(offsets=[TopicPartition(*partition, offset, metadata)], asynchronous=False)
        (found,) = consumer.committed([TopicPartition(*partition)], BOUND_S)
        return found.offset, found.metadata or ""


def with_kafka_python(bootstrap: str, group: str, partition: Partition, offset: int, metadata: str) -> Committed:
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)) as consumer:
        assigned = PythonPartition(*partition)
        consumer.assign([assigned])
        consumer.commit({assigned: PythonOffset(offset, metadata, -1)})
        found = consumer.committed(assigned, metadata=True)
        return found.offset, found.metadata


def with_aiokafka(bootstrap: str, group: str, partition: Partition, offset: int, metadata: str) -> Committed:
    async def work() -> Committed:
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False) as consumer:
            assigned = AiokafkaPartition(*partition)
            consumer.assign([assigned])
            await consumer.commit({assigned: AiokafkaOffset(offset, metadata)})
            return await consumer.committed(assigned), metadata

    return asyncio.run(asyncio.wait_for(work(), BOUND_S))


Commit = Callable[[str, str, Partition, int, str], Committed]


@pytest.mark.parametrize("commit", [with_confluent, with_kafka_python, with_aiokafka])
def test_commit_with_metadata(kafka_cluster: Node, admin: GroupAdmin, topic: str, commit: Commit) -> None:
    """A consumer that assigns partitions to itself is in no generation; what it commits last is what counts."""
    partitions = admin.create_topic(topic, 2)
    for offset, metadata in ((7, "who and why: żółw"), (3, ""), (2**40, "m" * 4000)):
        assert commit(kafka_cluster.bootstrap, topic, partitions[1], offset, metadata) == (offset, metadata)
        ((committed, (found, stored)),) = admin.committed_with_metadata(topic).items()
        assert (committed, found) == (partitions[1], offset)
        assert (stored or "").removesuffix("\0") == metadata  # confluent-kafka ends it as C does
    described = admin.describe(topic)
    assert (described.state, described.kind, described.members) == ("EMPTY", "CLASSIC", {})


def test_metadata_has_a_bound(kafka_cluster: Node, admin: GroupAdmin, topic: str) -> None:
    (partition,) = admin.create_topic(topic)
    with pytest.raises(KafkaException) as refused:
        with_confluent(kafka_cluster.bootstrap, topic, partition, 1, "m" * 5000)
    assert refused.value.args[0].code() == OFFSET_METADATA_TOO_LARGE
    assert admin.committed(topic) == {}


def consumer_at(bootstrap: str, group: str, partition: Partition, reset: str) -> Consumer:
    """A consumer that begins where its group has stopped."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": reset,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(*partition)])
    return consumer


def first(consumer: Consumer) -> int | None:
    """The offset of the next record; None at the end of the partition."""
    message: Message | None = consumer.poll(BOUND_S)
    assert message is not None
    error = message.error()
    if error is not None and error.code() == KafkaError._PARTITION_EOF:
        return None
    if error is not None:
        raise KafkaException(error)
    return message.offset()


def test_where_a_consumer_begins(kafka_cluster: Node, admin: GroupAdmin, topic: str) -> None:
    """At what is committed; without it, or where that record is gone, at what auto.offset.reset says."""
    (partition,) = admin.create_topic(topic)
    admin.produce([partition], 20)
    admin.delete_records(partition, 5)

    def begins(reset: str) -> int | None:
        with closing(consumer_at(kafka_cluster.bootstrap, topic, partition, reset)) as consumer:
            return first(consumer)

    assert begins("earliest") == 5
    assert begins("latest") is None
    with pytest.raises(KafkaException):
        begins("error")
    admin.alter_offsets(topic, {partition: 12})
    assert [begins(reset) for reset in ("earliest", "latest", "error")] == [12, 12, 12]
    for out_of_range in (2, 100):
        admin.alter_offsets(topic, {partition: out_of_range})
        assert begins("earliest") == 5
        assert begins("latest") is None
    admin.alter_offsets(topic, {partition: 20})
    with closing(consumer_at(kafka_cluster.bootstrap, topic, partition, "error")) as consumer:
        assert first(consumer) is None
        consumer.seek(TopicPartition(*partition, 8))
        assert first(consumer) == 8
        consumer.commit(offsets=[TopicPartition(*partition, 9)], asynchronous=False)
    assert admin.committed(topic) == {partition: 9}


@kinds([CONFLUENT_RANGE, CONFLUENT_CONSUMER])
def test_what_is_refused_while_members_live(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    partitions = admin.create_topic(topic, 1)
    admin.produce(partitions)
    one = crew.join(member(kind, topic))
    await_processed([one], admin.ends)
    admin.await_committed(topic)
    with pytest.raises(RefusedError) as refused:
        admin.delete_group(topic)
    assert refused.value.code == NON_EMPTY_GROUP
    assert admin.alter_offsets(topic, {partitions[0]: 3}) == {partitions[0]: "UNKNOWN_MEMBER_ID"}
    assert admin.committed(topic) == admin.ends
    one.leave()
    assert admin.alter_offsets(topic, {partitions[0]: 3}) == {partitions[0]: None}
    admin.delete_group(topic)
    assert admin.committed(topic) == {}
    assert topic not in admin.groups()
    with pytest.raises(RefusedError) as refused:
        admin.delete_group(topic)
    assert refused.value.code == GROUP_ID_NOT_FOUND


@kinds([CONFLUENT_RANGE, CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER])
def test_commits_of_the_past_are_refused(
    kafka_cluster: Node, crew: Crew, admin: GroupAdmin, topic: str, kind: Kind
) -> None:
    """A member that stood still till others had taken its partitions does not commit any more."""
    partitions = admin.create_topic(topic, 2)
    admin.produce(partitions)
    protocol = {"partition.assignment.strategy": kind.assignor} if kind.assignor else {"group.protocol": "consumer"}
    slow = Consumer(
        {
            "bootstrap.servers": kafka_cluster.bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "max.poll.interval.ms": 3000,
            "log_level": 2,
            **({"session.timeout.ms": 3000} if kind.assignor else {}),
            **protocol,
        }
    )
    slow.subscribe([topic])
    with closing(slow):
        read = None
        while read is None:
            read = slow.poll(BOUND_S)
            assert read is not None
            if read.error() is not None:
                read = None
        other = crew.join(member(kind, topic))
        await_shared([other], partitions)
        await_processed([other], admin.ends)
        admin.await_committed(topic)
        with pytest.raises(KafkaException):
            slow.commit(message=read, asynchronous=False)
        assert admin.committed(topic) == admin.ends


def test_offsets_are_forgotten(kafka_cluster: Node, admin: GroupAdmin, topic: str) -> None:
    """Commits may say how long they are kept, up to version 4; a group that has none left is gone."""
    partitions = admin.create_topic(topic, 2)
    brief, both = f"{topic}-brief", f"{topic}-both"
    admin.alter_offsets(both, {partitions[0]: 5})
    with Wire(kafka_cluster.bootstrap) as wire:
        for group in (brief, both):
            topics = [
                OffsetCommitRequestTopic(
                    name=topic, partitions=[OffsetCommitRequestPartition(partition_index=1, committed_offset=9)]
                )
            ]
            request = OffsetCommitRequest(group_id=group, topics=topics, retention_time_ms=1)
            (answer,) = wire.ask(request, 3).topics
            assert answer.partitions[0].error_code == 0
    deadline = time.monotonic() + BOUND_S
    while brief in admin.groups() or partitions[1] in admin.committed(both):
        assert time.monotonic() < deadline, "nothing expired"
        time.sleep(0.05)
    assert admin.committed(both) == {partitions[0]: 5}
    assert admin.committed(brief) == {}
