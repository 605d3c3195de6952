"""A disk fails under a node: it lives on with what is left, or ends at once with a sentence. Nothing acked is lost.

docs/decisions/0024.
"""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.message import Message
from ottla.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.builder import SimpleRecord, build_batch
from tests.chaos.victim import await_death, children
from tests.records.hostile_batches import counted
from tests.server.faulty_disk import Fault, FaultyBroker
from tests.server.group_wire import commit, ready
from tests.server.records_on_wire import append, append_on, read_values
from tests.server.small_disk import SmallDisk, SmallDiskBroker
from tests.server.wire import BOUND_S, Wire, create_topic

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="faults of sendfile are told by /proc")

KEPT: Final = [b"one", b"two", b"three"]
VALUE: Final = bytes(1 << 19)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FaultyBroker]:
    """One directory, which is all that the node has."""
    with FaultyBroker(tmp_path / "node") as found:
        create_topic(found.bootstrap, "t", configs=[("flush.messages", "1")])
        append(found.bootstrap, "t", *KEPT)
        yield found


@pytest.fixture
def two(tmp_path: Path) -> Iterator[FaultyBroker]:
    """Two directories, a partition in each."""
    with FaultyBroker(tmp_path / "node", directories=2) as found:
        create_topic(found.bootstrap, "t", partitions=2, configs=[("flush.messages", "1")])
        for partition in (0, 1):
            append(found.bootstrap, "t", *KEPT, partition=partition)
        assert found.directory_of("t", 0) != found.directory_of("t", 1)
        yield found


# -- what clients do, and what they hear ------------------------------------------------------------------------------


def answer_to(wire: Wire, request: Message, version: int) -> object:
    """The answer; None if the broker hangs up instead."""
    try:
        return wire.ask(request, version)
    except ConnectionError:
        return None


def produce(wire: Wire, partition: int = 0, *, acks: int = -1, value: bytes = b"lost") -> ErrorCode | None:
    """The answer to a record that is not among those that were kept."""
    records = bytes(build_batch([SimpleRecord(1_000, None, value)]))
    data = [PartitionProduceData(index=partition, records=records)]
    topic = TopicProduceData(name="t", partition_data=data)
    answer = answer_to(wire, ProduceRequest(acks=acks, timeout_ms=BOUND_S * 1000, topic_data=[topic]), 9)
    return None if answer is None else ErrorCode(answer.responses[0].partition_responses[0].error_code)  # type: ignore[attr-defined]


def fetch(wire: Wire, partition: int = 0) -> ErrorCode | None:
    """The answer to a fetch from the beginning."""
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 22)
    request = FetchRequest(max_bytes=1 << 22, min_bytes=0, topics=[FetchTopic(topic="t", partitions=[wanted])])
    answer = answer_to(wire, request, 11)
    return None if answer is None else ErrorCode(answer.responses[0].partitions[0].error_code)  # type: ignore[attr-defined]


def make_topic(wire: Wire) -> None:
    answer_to(wire, CreateTopicsRequest(topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)]), 7)


def commit_offset(wire: Wire) -> None:
    try:
        (error,) = commit(wire, "group", {("t", 0): 1}).values()
    except ConnectionError:
        return
    assert error != 0, "an offset was committed that the disk refused"


NOT_ACKED: Final = {None, ErrorCode.KAFKA_STORAGE_ERROR}


def not_acked(answer: Callable[[Wire], ErrorCode | None]) -> Callable[[Wire], None]:
    def check(wire: Wire) -> None:
        assert answer(wire) in NOT_ACKED

    return check


LOG: Final = "*/t-0/*.log"
METADATA: Final = "*/__cluster_metadata-0/*.log"
STORIES: Final = {
    "a write": (Fault("pwrite", LOG), not_acked(produce)),
    "a full disk": (Fault("pwrite", LOG, errno.ENOSPC), not_acked(produce)),
    "a flush": (Fault("sync", LOG), not_acked(produce)),
    "a flush that acks=1 waits for": (Fault("sync", LOG), not_acked(lambda wire: produce(wire, acks=1))),
    "a read": (Fault("pread", LOG), not_acked(fetch)),
    "a read by sendfile": (Fault("sendfile", LOG), not_acked(fetch)),
    "a write of a coordinator": (Fault("pwrite", "*/__consumer_offsets-0/*.log"), commit_offset),
    "a write of metadata": (Fault("pwrite", METADATA), make_topic),
    "a flush of metadata": (Fault("sync", METADATA), make_topic),
    "a checkpoint": (Fault("rename", "*/replication-offset-checkpoint.tmp"), lambda _wire: None),
}


