"""The hashes of topics and groups beside Apache's."""

from pathlib import Path
from random import Random
from typing import Any

from ottla.common.uuid import Uuid
from ottla.group.metadata_hash import compute_group_hash, compute_topic_hash
from ottla.metadata.image.metadata import EMPTY_IMAGE, MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.records.cluster import RegisterBrokerRecord
from ottla.metadata.records.topics import PartitionRecord, TopicRecord
from tests.group.group_facts import ask
from tests.oracle import Oracle

RACKS = (None, "", "r1", "r2", "R", "rack-with-a-long-name", "réseau", "\ue000", "\U0001f600", ",,", ",,,")
TOPIC_ID = Uuid(bytes(range(16)))
FOO_HASH = 4106218042509982607
GROUP_HASH = -5171489639717176200


def topic_image(name: str, topic_id: Uuid, partitions: list[list[str | None]]) -> MetadataImage:
    """A topic whose partitions have replicas on these racks; a broker for each place and rack."""
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(TopicRecord(name=name, topic_id=topic_id))
    brokers: dict[tuple[int, str | None], int] = {}
    for index, racks in enumerate(partitions):
        for place in enumerate(racks):
            if place not in brokers:
                brokers[place] = len(brokers)
                delta.replay(RegisterBrokerRecord(broker_id=brokers[place], rack=place[1]))
        replicas = [brokers[place] for place in enumerate(racks)]
        delta.replay(PartitionRecord(topic_id=topic_id, partition_id=index, replicas=replicas, isr=replicas, leader=0))
    return delta.apply(MetadataProvenance())


def test_the_same_hashes_of_topics_as_apache(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(1)
    questions: list[Any] = [["topic", "no-partitions", str(TOPIC_ID), []]]
    for size in range(300):
        replicas = rng.randint(1, 4)
        partitions = [[rng.choice(RACKS) for _ in range(replicas)] for _ in range(rng.randint(1, 1 + size // 4))]
        name = "".join(rng.choices("abz-_.09", k=rng.randint(1, 249)))
        questions.append(["topic", name, str(Uuid(rng.randbytes(16))), partitions])
    mine = [
        compute_topic_hash(name, topic_image(name, Uuid.from_string(topic_id), partitions))
        for _, name, topic_id, partitions in questions
    ]
    assert mine == ask(oracle, questions, tmp_path)


def test_the_same_hashes_of_groups_as_apache(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(2)
    groups: list[dict[str, int]] = [{}, {"a": 0}, {"\ue000": 1, "\U0001f600": 2}]
    for size in (1, 2, 3, 5, 17, 40, 300):
        topics = rng.sample([f"topic-{number}" for number in range(1000)], size)
        groups.append({topic: rng.randint(-(1 << 63), (1 << 63) - 1) for topic in topics})
    assert [compute_group_hash(topics) for topics in groups] == ask(
        oracle, [["group", topics] for topics in groups], tmp_path
    )


def test_a_hash_that_apache_computed_once() -> None:
    image = topic_image("foo", TOPIC_ID, [["r1", "r2"], ["r2", None]])
    assert compute_topic_hash("foo", image) == FOO_HASH
    assert compute_group_hash({"foo": FOO_HASH, "bar": 1}) == GROUP_HASH
    assert compute_topic_hash("bar", image) == 0


def test_all_that_an_assignment_depends_on_changes_the_hash() -> None:
    def hash_of(
        name: str = "foo", topic_id: Uuid = TOPIC_ID, racks: tuple[tuple[str | None, ...], ...] = (("a",),)
    ) -> int:
        return compute_topic_hash(name, topic_image(name, topic_id, [list(each) for each in racks]))

    hashes = [
        hash_of(),
        hash_of(name="fop"),
        hash_of(topic_id=Uuid(bytes(16))),
        hash_of(racks=(("b",),)),
        hash_of(racks=((None,),)),
        hash_of(racks=(("a",), ("a",))),
        hash_of(racks=(("a", "a"),)),
    ]
    assert len(set(hashes)) == len(hashes)
    assert hash_of(racks=(("a", "b"),)) == hash_of(racks=(("b", "a"),))
