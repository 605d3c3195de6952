"""The readers as Spark's Python processes use them, without Spark: what they ask of a broker and what they say."""

import pickle
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from ottla.clients.admin.partitions import NewPartitions
from ottla.clients.admin.topics import NewTopic
from ottla.clients.errors import KafkaTimeoutError, UnknownTopicOrPartitionError
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.columns import DEFAULT_COLUMNS, schema_of
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.scan_errors import DataLossError
from ottla.spark.source.batch_reader import make_reader
from ottla.spark.source.offset_bound import LATEST
from ottla.spark.source.offset_client import OffsetClient
from ottla.spark.source.offset_json import Offsets
from ottla.spark.source.scan_task import ScanTask
from ottla.spark.source.stream_reader import OttlaStreamReader, make_stream_reader
from tests.node import Node

SCHEMA = schema_of(DEFAULT_COLUMNS)
ALL = ReadAllAvailable()
T = TypeVar("T")


@pytest.fixture(scope="module")
def admin(kafka: Node) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap) as client:
        yield client


@pytest.fixture(scope="module")
def producer(kafka: Node) -> Iterator[Producer]:
    with Producer(bootstrap_servers=kafka.bootstrap) as client:
        yield client


@pytest.fixture
def options(kafka: Node, topic: str, admin: Admin) -> dict[str, str]:
    """A topic of two partitions with 5 and 3 records, of the times 1000 + offset."""
    admin.create_topics([NewTopic(topic, 2, 1)])
    return {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "partition.metadata.cache.ttl.ms": "-1"}


@pytest.fixture
def fill(producer: Producer, topic: str) -> Callable[..., None]:
    def send(counts: dict[int, int], first_time_ms: int = 1000) -> None:
        for partition, count in counts.items():
            for number in range(count):
                producer.send(topic, b"value", partition=partition, timestamp_ms=first_time_ms + number)
        producer.flush()

    return send


@pytest.fixture
def stream(options: dict[str, str]) -> Iterator[Callable[..., OttlaStreamReader]]:
    made: list[OttlaStreamReader] = []

    def make(**more: str) -> OttlaStreamReader:
        reader = make_stream_reader({**options, **more}, SCHEMA)
        made.append(reader)
        return reader

    yield make
    for reader in made:
        reader.stop()


def batch_ranges(options: dict[str, str], **more: str) -> list[OffsetRange]:
    return ranges_of(make_reader({**options, **more}, SCHEMA).partitions())


def ranges_of(tasks: list[ScanTask]) -> list[OffsetRange]:
    return [each for task in tasks for each in task.ranges]


def test_a_batch_reads_from_the_beginning_to_the_end(
    options: dict[str, str], topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 5, 1: 3})
    assert batch_ranges(options) == [OffsetRange(topic, 0, 0, 5), OffsetRange(topic, 1, 0, 3)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"startingOffsets": '{"T": {"0": 2, "1": -2}}', "endingOffsets": '{"T": {"0": 4, "1": -1}}'},
            [(2, 4), (0, 3)],
        ),
        ({"startingTimestamp": "1002"}, [(2, 5), (2, 3)]),
        ({"endingTimestamp": "1004"}, [(0, 4), (0, 3)]),  # no record is so late in partition 1: its end
        ({"startingOffsetsByTimestamp": '{"T": {"0": 1001, "1": 1002}}'}, [(1, 5), (2, 3)]),
        ({"endingOffsetsByTimestamp": '{"T": {"0": 1001, "1": 1002}}'}, [(0, 1), (0, 2)]),
        ({"startingTimestamp": "1003", "startingOffsetsByTimestampStrategy": "latest"}, [(3, 5), None]),
    ],
)
def test_bounds_of_a_batch(
    options: dict[str, str],
    topic: str,
    fill: Callable[..., None],
    given: dict[str, str],
    expected: list[tuple[int, int] | None],
) -> None:
    fill({0: 5, 1: 3})
    given = {name: text.replace('"T"', f'"{topic}"') for name, text in given.items()}
    assert batch_ranges(options, **given) == [
        OffsetRange(topic, index, *bounds) for index, bounds in enumerate(expected) if bounds is not None
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [(0, 5), (0, 3)]),
        ({"endingOffsets": '{"T": {"0": 4, "1": -1}}'}, [(0, 4), (0, 3)]),
        ({"endingTimestamp": "5000"}, [(0, 5), (0, 3)]),
        ({"startingTimestamp": "5000", "startingOffsetsByTimestampStrategy": "latest"}, []),
    ],
)
def test_a_batch_of_a_topic_that_grows_ends_where_it_was_looked_at(
    options: dict[str, str],
    topic: str,
    fill: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    expected: list[tuple[int, int]],
) -> None:
    fill({0: 5, 1: 3})
    ends = OffsetClient.ends

    def ends_of_a_moment(client: OffsetClient, partitions: Collection[TopicPartition], end: int) -> Offsets:
        found = ends(client, partitions, end)
        if end == LATEST:
            fill({0: 1, 1: 1}, 5000)
        return found

    monkeypatch.setattr(OffsetClient, "ends", ends_of_a_moment)
    given = {name: text.replace('"T"', f'"{topic}"') for name, text in given.items()}
    assert batch_ranges(options, **given) == [
        OffsetRange(topic, index, *bounds) for index, bounds in enumerate(expected)
    ]