def check_its_end(node: FaultyBroker, directory: Path, reason: int, *, advice: str = "check the disk") -> None:
    """Exit code 1, one sentence on standard error and in the log, and no mark of a clean end."""
    assert node.await_end() == 1
    lines = node.log_lines()
    assert lines[-1].startswith("ottla server: "), "nothing comes after the sentence"
    for word in (str(directory), os.strerror(reason), advice, "start the node again"):
        assert word in lines[-1]
    (critical,) = [line for line in lines if " CRITICAL " in line]
    assert lines[-1].removeprefix("ottla server: ") in critical
    assert not any("PENDING_CONTROLLED_SHUTDOWN" in line for line in lines), "there is nobody to ask"
    assert not any("Traceback" in line for line in lines)
    for each in node.directories:
        assert not (each / ".kafka_cleanshutdown").exists()


def check_nothing_is_lost(node: FaultyBroker, partition: int = 0) -> None:
    """After a start on a disk that works."""
    node.heal()
    node.start()
    values = read_values(node.bootstrap, "t", partition)
    assert values[: len(KEPT)] == KEPT
    assert set(values[len(KEPT) :]) <= {b"lost"}, "what was not acked may be there"


# -- the only directory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", STORIES)
def test_the_only_directory(tmp_path: Path, story: str) -> None:
    fault, use = STORIES[story]
    properties = {"replica.high.watermark.checkpoint.interval.ms": "50"}
    with FaultyBroker(tmp_path / "node", properties) as node:
        create_topic(node.bootstrap, "t", configs=[("flush.messages", "1")])
        append(node.bootstrap, "t", *KEPT)
        with Wire(node.bootstrap) as wire:
            if story == "a write of a coordinator":
                ready(wire, "group")
            node.fail(fault)
            use(wire)
        advice = "make room" if fault.errno == errno.ENOSPC else "check the disk"
        check_its_end(node, node.log_dir, fault.errno, advice=advice)
        check_nothing_is_lost(node)


def test_a_cold_range_that_cannot_be_read(node: FaultyBroker) -> None:
    with Wire(node.bootstrap) as wire:
        node.fail(Fault("preadv", LOG, errno.EAGAIN), Fault("sendfile", LOG))
        assert fetch(wire) is None
    check_its_end(node, node.log_dir, errno.EIO)
    check_nothing_is_lost(node)


def test_its_worker_processes_end_too(node: FaultyBroker) -> None:
    create_topic(node.bootstrap, "compacted", configs=[("cleanup.policy", "compact")])
    with Wire(node.bootstrap) as wire:
        data = [PartitionProduceData(index=0, records=bytes(counted(100_000)))]  # for a worker to read
        topic = TopicProduceData(name="compacted", partition_data=data)
        wire.ask(ProduceRequest(acks=-1, timeout_ms=BOUND_S * 1000, topic_data=[topic]), 9)
        workers = children(node.pid)
        assert workers
        node.fail(Fault("pwrite", LOG))
        assert produce(wire) in NOT_ACKED
    check_its_end(node, node.log_dir, errno.EIO)
    await_death(workers)


@pytest.mark.parametrize(
    ("operation", "where"),
    [
        *((operation, "*") for operation in ("open", "pread", "pwrite", "sync", "read", "rename")),
        *(("pread", where) for where in ("*/__cluster_metadata-0/*", "*/t-0/*")),
    ],
)
def test_a_start_on_a_disk_that_fails(node: FaultyBroker, operation: str, where: str) -> None:
    node.kill()
    node.fail(Fault(operation, where))
    node.spawn()
    assert node.await_end() == 1
    last = node.log_lines()[-1]
    assert last.startswith("ottla server: ")
    assert str(node.log_dir) in last
    assert os.strerror(errno.EIO) in last
    check_nothing_is_lost(node)


