"""Transactions while the broker that coordinates them, or the group whose offsets belong to them, is killed."""

from collections import Counter
from typing import Any

import pytest

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import TransactionAbortableError
from ottla.clients.producer.producer import Producer
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.clients.producer.transaction_manager import TransactionManager
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from tests.clients.producer.produced import stored
from tests.clients.three_brokers.replicas import make_topic
from tests.clients.three_brokers.trouble import repeat_during, replace_coordinator, run
from tests.node_cluster import NodeCluster

LEADERS = (1, 2, 3)


@pytest.mark.parametrize(("version", "way"), [(1, "send"), (2, "send"), (2, "send_batch")])
def test_the_coordinator_of_transactions_is_killed(
    brokers: NodeCluster, admin: Admin, topic: str, version: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(admin, topic, LEADERS)
    if version == 1:
        monkeypatch.setattr(TransactionCaller, "_note_version", lambda _self, _coordinator: None)
    versions: set[bool] = set()
    begin = TransactionManager.begin_transaction

    def noted(manager: TransactionManager, *, is_v2: bool) -> None:
        begin(manager, is_v2=is_v2)
        versions.add(is_v2)

    monkeypatch.setattr(TransactionManager, "begin_transaction", noted)
    kept: list[bytes] = []
    turns = 0

    async def story() -> None:
        async with Producer(bootstrap_servers=brokers.bootstrap, transactional_id=topic) as producer:
            await producer.init_transactions()

            async def write(values: list[bytes]) -> None:
                for partition, _ in enumerate(LEADERS):
                    if way == "send":
                        for value in values:
                            await producer.send(topic, value, partition=partition)
                    else:
                        await producer.send_batch(topic, values, partition=partition)

            async def transactions() -> None:
                nonlocal turns
                turns += 1
                values = [b"%d %d" % (turns, number) for number in range(5)]
                async with producer.transaction():
                    await write(values)
                kept.extend(values)
                with pytest.raises(ZeroDivisionError):
                    async with producer.transaction():
                        await write([b"aborted %d" % turns])
                        await producer.flush()
                        raise ZeroDivisionError

            def coordinator() -> int:
                return admin.describe_transactions([topic])[topic].coordinator_id

            await repeat_during(lambda: replace_coordinator(brokers, admin, topic, coordinator), transactions)

    run(story())
    assert versions == {version == 2}
    for partition, _ in enumerate(LEADERS):
        assert [record.value for record in stored(brokers, topic) if record.partition == partition] == kept


class Copier:
    """Copies a topic exactly once."""

    def __init__(self, consumer: Consumer[bytes, bytes], producer: Producer, target: str) -> None:
        self._consumer = consumer
        self._producer = producer
        self._target = target
        self.copied = 0
        self.aborted = 0

    async def copy(self) -> None:
        """What there is, in a transaction with its offsets; or nothing, if that had to be aborted."""
        records = await self._consumer.poll(100)
        offsets = {TopicPartition(one.topic, one.partition): OffsetAndMetadata(one.offset + 1) for one in records}
        if not records:
            return
        try:
            async with self._producer.transaction():
                for record in records:
                    await self._producer.send(self._target, record.value, partition=record.partition)
                await self._producer.send_offsets_to_transaction(offsets, self._consumer.group_metadata())
        except TransactionAbortableError:
            self.aborted += 1
            for partition, committed in (await self._consumer.committed(*offsets)).items():
                self._consumer.seek(partition, 0 if committed is None else committed.offset)
        else:
            self.copied += len(records)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_coordinator_of_a_group_whose_offsets_belong_to_transactions_is_killed(
    brokers: NodeCluster, admin: Admin, topic: str, protocol: str
) -> None:
    make_topic(admin, topic, LEADERS)
    target = make_topic(admin, f"{topic}-copy", LEADERS)
    written: Counter[bytes] = Counter()

    async def story() -> None:
        settings: dict[str, Any] = {
            "bootstrap_servers": brokers.bootstrap,
            "group_id": topic,
            "group_protocol": protocol,
            "auto_offset_reset": "earliest",
            "isolation_level": "read_committed",
            "enable_auto_commit": False,
        }
        async with (
            Producer(bootstrap_servers=brokers.bootstrap) as source,
            Consumer(topic, **settings) as consumer,
            Producer(bootstrap_servers=brokers.bootstrap, transactional_id=topic) as producer,
        ):
            copier = Copier(consumer, producer, target)
            await producer.init_transactions()

            async def write_and_copy() -> None:
                first = written.total()
                for number in range(first, first + 30):
                    await source.send(topic, b"%d" % number, partition=number % len(LEADERS))
                    written[b"%d" % number] += 1
                await copier.copy()

            def coordinator() -> int:
                return admin.describe_consumer_groups([topic])[topic].coordinator.id

            await repeat_during(lambda: replace_coordinator(brokers, admin, topic, coordinator), write_and_copy)
            while copier.copied < written.total():
                await copier.copy()
            assert copier.aborted <= 2
            committed = await consumer.committed(*(TopicPartition(topic, index) for index, _ in enumerate(LEADERS)))
            ends = await consumer.end_offsets(committed)
            assert {partition: found and found.offset for partition, found in committed.items()} == ends

    run(story())
    assert Counter(record.value for record in stored(brokers, target)) == written