def test_assign_and_pattern_select(options: dict[str, str], topic: str, fill: Callable[..., None]) -> None:
    fill({0: 5, 1: 3})
    where = {"kafka.bootstrap.servers": options["kafka.bootstrap.servers"]}
    assert batch_ranges({**where, "assign": f'{{"{topic}": [1]}}'}) == [OffsetRange(topic, 1, 0, 3)]
    assert len(batch_ranges({**where, "subscribePattern": topic[3:]})) == 2  # it is searched, not matched
    assert batch_ranges({**where, "subscribePattern": "^there is none$"}) == []


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"subscribe": "no-such-topic"}, UnknownTopicOrPartitionError, "Topic no-such-topic does not exist"),
        ({"assign": '{"T": [0, 7]}'}, UnknownTopicOrPartitionError, "Partition T-7 does not exist"),
        ({"startingOffsets": '{"T": {"0": 1}}'}, InvalidConfigError, "T-1 not named"),
        ({"startingOffsets": '{"T": {"0": 1, "1": 1, "2": 1}}'}, InvalidConfigError, "T-2 not read"),
        ({"startingTimestamp": "5000"}, InvalidConfigError, "has no record at or after 5000"),
        ({"endingOffsets": '{"T": {"0": 9, "1": 1}}'}, DataLossError, "T-0 ends with offset 5, and 9 is asked for"),
        (
            {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.request.timeout.ms": "300"},
            KafkaTimeoutError,
            "127.0.0.1:1",
        ),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_runs(
    options: dict[str, str],
    topic: str,
    fill: Callable[..., None],
    given: dict[str, str],
    error: type[Exception],
    message: str,
) -> None:
    fill({0: 5, 1: 3})
    given = {name: text.replace('"T"', f'"{topic}"') for name, text in given.items()}
    if "assign" in given:
        del options["subscribe"]
    with pytest.raises(error) as raised:
        batch_ranges(options, **given)
    assert message.replace("T-", f"{topic}-") in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_batch_over_deleted_records(
    options: dict[str, str], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    fill({0: 5, 1: 3})
    admin.delete_records({TopicPartition(topic, 0): 2})
    start = {"startingOffsets": f'{{"{topic}": {{"0": 1, "1": 0}}}}'}
    assert batch_ranges(options)[0] == OffsetRange(topic, 0, 2, 5)
    with pytest.raises(DataLossError, match="begins with offset 2, and 1 is asked for"):
        batch_ranges(options, **start)
    assert batch_ranges(options, **start, failOnDataLoss="false")[0] == OffsetRange(topic, 0, 2, 5)


def test_a_schema_of_the_users_own_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigError, match="The schema is fixed"):
        make_reader(options, schema_of(("value",)))
    make_reader({**options, "columns": "value"}, schema_of(("value",)))


def test_a_stream_begins_at_the_end_and_follows(
    stream: Callable[..., OttlaStreamReader], topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 5})
    reader = stream()
    begun = reader.initialOffset()
    assert begun == {topic: {"0": 5, "1": 0}}
    fill({0: 2, 1: 1})
    assert reader.initialOffset() == begun
    assert reader.latestOffset(begun, ALL) == begun  # the first batch takes nothing: its end is logged
    assert reader.partitions(begun, begun) == []
    ended = reader.latestOffset(begun, ALL)
    assert ended == {topic: {"0": 7, "1": 1}}
    (task,) = reader.partitions(begun, ended)
    assert task.ranges == (OffsetRange(topic, 0, 5, 7), OffsetRange(topic, 1, 0, 1))
    assert reader.reportLatestOffset() == ended


