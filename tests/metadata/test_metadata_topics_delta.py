"""What a delta of topics says of them, and what it means for one broker."""

from random import Random
from typing import Any

from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.metadata import records as r
from ottla.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, TopicIdPartition, TopicsDelta
from tests.metadata.metadata_histories import replayed

ME, OTHER, THIRD = 1, 2, 3
A, B = (Uuid.random(Random(seed)) for seed in range(2))
HERE, THERE = (Uuid.random(Random(seed)) for seed in range(10, 12))


def _partition(index: int, *replicas: int, topic_id: Uuid = A) -> r.PartitionRecord:
    return r.PartitionRecord(
        topic_id=topic_id,
        partition_id=index,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[HERE] * len(replicas),
    )


BASE = replayed(EMPTY_IMAGE, [r.TopicRecord(name="a", topic_id=A), _partition(0, ME, OTHER), _partition(1, OTHER, ME)])


def _delta(image: MetadataImage, *records: r.MetadataRecord) -> TopicsDelta:
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    assert delta.topics_delta is not None
    return delta.topics_delta


def _change(index: int, **changes: Any) -> r.PartitionChangeRecord:
    return r.PartitionChangeRecord(topic_id=A, partition_id=index, **changes)


def test_new_replicas_are_led_and_followed() -> None:
    delta = _delta(
        BASE,
        r.TopicRecord(name="b", topic_id=B),
        _partition(0, ME, topic_id=B),
        _partition(1, OTHER, ME, topic_id=B),
        _partition(2, OTHER, topic_id=B),
    )
    changes = delta.local_changes(ME)
    assert list(changes.leaders) == list(changes.elected_leaders) == [TopicPartition("b", 0)]
    assert list(changes.followers) == [TopicPartition("b", 1)]
    assert changes.leaders[TopicPartition("b", 0)].topic_id == B
    assert changes.topic_ids == {"b": B}
    assert changes.directory_ids == {TopicIdPartition(B, 0): HERE, TopicIdPartition(B, 1): HERE}
    assert delta.created_topics == {"b": B}
    assert sorted(delta.changed_topics[B].new_partitions()) == [0, 1, 2]


def test_only_a_new_leader_epoch_elects() -> None:
    changes = _delta(BASE, _change(0, isr=[ME])).local_changes(ME)
    assert list(changes.leaders) == [TopicPartition("a", 0)]
    assert not changes.elected_leaders
    changes = _delta(BASE, _change(1, leader=ME)).local_changes(ME)
    assert list(changes.elected_leaders) == [TopicPartition("a", 1)]
    changes = _delta(BASE, _change(0, leader=OTHER)).local_changes(ME)
    assert list(changes.followers) == [TopicPartition("a", 0)]


def test_a_replica_that_left_is_deleted_here_and_nowhere_else() -> None:
    delta = _delta(BASE, _change(0, replicas=[OTHER, THIRD]))
    assert delta.local_changes(ME).deletes == [TopicPartition("a", 0)]
    assert delta.local_changes(OTHER).deletes == []
    assert list(delta.local_changes(THIRD).followers) == [TopicPartition("a", 0)]


def test_a_new_directory_is_told() -> None:
    delta = _delta(BASE, _change(0, directories=[THERE, HERE]))
    assert delta.local_changes(ME).directory_ids == {TopicIdPartition(A, 0): THERE}
    assert delta.local_changes(OTHER).directory_ids == {}


def test_a_topic_that_was_made_again_is_deleted_and_led() -> None:
    delta = _delta(
        BASE, r.RemoveTopicRecord(topic_id=A), r.TopicRecord(name="a", topic_id=B), _partition(0, ME, topic_id=B)
    )
    changes = delta.local_changes(ME)
    assert changes.deletes == [TopicPartition("a", 0), TopicPartition("a", 1)]
    assert changes.leaders[TopicPartition("a", 0)].topic_id == B
    assert delta.topic_was_deleted("a")
    image = delta.apply()
    assert image.topic_id("a") == B
    assert A not in image.by_id


def test_a_topic_that_came_and_went_leaves_no_trace() -> None:
    delta = _delta(BASE, r.TopicRecord(name="b", topic_id=B), r.RemoveTopicRecord(topic_id=B))
    assert not delta.changed_topics
    assert not delta.created_topics
    assert not delta.deleted_topic_ids
    assert delta.apply() is BASE.topics


def test_elections_are_counted_by_kind() -> None:
    delta = _delta(
        BASE,
        _change(0, eligible_leader_replicas=[OTHER]),
        _change(0, leader=OTHER),
        _change(1, leader=ME, leader_recovery_state=1),
    ).changed_topics[A]
    assert delta.elr_election_counts == {0: 1}
    assert delta.unclean_election_counts == {1: 1}


def test_epochs_rise_with_changes() -> None:
    partition = replayed(BASE, [_change(0, leader=ME), _change(0, isr=[ME])]).topics.partition("a", 0)
    assert partition is not None
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 2)
    before = BASE.topics.partition("a", 0)
    assert before is not None
    assert partition.diff(before) == "isr: [1, 2] -> [1], leader_epoch: 0 -> 1, partition_epoch: 0 -> 2"
