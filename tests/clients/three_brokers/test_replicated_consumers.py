"""Consumers while leaders and coordinators die and come back: all records, in order, and commits that are kept."""

import asyncio
from typing import Any

import pytest

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from tests.clients.admin.waiting import attempts
from tests.clients.consumer_groups.group_life import Member, members_of, shared_by, until
from tests.clients.three_brokers.replicas import await_leader, leader_of, make_topic
from tests.clients.three_brokers.trouble import repeat_during, replace_coordinator, run
from tests.node_cluster import NodeCluster

LEADERS = (1, 2, 3)


def coordinator_of(admin: Admin, group_id: str) -> int:
    return admin.describe_consumer_groups([group_id])[group_id].coordinator.id


def in_order(member: Member) -> bool:
    """Whether the member has seen each partition in order, without a gap."""
    offsets: dict[int, int] = {}
    for record in member.records:
        expected = offsets.get(record.partition)
        if expected is not None and record.offset > expected:
            return False
        offsets[record.partition] = record.offset + 1
    return True


@pytest.mark.parametrize("protocol", ["range", "consumer"])
def test_the_groups_coordinator_is_killed(brokers: NodeCluster, admin: Admin, topic: str, protocol: str) -> None:
    """It leads a partition, too. Who is in the group stays in it: there is another before sessions are over."""
    make_topic(admin, topic, LEADERS)
    partitions = [TopicPartition(topic, index) for index, _ in enumerate(LEADERS)]
    settings: dict[str, Any] = {"protocol": protocol, "metadata_max_age_ms": 300_000, "enable_auto_commit": False}

    async def story() -> None:
        members = [Member(brokers.bootstrap, topic, topic, **settings) for _ in range(2)]
        async with Producer(bootstrap_servers=brokers.bootstrap) as producer, members_of(*members):
            await shared_by(members, partitions)
            told = [list(member.events) for member in members]
            written: set[bytes] = set()

            async def write() -> None:
                first = len(written)
                for number in range(first, first + 30):
                    await producer.send(topic, b"%d" % number, partition=number % len(LEADERS))
                    written.add(b"%d" % number)
                for member in members:
                    member.consumer.commit_async()
                await asyncio.sleep(0.05)

            def coordinator() -> int:
                return coordinator_of(admin, topic)

            await repeat_during(lambda: replace_coordinator(brokers, admin, topic, coordinator), write)
            await until(lambda: {one.value for member in members for one in member.records} == written, "All records")
            assert sum(len(member.records) for member in members) == len(written)
            assert all(map(in_order, members))
            assert [member.errors for member in members] == [[], []]
            assert [member.events for member in members] == told
            for member in members:
                await member.consumer.commit()
            ends = await members[0].consumer.end_offsets(partitions)
        brokers.nodes[coordinator_of(admin, topic)].kill()
        async with Consumer(topic, bootstrap_servers=brokers.bootstrap, group_id=topic) as successor:
            committed = await successor.committed(*partitions)
            assert {partition: found and found.offset for partition, found in committed.items()} == ends

    run(story())


@pytest.mark.parametrize("reader", ["poll", "arrow"])
def test_leaders_are_killed(brokers: NodeCluster, admin: Admin, topic: str, reader: str) -> None:
    """Without a group. A leader that comes back leads again, and is read from."""
    make_topic(admin, topic, [1, 1, 2])
    partitions = [TopicPartition(topic, index) for index in range(3)]
    seen: dict[int, list[bytes | None]] = {index: [] for index in range(3)}
    written: dict[int, list[bytes | None]] = {index: [] for index in range(3)}

    def trouble() -> None:
        brokers.nodes[1].kill()
        for _ in attempts("A leader that lives"):
            if 1 not in [leader_of(admin, each) for each in partitions]:
                break
        brokers.start()
        brokers.nodes[2].kill()
        await_leader(admin, partitions[2], {1, 3})

    async def story() -> None:
        consumer: Consumer[bytes, bytes] = Consumer(bootstrap_servers=brokers.bootstrap, auto_offset_reset="earliest")
        consumer.assign(partitions)
        async with Producer(bootstrap_servers=brokers.bootstrap) as producer, consumer:

            async def read() -> None:
                if reader == "poll":
                    while True:
                        for record in await consumer.poll(500):
                            seen[record.partition].append(record.value)
                async for batch in consumer.arrow():
                    rows = zip(batch.column("partition").to_pylist(), batch.column("value").to_pylist(), strict=True)
                    for partition, value in rows:
                        seen[partition].append(value)

            async def write() -> None:
                for index in range(3):
                    for number in range(10):
                        value = b"%d %d" % (len(written[index]), number)
                        await producer.send(topic, value, partition=index)
                        written[index].append(value)
                await asyncio.sleep(0.05)

            reading = asyncio.ensure_future(read())
            await repeat_during(trouble, write)
            await until(lambda: reading.done() or seen == written, "All records")
            assert not reading.done()
            reading.cancel()
            await asyncio.wait([reading])

    run(story())
    assert seen == written
