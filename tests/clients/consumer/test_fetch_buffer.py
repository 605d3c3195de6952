"""Nothing is lost, repeated or reordered, whatever comes between; aborted records are never seen."""

import importlib.util
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.consumer.arrow_reader import MakeBuilder, builder_class, read_arrow
from ottla.clients.consumer.arrow_rows import RowBuilder
from ottla.clients.consumer.fetch_buffer import ANSWERS_PER_PARTITION_MAX, FetchBuffer
from ottla.clients.consumer.offset_reset_policy import EARLIEST
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.consumer.record_errors import CorruptFetchError, RecordDeserializationError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer.simulated_log import CODECS, SimulatedLog, Step

PARTITIONS = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
FETCH_BYTES = 400

steps = st.lists(
    st.builds(
        Step,
        producer=st.integers(0, 3),
        records=st.integers(1, 6),
        end=st.sampled_from([None, None, None, True, False]),
        codec=st.integers(0, CODECS - 1),
    ),
    max_size=25,
)
Action = tuple[str, int, int]
actions = st.lists(
    st.tuples(
        st.sampled_from(["fetch", "fetch", "fetch", "take", "chunk", "checkpoint", "arrow", "pause", "resume", "seek",
                         "stale", "revoke", "assign", "leader", "validated"]),
        st.integers(0, len(PARTITIONS) - 1),
        st.integers(1, 9),
    ),
    max_size=60,
)  # fmt: skip


class Reader:
    """A consumer's buffer beside a model: the offsets of each partition that must come next."""

    def __init__(self, logs: list[SimulatedLog], *, committed: bool) -> None:
        self.logs = {log.partition: log for log in logs}
        self.committed = committed
        self.subscription = SubscriptionState(EARLIEST)
        self.buffer = FetchBuffer(self.subscription, RecordDecoder())
        self.expected: dict[TopicPartition, list[int]] = {}
        self.chunk_left: Any = None
        self.assign(list(self.logs))

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.buffer.settle()
        self.subscription.assign(partitions)
        self.buffer.retain_assigned()
        self.expected = {partition: self.expected[partition] for partition in partitions if partition in self.expected}
        for partition in partitions:
            if partition not in self.expected:
                self.seek(partition, 0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.buffer.settle()
        self.subscription.seek(partition, offset)
        self.buffer.drop(partition)
        visible = self.logs[partition].visible(committed=self.committed)
        self.expected[partition] = [each for each in visible if each >= offset]

    def fetch(self, partition: TopicPartition, max_bytes: int) -> bool:
        offset = self.buffer.expected_offset(partition)
        if offset is None:
            return False
        return self.buffer.add(self.logs[partition].fetch(offset, max_bytes, committed=self.committed))

    def handed_out(self, partition: TopicPartition, offset: int) -> None:
        state = self.subscription.state(partition)
        assert not state.paused, "handed out while paused"
        assert self.expected[partition], f"{partition} handed out {offset}, which nobody expects"
        assert offset == self.expected[partition].pop(0)

    def drain(self) -> None:
        for partition in self.subscription.partitions:
            self.subscription.resume(partition)
            state = self.subscription.state(partition)
            if not state.has_valid_position and state.position is not None:
                self.subscription.complete_validation(partition, state.position)
        while True:
            progress = False
            for partition in list(self.subscription.partitions):
                position = self.subscription.state(partition).position
                assert position is not None
                if position.offset < self.logs[partition].end_offset:
                    progress |= self.fetch(partition, FETCH_BYTES) and partition in self.buffer.partitions()
            records = self.buffer.take(7)
            for record in records:
                self.handed_out(record.topic_partition, record.offset)
            if not progress and not records and self.buffer.front() is None:
                return


def run(reader: Reader, todo: list[Action], make_builder: MakeBuilder) -> None:
    for action, index, number in todo:
        partition = PARTITIONS[index]
        assigned = reader.subscription.is_assigned(partition)
        if action == "fetch" and assigned:
            reader.fetch(partition, FETCH_BYTES)
        elif action == "stale" and assigned:
            offset = reader.buffer.expected_offset(partition)
            stale = reader.logs[partition].fetch(number, FETCH_BYTES, committed=reader.committed)
            assert reader.buffer.add(stale) == (number == offset)
        elif action == "take":
            for record in reader.buffer.take(number):
                reader.handed_out(record.topic_partition, record.offset)
        elif action == "chunk":
            chunk = reader.buffer.next_chunk(number)
            for count, record in enumerate(() if chunk is None else chunk.iterator):
                reader.handed_out(record.topic_partition, record.offset)
                if count + 1 == (number + 1) // 2:
                    break  # the rest must come again
        elif action == "checkpoint":
            reader.buffer.checkpoint()
        elif action == "arrow":
            table = reader.buffer.take_by(lambda fetch, rows=number: read_arrow(fetch, rows, make_builder))  # type: ignore[misc]
            for row in [] if table is None else table.to_pylist():
                reader.handed_out(TopicPartition(row["topic"], row["partition"]), row["offset"])
        elif action in ("pause", "resume") and assigned:
            reader.buffer.settle()
            getattr(reader.subscription, action)(partition)
        elif action == "seek" and assigned:
            reader.seek(partition, number)
        elif action == "leader" and assigned:
            reader.subscription.leader_changed(partition, number)
        elif action == "validated" and assigned:
            position = reader.subscription.state(partition).position
            if position is not None:
                reader.subscription.complete_validation(partition, position)
        elif action == "revoke" and assigned:
            reader.assign([each for each in reader.subscription.partitions if each != partition])
        elif action == "assign" and not assigned:
            reader.assign([*reader.subscription.partitions, partition])
        check_bounds(reader)


def check_bounds(reader: Reader) -> None:
    """No partition has more than two answers, and the bytes are counted as they are."""
    queues = reader.buffer._queues
    assert all(0 < len(queue) <= ANSWERS_PER_PARTITION_MAX for queue in queues.values())
    assert reader.buffer.size_in_bytes == sum(fetch.size_in_bytes for queue in queues.values() for fetch in queue)
    assert sorted(reader.buffer._order) == sorted(queues)


BUILDERS: list[Callable[[], MakeBuilder]] = [lambda: RowBuilder]
if importlib.util.find_spec("numba") is not None:
    BUILDERS.append(builder_class)


@pytest.mark.parametrize("make", BUILDERS)
@pytest.mark.parametrize("committed", [False, True])
@given(logs=st.tuples(steps, steps, steps), todo=actions)
@settings(max_examples=60)
def test_everything_visible_comes_once_and_in_order(
    make: Callable[[], MakeBuilder], committed: bool, logs: tuple[list[Step], ...], todo: list[Action]
) -> None:
    written = [SimulatedLog(partition, each) for partition, each in zip(PARTITIONS, logs, strict=True)]
    reader = Reader(written, committed=committed)
    run(reader, todo, make())
    reader.drain()
    assert all(not left for left in reader.expected.values())
    for partition, state in reader.subscription.partitions.items():
        log = reader.logs[partition]
        assert state.position is not None
        assert state.position.offset >= (log.last_stable_offset if committed else log.end_offset), "past every marker"


@given(written=steps, offset=st.integers(0, 60), rows=st.integers(1, 12))
@settings(max_examples=80)
def test_arrow_says_what_records_say(written: list[Step], offset: int, rows: int) -> None:
    log = SimulatedLog(PARTITIONS[0], written)
    for committed in (False, True):
        plain = log.fetch(offset, 1 << 20, committed=committed)
        records = []
        while taken := RecordDecoder().take(plain, 4):
            records += taken
        for make in BUILDERS:
            fetch = log.fetch(offset, 1 << 20, committed=committed)
            found = []
            while (table := read_arrow(fetch, rows, make())) is not None:
                table.validate(full=True)
                assert 0 < table.num_rows <= rows
                times = table.column("timestamp").cast(pa.int64()).to_pylist()
                found += [row | {"timestamp": time} for row, time in zip(table.to_pylist(), times, strict=True)]
            assert [row["offset"] for row in found] == [record.offset for record in records]
            for row, record in zip(found, records, strict=True):
                assert (row["topic"], row["partition"]) == record.topic_partition
                assert (row["key"], row["value"]) == (record.key, record.value)
                assert (row["timestamp"], row["timestamp_type"]) == (record.timestamp_ms, record.timestamp_type)
                assert [(header["key"], header["value"]) for header in row["headers"]] == list(record.headers)
            assert fetch.next_offset == plain.next_offset
            assert fetch.records_taken == plain.records_taken == len(records)


def reader_of(written: list[Step], decoder: RecordDecoder | None = None) -> tuple[FetchBuffer, SubscriptionState]:
    subscription = SubscriptionState(EARLIEST)
    subscription.assign([PARTITIONS[0]])
    subscription.seek(PARTITIONS[0], 0)
    buffer = FetchBuffer(subscription, decoder or RecordDecoder())
    assert buffer.add(SimulatedLog(PARTITIONS[0], written).fetch(0, 1 << 20, committed=False))
    return buffer, subscription


def test_a_record_that_cannot_be_deserialized_is_named_until_it_is_passed() -> None:
    def refuse(topic: str, data: bytes) -> str:
        if data.startswith(b"v4"):
            raise ValueError("no four")
        return data.decode()

    buffer, subscription = reader_of([Step(0, 10)], RecordDecoder(value=refuse))
    assert [record.offset for record in buffer.take(10)] == [0, 1, 2, 3]
    for _ in range(2):
        with pytest.raises(RecordDeserializationError) as raised:
            buffer.take(10)
        assert (raised.value.partition, raised.value.offset, raised.value.part) == (PARTITIONS[0], 4, "value")
        position = subscription.state(PARTITIONS[0]).position
        assert position is not None and position.offset == 4
    subscription.seek(PARTITIONS[0], 5)
    buffer.drop(PARTITIONS[0])
    assert buffer.add(SimulatedLog(PARTITIONS[0], [Step(0, 10)]).fetch(5, 1 << 20, committed=False))
    assert [record.offset for record in buffer.take(10)] == [5, 6, 7, 8, 9]


def test_a_chunk_with_a_record_that_cannot_be_deserialized() -> None:
    def refuse(topic: str, data: bytes) -> bytes:
        if data.startswith(b"k4"):
            raise ValueError("no four")
        return data.upper()

    buffer, _ = reader_of([Step(0, 10)], RecordDecoder(key=refuse))
    chunk = buffer.next_chunk(10)
    assert chunk is not None
    assert next(chunk.iterator).offset == 0
    chunk = buffer.next_chunk(10)
    assert chunk is not None
    assert [(record.offset, record.key) for record in chunk.iterator] == [(1, b"K1"), (2, b"K2"), (3, None)]
    with pytest.raises(RecordDeserializationError):
        buffer.next_chunk(10)


@pytest.mark.parametrize("make", BUILDERS)
def test_a_corrupt_batch_is_named_after_what_precedes_it(make: Callable[[], MakeBuilder]) -> None:
    log = SimulatedLog(PARTITIONS[0], [Step(0, 3), Step(0, 3)])
    base, last, data = log.batches[1]
    log.batches[1] = (base, last, data[:-2] + b"??")
    fetch = log.fetch(0, 1 << 20, committed=False)
    table = read_arrow(fetch, 100, make())
    assert table.num_rows == 3
    with pytest.raises(CorruptFetchError) as raised:
        read_arrow(fetch, 100, make())
    assert raised.value.offset == 3
    fetch = log.fetch(0, 1 << 20, committed=False)
    assert len(RecordDecoder().take(fetch, 100)) == 3
    with pytest.raises(CorruptFetchError):
        RecordDecoder().take(fetch, 100)


def test_whoever_holds_a_chunk_that_was_settled_gets_no_more_of_it() -> None:
    buffer, _ = reader_of([Step(0, 6)])
    chunk = buffer.next_chunk(6)
    assert chunk is not None
    assert next(chunk.iterator).offset == 0
    buffer.settle()
    assert list(chunk.iterator) == []
    assert [record.offset for record in buffer.take(9)] == [1, 2, 3, 4, 5]
