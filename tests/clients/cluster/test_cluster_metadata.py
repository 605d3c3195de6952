"""The image of a cluster, and what answers make of it."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.network.node import Node
from ottla.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_ID, SECOND_ID = Uuid(b"1" * 16), Uuid(b"2" * 16)


def partition(number: int, leader: int = 1, epoch: int = 0, error: int = 0) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=number,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=[1, 2],
        isr_nodes=[1],
        error_code=error,
    )


def topic(
    name: str, *partitions: MetadataResponsePartition, topic_id: Uuid = FIRST_ID, error: int = 0
) -> MetadataResponseTopic:
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions, error_code=error)


def answer(*topics: MetadataResponseTopic, nodes: tuple[int, ...] = (1, 2)) -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=node, host=f"h{node}", port=9000 + node, rack="r") for node in nodes]
    return MetadataResponse(cluster_id="c", controller_id=2, brokers=brokers, topics=topics)


def test_an_image_says_what_the_answer_said() -> None:
    image = ClusterMetadata().merge(answer(topic("t", partition(1, leader=2, epoch=5), partition(0))))
    assert (image.cluster_id, image.controller) == ("c", Node(2, "h2", 9002))
    assert [known.partition for known in image.partitions_for("t")] == [0, 1]
    assert image.leader("t", 1) == Node(2, "h2", 9002)
    assert image.leader_epoch("t", 1) == 5
    assert image.partitions_for("t")[1].replicas == (1, 2)
    assert image.topic_name(FIRST_ID) == "t"
    assert image.topic_id("t") == FIRST_ID
    assert image.racks[1] == "r"


def test_what_is_not_known_is_nothing() -> None:
    image = ClusterMetadata().merge(answer(topic("t", partition(0, leader=-1)), topic("gone", partition(0, leader=7))))
    assert image.leader("t", 0) is None
    assert image.leader("gone", 0) is None, "a leader that is no node of the cluster is none"
    assert image.leader("t", 9) is None
    assert image.partitions_for("u") == []
    assert image.topic_name(SECOND_ID) is None
    assert image.topic_id("u") == ZERO_UUID
    assert ClusterMetadata().controller is None


def test_a_broker_that_is_behind_does_not_turn_a_leader_back() -> None:
    image = ClusterMetadata().merge(answer(topic("t", partition(0, leader=2, epoch=4))))
    assert image.merge(answer(topic("t", partition(0, leader=1, epoch=3)))).partition("t", 0) == image.partition("t", 0)
    assert image.merge(answer(topic("t", partition(0, leader=1, epoch=5)))).leader_epoch("t", 0) == 5
    same = image.merge(answer(topic("t", partition(0, leader=-1, epoch=4, error=ErrorCode.LEADER_NOT_AVAILABLE))))
    assert same.leader("t", 0) is None, "the same epoch is news"
    without = image.merge(answer(topic("t", partition(0, leader=1, epoch=-1))))
    assert without.leader("t", 0) == Node(1, "h1", 9001), "an old broker has no epochs to compare"


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    image = ClusterMetadata().merge(answer(topic("t", partition(0, leader=2, epoch=9), partition(1, epoch=9))))
    again = image.merge(answer(topic("t", partition(0, leader=1, epoch=0), topic_id=SECOND_ID)))
    assert again.leader_epoch("t", 0) == 0
    assert len(again.partitions_for("t")) == 1
    assert again.topic_name(FIRST_ID) is None


def test_what_an_answer_leaves_out_is_kept_or_not() -> None:
    image = ClusterMetadata().merge(answer(topic("a", partition(0)), topic("b", partition(0), topic_id=SECOND_ID)))
    assert set(image.merge(answer(topic("a", partition(0)))).topics) == {"a"}
    assert set(image.merge(answer(topic("a", partition(0))), keep=("b",)).topics) == {"a", "b"}
    assert set(image.merge(answer(topic("c", error=3)), keep=None).topics) == {"a", "b", "c"}
    assert set(image.merge(answer(nodes=(5,))).nodes) == {5}


def test_leaders_that_brokers_name_are_taken_if_they_are_newer() -> None:
    image = ClusterMetadata().merge(answer(topic("t", partition(0, leader=1, epoch=3), partition(1, epoch=3))))
    third = Node(3, "h3", 9003)
    learned = image.with_leaders({("t", 0): (3, 4), ("t", 1): (2, 3), ("t", 7): (2, 9), ("u", 0): (2, 9)}, [third])
    assert learned.leader("t", 0) == third
    assert learned.leader_epoch("t", 0) == 4
    assert learned.partition("t", 1) == image.partition("t", 1)
    assert learned.with_leaders({("t", 0): (99, 9)}, []).leader("t", 0) == third, "nobody knows node 99"
    assert image.leader("t", 0) == Node(1, "h1", 9001), "images do not change"


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6)), min_size=1, max_size=12))
def test_epochs_never_go_back(answers: list[tuple[int, int]]) -> None:
    image = ClusterMetadata()
    for leader, epoch in answers:
        before = image.leader_epoch("t", 0)
        image = image.merge(answer(topic("t", partition(0, leader, epoch)), nodes=(1, 2, 3)))
        assert image.leader_epoch("t", 0) == max(before, epoch)
    newest = max(epoch for _, epoch in answers)
    leaders = [leader for leader, epoch in answers if epoch == newest]
    assert image.leader("t", 0) == Node(leaders[-1], f"h{leaders[-1]}", 9000 + leaders[-1])