# -- one of two -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", ["a write", "a full disk", "a flush", "a read", "a read by sendfile"])
def test_one_of_two_directories(two: FaultyBroker, story: str) -> None:
    (broken,) = [number for number in (0, 1) if two.directory_of("t", number) != two.log_dir]
    fault, _ = STORIES[story]
    with Wire(two.bootstrap) as wire, Wire(two.bootstrap) as other:
        two.fail(fault._replace(path=f"{two.directories[1]}/t-*/*.log"))
        use = fetch if fault.operation in ("pread", "sendfile") else produce
        assert use(wire, broken) in NOT_ACKED
        two.heal()
        assert produce(other, broken) == ErrorCode.KAFKA_STORAGE_ERROR, "it is offline for good"
        assert fetch(other, broken) == ErrorCode.KAFKA_STORAGE_ERROR
        append_on(other, "t", b"lost", partition=1 - broken)
        assert fetch(other, 1 - broken) == ErrorCode.NONE
        create_topic(two.bootstrap, "new")
        assert two.directory_of("new") == two.log_dir
    offline = f"Log directory {two.directories[1]} is offline: "
    assert any(offline in line and os.strerror(fault.errno) in line for line in two.log_lines())
    two.stop()
    assert (two.log_dir / ".kafka_cleanshutdown").exists()
    assert not (two.directories[1] / ".kafka_cleanshutdown").exists()
    two.start()
    for partition in (0, 1):
        assert read_values(two.bootstrap, "t", partition)[: len(KEPT)] == KEPT


def test_the_other_of_two_directories_ends_it(two: FaultyBroker) -> None:
    """It has the metadata."""
    partitions = [two.directory_of("t", number) for number in (0, 1)]
    two.fail(Fault("pwrite", "*/t-*/*.log"))
    with Wire(two.bootstrap) as wire:
        assert produce(wire, partitions.index(two.directories[1])) in NOT_ACKED
        produce(wire, partitions.index(two.log_dir))
    check_its_end(two, two.log_dir, errno.EIO)
    assert str(two.directories[1]) in two.log_lines()[-1], "both have failed"
    check_nothing_is_lost(two)


@pytest.mark.parametrize("operation", ["pwrite", "sync"])
def test_the_directory_of_the_metadata_is_one_of_two(two: FaultyBroker, operation: str) -> None:
    two.fail(Fault(operation, METADATA))
    with Wire(two.bootstrap) as wire:
        make_topic(wire)
    check_its_end(two, two.log_dir, errno.EIO)
    assert "with the metadata" in two.log_lines()[-1]
    check_nothing_is_lost(two)
    assert read_values(two.bootstrap, "t", 1) == KEPT


@pytest.mark.parametrize(
    ("operation", "where", "failed"),
    [("pwrite", METADATA, "metadata"), ("sync", METADATA, "metadata"), ("pwrite", LOG, "data")],
)
def test_the_metadata_lies_elsewhere(tmp_path: Path, operation: str, where: str, failed: str) -> None:
    metadata = tmp_path / "metadata"
    with FaultyBroker(tmp_path / "node", {"metadata.log.dir": str(metadata)}) as node:
        create_topic(node.bootstrap, "t")
        append(node.bootstrap, "t", *KEPT)
        with Wire(node.bootstrap) as wire:
            node.fail(Fault(operation, where))
            if where == METADATA:
                make_topic(wire)
            else:
                assert produce(wire) in NOT_ACKED
        check_its_end(node, metadata if failed == "metadata" else node.log_dir, errno.EIO)
        assert ("with the metadata" in node.log_lines()[-1]) == (failed == "metadata")
        check_nothing_is_lost(node)


# -- a disk that is full ----------------------------------------------------------------------------------------------


def test_a_full_disk(tmp_path: Path) -> None:
    """The real thing; when there is room again, whatever was acked is there."""
    acked = 0
    with SmallDisk.mounted(tmp_path / "disk", "8m") as disk, SmallDiskBroker(tmp_path / "node", disk) as node:
        create_topic(node.bootstrap, "t")
        with Wire(node.bootstrap) as wire:
            answer: ErrorCode | None = ErrorCode.NONE
            while answer == ErrorCode.NONE and acked < 100:
                answer = produce(wire, value=VALUE)
                acked += answer == ErrorCode.NONE
        assert answer in NOT_ACKED
        assert acked > 0
        check_its_end(node, disk.path / "data", errno.ENOSPC, advice="make room")
        node.spawn()
        assert node.await_end() == 1
        assert os.strerror(errno.ENOSPC) in node.log_lines()[-1], "there is still no room"
        disk.grow("64m")
        node.start()
        assert read_values(node.bootstrap, "t")[:acked] == [VALUE] * acked
        append(node.bootstrap, "t", b"there is room")