def test_a_stream_from_the_beginning_is_limited(
    stream: Callable[..., OttlaStreamReader], topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 60, 1: 30})
    reader = stream(startingOffsets="earliest", maxOffsetsPerTrigger="30", minOffsetsPerTrigger="5")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(30)
    position = reader.initialOffset()
    assert position == {topic: {"0": 0, "1": 0}}
    position = reader.latestOffset(position, limit)
    assert position == {topic: {"0": 20, "1": 10}}
    assert reader.reportLatestOffset() == {topic: {"0": 60, "1": 30}}  # so the lag is 60
    for _ in range(2):
        position = reader.latestOffset(position, limit)
    assert position == {topic: {"0": 60, "1": 30}}
    fill({0: 4})
    assert reader.latestOffset(position, limit) == position  # held back: 5 are wanted
    assert reader.latestOffset(position, ALL) == {topic: {"0": 64, "1": 30}}  # Trigger.Once takes all
    fill({0: 1})
    assert reader.latestOffset(position, limit) == {topic: {"0": 65, "1": 30}}


def test_default_read_limits(stream: Callable[..., OttlaStreamReader]) -> None:
    assert stream().getDefaultReadLimit() == ALL
    assert stream(minOffsetsPerTrigger="7").getDefaultReadLimit() == ReadMinRows(7)


def test_available_now_ends_where_it_began_to_run(
    stream: Callable[..., OttlaStreamReader], topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 6})
    reader = stream(startingOffsets="earliest", maxOffsetsPerTrigger="4", minOffsetsPerTrigger="4")
    reader.prepareForTriggerAvailableNow()
    fill({0: 6})
    limit, position = reader.getDefaultReadLimit(), reader.initialOffset()
    seen = []
    while (following := reader.latestOffset(position, limit)) != position:
        seen.append(following[topic]["0"])
        position = following
    assert seen == [4, 6]


def test_available_now_from_the_end_reads_nothing(
    stream: Callable[..., OttlaStreamReader], topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 6})
    reader = stream()
    reader.prepareForTriggerAvailableNow()
    fill({0: 6})
    begun = reader.initialOffset()
    assert begun == {topic: {"0": 6, "1": 0}}
    for _ in range(2):
        assert reader.latestOffset(begun, ALL) == begun


