"""Offsets of partitions through the admin client, against Ottla and Apache, beside confluent-kafka."""

from collections.abc import Callable

import pytest
from confluent_kafka import IsolationLevel as TheirIsolation
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as TheirPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec as TheirSpec

from ottla.clients.admin import IsolationLevel, NewTopic, OffsetSpec, TopicPartition
from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.clients.sync.admin import Admin
from tests.clients.admin.waiting import attempts, create
from tests.node import Node

DAY_MS = 86_400_000


@pytest.fixture
def written(admin: Admin, kafka: Node, topic: str) -> str:
    """A topic of two partitions: five records with timestamps 1000, 4000, 2000, 3000, 3500 days in one, none in two."""
    create(admin, [NewTopic(topic, 2, configs={"retention.ms": "-1"})])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    for days in (1000, 4000, 2000, 3000, 3500):
        producer.produce(topic, b"x", partition=0, timestamp=days * DAY_MS)
        assert producer.flush(10) == 0
    return topic


@pytest.mark.parametrize(
    ("spec", "theirs", "offset", "timestamp_ms"),
    [
        (OffsetSpec.earliest, TheirSpec.earliest, 0, -1),
        (OffsetSpec.latest, TheirSpec.latest, 5, -1),
        (OffsetSpec.max_timestamp, TheirSpec.max_timestamp, 1, 4000 * DAY_MS),
        (
            lambda: OffsetSpec.for_timestamp(2500 * DAY_MS),
            lambda: TheirSpec.for_timestamp(2500 * DAY_MS),
            1,
            4000 * DAY_MS,
        ),
        (lambda: OffsetSpec.for_timestamp(1), lambda: TheirSpec.for_timestamp(1), 0, 1000 * DAY_MS),
        (lambda: OffsetSpec.for_timestamp(5000 * DAY_MS), lambda: TheirSpec.for_timestamp(5000 * DAY_MS), -1, -1),
    ],
)
def test_specs_mean_what_confluents_mean(
    admin: Admin,
    confluent: AdminClient,
    written: str,
    spec: Callable[[], OffsetSpec],
    theirs: Callable[[], TheirSpec],
    offset: int,
    timestamp_ms: int,
) -> None:
    key = TopicPartition(written, 0)
    listed = admin.list_offsets({key: spec()})[key]
    assert (listed.offset, listed.timestamp_ms) == (offset, timestamp_ms)
    their_key = TheirPartition(written, 0)
    result = confluent.list_offsets({their_key: theirs()})[their_key].result(10)
    assert (listed.offset, listed.timestamp_ms) == (result.offset, result.timestamp)


def test_specs_of_tiered_storage_without_it(admin: Admin, written: str) -> None:
    key = TopicPartition(written, 0)
    assert admin.list_offsets({key: OffsetSpec.earliest_local()})[key].offset == 0
    assert admin.list_offsets({key: OffsetSpec.latest_tiered()})[key].offset == -1
    assert admin.list_offsets({key: OffsetSpec.earliest_pending_upload()})[key].offset == -1


def test_several_partitions_at_once(admin: Admin, written: str) -> None:
    zero, one, two = (TopicPartition(written, index) for index in range(3))
    wanted = {one: OffsetSpec.max_timestamp(), two: OffsetSpec.latest(), zero: OffsetSpec.latest()}
    listed = admin.list_offsets(wanted, raise_errors=False)
    assert list(listed) == [one, two, zero]
    assert isinstance(listed[two], UnknownTopicOrPartitionError)
    with pytest.raises(UnknownTopicOrPartitionError, match=f"{written}-2"):
        admin.list_offsets(wanted)
    del wanted[two]
    offsets = admin.list_offsets(wanted)
    assert (offsets[one].offset, offsets[one].leader_epoch, offsets[zero].offset) == (-1, None, 5)
    assert offsets[zero].leader_epoch == 0


def test_nothing_asked_is_nothing_answered(admin: Admin) -> None:
    assert admin.list_offsets({}) == {}


def test_isolation(admin: Admin, kafka: Node, confluent: AdminClient, topic: str) -> None:
    create(admin, [NewTopic(topic, 1)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(10) == 0
    key, their_key = TopicPartition(topic, 0), TheirPartition(topic, 0)

    def end(level: IsolationLevel) -> int:
        return admin.list_offsets({key: OffsetSpec.latest()}, isolation_level=level)[key].offset

    assert (end(IsolationLevel.READ_UNCOMMITTED), end(IsolationLevel.READ_COMMITTED)) == (1, 0)
    latest = TheirSpec.latest()  # type: ignore[no-untyped-call]
    theirs = confluent.list_offsets({their_key: latest}, isolation_level=TheirIsolation.READ_COMMITTED)
    assert theirs[their_key].result(10).offset == 0
    producer.commit_transaction(10)
    for _ in attempts("The marker"):
        if (end(IsolationLevel.READ_UNCOMMITTED), end(IsolationLevel.READ_COMMITTED)) == (2, 2):
            break
