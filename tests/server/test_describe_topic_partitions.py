"""DescribeTopicPartitions over the wire: page by page, by name."""

from collections.abc import Iterator, Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.server.wire import Wire, create_topic

Cursor = tuple[str, int]
Page = list[tuple[str, list[int]]]
TOPICS = {"ants": 3, "bees": 1, "cats": 4}
EVERY_PARTITION = [(name, index) for name, count in TOPICS.items() for index in range(count)]


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "true", "max.request.partition.size.limit": "6"}


@pytest.fixture(scope="module", autouse=True)
def topics(address: str) -> None:
    for name, count in TOPICS.items():
        create_topic(address, name, partitions=count)


def ask(wire: Wire, *names: str, limit: int = 100, cursor: Cursor | None = None) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit
    )
    if cursor is not None:
        request.cursor = DescribeTopicPartitionsRequestCursor(topic_name=cursor[0], partition_index=cursor[1])
    found: DescribeTopicPartitionsResponse = wire.ask(request, 0)
    return found


def page_of(response: DescribeTopicPartitionsResponse) -> Page:
    return [(each.name or "", [part.partition_index for part in each.partitions]) for each in response.topics]


def pages(wire: Wire, *names: str, limit: int) -> Iterator[Page]:
    cursor = None
    while True:
        response = ask(wire, *names, limit=limit, cursor=cursor)
        yield page_of(response)
        if response.next_cursor is None:
            return
        cursor = (response.next_cursor.topic_name, response.next_cursor.partition_index)


@pytest.mark.parametrize("limit", range(1, 10))
@pytest.mark.parametrize("names", [(), tuple(TOPICS), ("cats", "ants", "bees")])
def test_pages_put_together_are_everything_in_order(wire: Wire, limit: int, names: tuple[str, ...]) -> None:
    found = [(name, index) for page in pages(wire, *names, limit=limit) for name, indexes in page for index in indexes]
    assert found == EVERY_PARTITION
    assert all(sum(len(indexes) for _, indexes in page) <= limit for page in pages(wire, *names, limit=limit))


def test_the_brokers_own_limit(wire: Wire) -> None:
    first, second = pages(wire, limit=100)
    assert [first, second] == [[("ants", [0, 1, 2]), ("bees", [0]), ("cats", [0, 1])], [("cats", [2, 3])]]


def test_what_is_said_of_a_partition(wire: Wire) -> None:
    (topic,) = ask(wire, "bees").topics
    assert (topic.error_code, topic.is_internal) == (0, False)
    assert topic.topic_authorized_operations > 0
    (partition,) = topic.partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 0)
    assert (list(partition.replica_nodes), list(partition.isr_nodes)) == ([1], [1])
    assert list(partition.eligible_leader_replicas or ()) == list(partition.last_known_elr or ()) == []
    assert list(partition.offline_replicas) == []


def test_unknown_topics_are_not_created(wire: Wire) -> None:
    for _ in range(2):
        response = ask(wire, "bees", "nowhere", "a b")
        assert {topic.name: topic.error_code for topic in response.topics} == {
            "bees": 0,
            "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }


def test_a_cursor_at_a_topic_that_is_gone(wire: Wire) -> None:
    assert page_of(ask(wire, cursor=("bats", 2))) == [("bees", [0]), ("cats", [0, 1, 2, 3])]


def test_a_cursor_beyond_the_last_partition(wire: Wire) -> None:
    assert page_of(ask(wire, cursor=("bees", 5)))[-1] == ("cats", [0, 1, 2, 3])


@pytest.mark.parametrize("cursor", [("bees", -1), ("dogs", 0)])
def test_a_cursor_that_makes_no_sense(wire: Wire, cursor: Cursor) -> None:
    response = ask(wire, "ants", "bees", cursor=cursor)
    assert {topic.error_code for topic in response.topics} == {ErrorCode.INVALID_REQUEST}
    assert response.next_cursor is None