def test_a_new_partition_is_read_from_its_beginning(
    stream: Callable[..., OttlaStreamReader], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    reader = stream()
    begun = reader.initialOffset()
    reader.latestOffset(begun, ALL)
    admin.create_partitions({topic: NewPartitions(3)})
    fill({2: 4})
    ended = reader.latestOffset(begun, ALL)
    assert ended == {topic: {"0": 0, "1": 0, "2": 4}}
    assert ranges_of(reader.partitions(begun, ended)) == [OffsetRange(topic, 2, 0, 4)]
    admin.delete_records({TopicPartition(topic, 2): 1})
    with pytest.raises(DataLossError, match="is new and begins with offset 1, not 0"):
        reader.partitions(begun, ended)


def test_records_that_aged_out_while_nothing_ran_are_a_loss_before_the_first_batch(
    stream: Callable[..., OttlaStreamReader], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    fill({0: 5, 1: 3})
    admin.delete_records({TopicPartition(topic, 0): 4})
    checkpoint, ended = {topic: {"0": 2, "1": 0}}, {topic: {"0": 5, "1": 3}}
    with pytest.raises(DataLossError, match="-0 begins with offset 4 now, and was read up to 2: "):
        stream().partitions(checkpoint, ended)
    assert ranges_of(stream(failOnDataLoss="false").partitions(checkpoint, ended))[0] == OffsetRange(topic, 0, 2, 5)


def test_a_deleted_topic_is_a_loss(
    stream: Callable[..., OttlaStreamReader], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    fill({0: 3})
    strict = stream()
    lenient = stream(failOnDataLoss="false", **{"fetchOffset.retryIntervalMs": "10"})
    begun = strict.initialOffset()
    assert lenient.initialOffset() == begun
    admin.delete_topics([topic])
    with pytest.raises(DataLossError) as raised:
        strict.latestOffset(begun, ALL)
    assert str(raised.value).startswith(f"{topic}-0, {topic}-1 are gone: ")
    assert lenient.latestOffset(begun, ALL) == begun  # there is nothing else to read: it waits
    admin.create_topics([NewTopic(topic, 1, 1)])
    fill({0: 2})
    ended = _until(lambda: lenient.latestOffset(begun, ALL), lambda end: end != begun)
    assert ended == {topic: {"0": 2}}
    assert lenient.partitions(begun, ended) == []  # offsets went back, from 3 to 2: what is there is skipped


def test_one_deleted_topic_of_two(
    stream: Callable[..., OttlaStreamReader], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    other = f"{topic}-other"
    admin.create_topics([NewTopic(other, 1, 1)])
    reader = stream(subscribe=f"{topic},{other}", failOnDataLoss="false", startingOffsets="earliest")
    begun = reader.initialOffset()
    admin.delete_topics([other])
    fill({0: 2})
    ended = reader.latestOffset(begun, ALL)
    assert ended == {topic: {"0": 2, "1": 0}}
    assert ranges_of(reader.partitions(begun, ended)) == [OffsetRange(topic, 0, 0, 2)]


def test_kafkas_tools_see_the_query_through_a_group(
    stream: Callable[..., OttlaStreamReader], topic: str, admin: Admin, fill: Callable[..., None]
) -> None:
    fill({0: 5})
    group = f"group-of-{topic}"
    reader = stream(startingOffsets="earliest", commitOffsetsToGroup=group)
    begun = reader.initialOffset()
    ended = reader.latestOffset(begun, ALL)
    reader.latestOffset(ended, ALL)  # the next batch: all before it is done
    expected = {TopicPartition(topic, 0): 5, TopicPartition(topic, 1): 0}

    def committed() -> dict[TopicPartition, int]:
        found = admin.list_group_offsets(group)
        return {each: place.offset for each, place in found.items() if place is not None}

    assert _until(committed, lambda offsets: offsets == expected)


def test_a_group_that_has_members_does_not_stop_the_query(
    stream: Callable[..., OttlaStreamReader],
    kafka: Node,
    topic: str,
    fill: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = f"group-of-{topic}"
    reader = stream(startingOffsets="earliest", commitOffsetsToGroup=group)
    fill({0: 1})
    position = reader.initialOffset()
    with Consumer(topic, bootstrap_servers=kafka.bootstrap, group_id=group, auto_offset_reset="earliest") as member:
        _until(lambda: member.poll(100), bool)
        position = reader.latestOffset(reader.latestOffset(position, ALL), ALL)
        _until(lambda: caplog.text, lambda text: f"Group {group} does not get the offsets of this query" in text)
    assert position == {topic: {"0": 1, "1": 0}}


def test_the_end_of_a_stream_that_reads_committed_is_the_last_stable_offset(
    stream: Callable[..., OttlaStreamReader], kafka: Node, topic: str
) -> None:
    everything = stream(startingOffsets="earliest")
    committed = stream(startingOffsets="earliest", **{"kafka.isolation.level": "read_committed"})
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_and_wait(topic, b"value", partition=0)
        begun = everything.initialOffset()
        assert everything.latestOffset(begun, ALL) == {topic: {"0": 1, "1": 0}}
        assert committed.latestOffset(committed.initialOffset(), ALL) == begun
        producer.commit_transaction()
        assert _until(lambda: committed.latestOffset(begun, ALL), lambda end: end != begun) == {topic: {"0": 2, "1": 0}}


def test_a_stream_waits_for_a_broker_that_is_restarted(
    stream: Callable[..., OttlaStreamReader], kafka: Node, topic: str, fill: Callable[..., None]
) -> None:
    fill({0: 2})
    reader = stream(startingOffsets="earliest")
    begun = reader.initialOffset()
    assert reader.latestOffset(begun, ALL) == {topic: {"0": 2, "1": 0}}
    kafka.stop()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(reader.latestOffset, begun, ALL)
        kafka.start()
        assert answer.result(60) == {topic: {"0": 2, "1": 0}}


def test_a_reader_is_pickled_without_its_connection(stream: Callable[..., OttlaStreamReader], topic: str) -> None:
    reader = stream(startingOffsets="earliest")
    begun = reader.initialOffset()
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.initialOffset() == begun
    copy.stop()


def _until(ask: Callable[[], T], is_right: Callable[[T], bool]) -> T:
    deadline = time.monotonic() + 20
    while not is_right(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer
