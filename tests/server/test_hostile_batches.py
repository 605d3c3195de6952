"""A few kB that decompress to millions of records hold nobody up, whatever the topic has them read for."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.log.offset_lookup import MAX_TIMESTAMP
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.compression import Compression
from tests.fuzz.resources import resident_kib
from tests.ottla_broker import OttlaBroker
from tests.records.hostile_batches import (
    HOSTILE,
    NOW_MS,
    NULL_KEY,
    SMALLEST,
    claiming,
    counted,
    later_than_its_records,
    repeated,
)
from tests.server.wire import Wire, create_topic

TURN_NS_MAX = 20_000_000
MEMORY_KIB_MAX = 150 * 1024
PARTITIONS = 40
ANSWER_BYTES_MAX = 1 << 16
TOPICS: Mapping[str, Sequence[tuple[str, str]]] = {
    "compacted": [("cleanup.policy", "compact")],
    "uncompressed": [("compression.type", "uncompressed")],
    "gzipped": [("compression.type", "gzip")],
    "lz4": [("compression.type", "lz4"), ("message.timestamp.type", "LogAppendTime")],
}
REFUSALS = {ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE}


def produce(wire: Wire, topic: str, batch: bytes, partitions: int = 1) -> list[ErrorCode]:
    """The answer for each partition."""
    data = [PartitionProduceData(index=index, records=batch) for index in range(partitions)]
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    (topic_response,) = wire.ask(request, 9).responses
    return [ErrorCode(answer.error_code) for answer in topic_response.partition_responses]


@pytest.fixture(scope="module")
def topics(address: str) -> None:
    for name, configs in TOPICS.items():
        create_topic(address, name, partitions=PARTITIONS, configs=configs)


class Callbacks:
    """The CPU that the longest callback of any event loop has taken."""

    def __init__(self) -> None:
        self.longest_ns = 0


@pytest.fixture
def callbacks(topics: None, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callbacks]:
    for name in TOPICS:  # what happens once only has happened
        produce(wire, name, bytes(counted(2_000)))
    seen = Callbacks()
    run: Callable[[asyncio.Handle], None] = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        start_ns = time.thread_time_ns()
        run(handle)
        seen.longest_ns = max(seen.longest_ns, time.thread_time_ns() - start_ns)

    gc.collect()
    gc.freeze()  # the heap is that of all the tests before
    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    yield seen
    gc.unfreeze()


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_turn_takes_long(callbacks: Callbacks, wire: Wire, topic: str, hostile: str) -> None:
    batch = bytes(HOSTILE[hostile]())
    assert len(batch) < 500_000
    errors = produce(wire, topic, batch, PARTITIONS if len(batch) < 20_000 else 2)
    assert set(errors) <= {ErrorCode.NONE, *REFUSALS}
    assert callbacks.longest_ns < TURN_NS_MAX
    assert wire.received_bytes < ANSWER_BYTES_MAX * PARTITIONS


@pytest.fixture(scope="module")
def unread_topic(address: str) -> str:
    """Batches of which no record was read when they came: a small one and a large one, over and over."""
    create_topic(address, "unread", partitions=PARTITIONS)
    with Wire(address) as wire:
        for batch in [later_than_its_records(300), later_than_its_records(100_000)] * 3:
            assert produce(wire, "unread", bytes(batch), PARTITIONS)[0] == ErrorCode.NONE
    return "unread"


@pytest.mark.parametrize(("timestamp", "offset"), [(NOW_MS, 0), (NOW_MS + 1, -1), (MAX_TIMESTAMP, -1)])
def test_no_lookup_of_a_timestamp_takes_a_long_turn(
    unread_topic: str, callbacks: Callbacks, wire: Wire, timestamp: int, offset: int
) -> None:
    count = PARTITIONS if timestamp == NOW_MS else 2  # the others read all records
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in range(count)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=unread_topic, partitions=partitions)])
    (topic,) = wire.ask(request, 7).topics
    assert [(answer.error_code, answer.offset) for answer in topic.partitions] == [(0, offset)] * count
    assert callbacks.longest_ns < TURN_NS_MAX


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """Batches of any size, codec and honesty."""
    codec = draw(st.sampled_from(Compression))
    bits = draw(st.integers(0, 16 if codec is Compression.NONE else 20))
    count = draw(st.integers(1 << bits >> 1 or 1, 1 << bits))
    if draw(st.booleans()):
        batch = repeated(draw(st.sampled_from([SMALLEST, NULL_KEY])), count, codec)
    else:
        count = min(count, 1 << 15)
        batch = counted(count, bytes(draw(st.integers(0, min(1 << 20, (1 << 24) // count)))), codec)
    if draw(st.booleans()):
        batch = claiming(batch, draw(st.integers(1, 1 << 31 - 1)) if draw(st.booleans()) else count + 1)
    return bytes(batch)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(batch=batches(), topic=st.sampled_from(sorted(TOPICS)), partitions=st.sampled_from([1, 3, PARTITIONS]))
def test_no_turn_takes_long_whatever_comes(
    callbacks: Callbacks, wire: Wire, batch: bytes, topic: str, partitions: int
) -> None:
    if len(batch) > 100_000:
        partitions = 1
    produce(wire, topic, batch, partitions)
    assert callbacks.longest_ns < TURN_NS_MAX


def _children(pid: int) -> list[int]:
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def _peak_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_no_memory_is_taken_for_what_is_not_there(tmp_path: Path) -> None:
    with OttlaBroker(tmp_path, {"log.retention.ms": "-1"}) as node:
        for name, configs in TOPICS.items():
            create_topic(node.bootstrap, name, partitions=PARTITIONS, configs=configs)
        with Wire(node.bootstrap) as wire:
            for name in TOPICS:
                produce(wire, name, bytes(counted(10)), PARTITIONS)
            idle_kib = resident_kib(node.pid)
            for make in HOSTILE.values():
                batch = bytes(make())
                for name in TOPICS:
                    produce(wire, name, batch, PARTITIONS if len(batch) < 20_000 else 2)
        workers = _children(node.pid)
        assert len(workers) == 1
        assert _peak_kib(node.pid) + sum(map(_peak_kib, workers)) - idle_kib < MEMORY_KIB_MAX
