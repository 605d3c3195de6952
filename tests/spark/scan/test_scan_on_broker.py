"""read_ranges on brokers: what comes, what does not, and what is said when it cannot."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.sync import Admin
from ottla.spark.columns import ALL_COLUMNS, DEFAULT_COLUMNS
from ottla.spark.scan import client_pool, range_reader
from ottla.spark.scan.builders import OFFSETS_WORTH_WAITING, Builders
from ottla.spark.scan.client_pool import IDLE_CLIENTS_MAX, POOL
from ottla.spark.scan.fetch_settings import CONNECTION_DEFAULTS
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.range_reader import read_ranges
from ottla.spark.scan.scan_errors import CorruptBatchError, DataLossError
from ottla.spark.scan.scan_options import ScanOptions
from tests.clients.consumer.writing import BOUND_S, delete_records, delete_topic, make_topic, numbered, write
from tests.node import Node

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _pool() -> Iterator[None]:
    yield
    POOL.close()


def options(kafka: Node, columns: tuple[str, ...] = DEFAULT_COLUMNS, **settings: Any) -> ScanOptions:
    client = {name.replace("_", "."): value for name, value in settings.pop("client", {}).items()}
    return ScanOptions({"bootstrap.servers": kafka.bootstrap, **client}, columns, **settings)


def rows(ranges: list[OffsetRange], scan_options: ScanOptions) -> Rows:
    return [row for batch in read_ranges(ranges, scan_options) for row in batch.to_pylist()]


def values(ranges: list[OffsetRange], scan_options: ScanOptions) -> list[bytes]:
    return [row["value"] for row in rows(ranges, scan_options)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec(kafka: Node, topic: str, codec: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    for partition in (0, 1):
        write(kafka.bootstrap, topic, numbered(500, partition * 1000), partition=partition, compression_type=codec)
    ranges = [OffsetRange(topic, 0, 3, 490), OffsetRange(topic, 1, 0, 500)]
    for max_rows in (7, 10_000):
        found = rows(ranges, options(kafka, max_batch_rows=max_rows))
        of = {number: [row for row in found if row["partition"] == number] for number in (0, 1)}
        assert [row["offset"] for row in of[0]] == list(range(3, 490))
        assert [row["value"] for row in of[0]] == numbered(487, 3)
        assert [row["value"] for row in of[1]] == numbered(500, 1000)
        assert {(row["topic"], row["key"], row["timestampType"]) for row in found} == {(topic, None, 0)}


def test_the_kernels_read_what_python_reads(kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(kafka.bootstrap, topic, retention_ms="-1")  # records are of 1970
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": "lz4"})
    some: list[tuple[str, str | bytes | None]] = [("h", b"x"), ("n", None)]
    for number in range(3000):
        key, headers = (None, None) if number % 3 else (b"k%d" % number, some)
        producer.produce(topic, b"v" * (number % 50), key, partition=0, headers=headers, timestamp=1000 + number)
    assert producer.flush(BOUND_S) == 0
    wanted = [OffsetRange(topic, 0, 0, 3000)]
    builders = Builders()
    monkeypatch.setattr(range_reader, "BUILDERS", builders)
    by_python = rows(wanted, options(kafka, ALL_COLUMNS))
    assert not builders.is_loaded
    builders.expect(OFFSETS_WORTH_WAITING)
    assert builders.is_loaded
    assert rows(wanted, options(kafka, ALL_COLUMNS)) == by_python
    assert len(by_python) == 3000
    assert by_python[3]["headers"] == [{"key": "h", "value": b"x"}, {"key": "n", "value": None}]
    assert by_python[1]["headers"] is None


@pytest.mark.parametrize("committed", [True, False])
def test_transactions(kafka: Node, topic: str, committed: bool) -> None:
    make_topic(kafka.bootstrap, topic)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(BOUND_S)
    for number, end in enumerate((True, False, True, False)):
        producer.begin_transaction()
        for value in numbered(10, number * 10):
            producer.produce(topic, value, partition=0)
        producer.flush(BOUND_S)
        (producer.commit_transaction if end else producer.abort_transaction)(BOUND_S)
    # Each transaction ends with a marker, and so does the log: 44 offsets, 40 records.
    wanted = [OffsetRange(topic, 0, 0, 44)]
    found = values(wanted, options(kafka, read_committed=committed))
    assert found == (numbered(10) + numbered(10, 20) if committed else numbered(40))
    assert values([OffsetRange(topic, 0, 15, 27)], options(kafka, read_committed=committed)) == (
        numbered(5, 20) if committed else numbered(11, 14)
    )
    assert values([OffsetRange(topic, 0, 43, 44)], options(kafka, read_committed=committed)) == []


def test_a_compacted_topic(kafka: Node, topic: str) -> None:
    make_topic(
        kafka.bootstrap, topic, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.001",
        delete_retention_ms="100",
    )  # fmt: skip
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "batch.num.messages": 10})
    for number in range(200):
        producer.produce(topic, b"%d" % number, b"key-%d" % (number % 7), partition=0)
    producer.flush(BOUND_S)
    deadline = time.monotonic() + BOUND_S
    end = 200
    while True:  # another record closes the segment; the cleaner takes what it closed
        time.sleep(0.2)
        producer.produce(topic, b"last", b"last", partition=0)
        producer.flush(BOUND_S)
        end += 1
        found = rows([OffsetRange(topic, 0, 0, end)], options(kafka))
        newest = {row["key"]: row["value"] for row in found}
        assert len(newest) == 8
        assert newest[b"key-3"] == b"199"
        if len(found) < 100:
            break
        assert time.monotonic() < deadline, "nothing is compacted"
    assert rows([OffsetRange(topic, 0, 0, 100)], options(kafka)) == []
    assert [row["offset"] for row in found] == sorted(row["offset"] for row in found)


@pytest.mark.parametrize("fails", [True, False])
def test_records_that_are_gone(kafka: Node, topic: str, fails: bool) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(30))
    delete_records(kafka.bootstrap, topic, 0, 12)
    wanted = [OffsetRange(topic, 0, 5, 20)]
    if fails:
        with pytest.raises(DataLossError, match=f"of {topic}-0 from offset 5 on are gone, its log begins at 12 now"):
            rows(wanted, options(kafka))
    else:
        assert values(wanted, options(kafka, fail_on_data_loss=False)) == numbered(8, 12)
        assert values([OffsetRange(topic, 0, 0, 9)], options(kafka, fail_on_data_loss=False)) == []


def test_a_topic_that_is_deleted_is_not_made_again(kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.spark.scan.scan_machine.GONE_AFTER_MS", 500)
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(3))
    wanted = [OffsetRange(topic, 0, 0, 3)]
    assert len(rows(wanted, options(kafka))) == 3
    delete_topic(kafka.bootstrap, topic)
    with pytest.raises(DataLossError, match=f"{topic}-0 was to be read from offset 0 to 3, and does not exist"):
        rows(wanted, options(kafka))
    assert rows(wanted, options(kafka, fail_on_data_loss=False)) == []
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert topic not in admin.list_topics()


def test_a_record_larger_than_a_fetch(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    contents = [os.urandom(300_000), b"small", os.urandom(500_000)]
    for value in contents:
        write(kafka.bootstrap, topic, [value])
    small = options(kafka, client={"max_partition_fetch_bytes": "1000"})
    assert values([OffsetRange(topic, 0, 0, 3)], small) == contents


def test_a_damaged_batch_is_named(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(5))
    write(kafka.bootstrap, topic, [b"to be damaged"])
    kafka.stop()
    try:
        log = kafka.partition_dir(topic) / "00000000000000000000.log"
        log.write_bytes(log.read_bytes().replace(b"to be damaged", b"to_be_damaged"))
    finally:
        kafka.start()
    wanted, unread = [OffsetRange(topic, 0, 0, 6)], [OffsetRange(topic, 0, 0, 5)]
    assert values(unread, options(kafka)) == numbered(5)
    with pytest.raises(CorruptBatchError, match=f"record batch of {topic}-0 at offset 5 cannot be read.*crc"):
        rows(wanted, options(kafka))
    unchecked = options(kafka, client={"check_crcs": "false"})
    assert values(wanted, unchecked) == [*numbered(5), b"to_be_damaged"]


def test_a_broker_that_is_killed_and_comes_back(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(2000), compression_type="none", batch_num_messages=100)
    small = options(kafka, ("offset",), client={"max_partition_fetch_bytes": "2000"})
    batches = read_ranges([OffsetRange(topic, 0, 0, 2000)], small)
    found = next(batches).column("offset").to_pylist()
    kafka.kill()
    restarting = threading.Thread(target=kafka.start)
    restarting.start()
    try:
        for batch in batches:
            found += batch.column("offset").to_pylist()
    finally:
        restarting.join()
    assert found == list(range(2000))


def test_a_broker_that_is_not_there() -> None:
    nowhere = ScanOptions({"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "300"}, ("value",))
    with pytest.raises(KafkaTimeoutError, match=r"No bootstrap server has told of the cluster within 300 ms.*127\.0"):
        rows([OffsetRange("any", 0, 0, 1)], nowhere)


def test_a_broker_that_falls_silent(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(3))
    wanted = [OffsetRange(topic, 0, 0, 3)]
    client = {"default_api_timeout_ms": "3000", "request_timeout_ms": "1000"}
    assert len(rows(wanted, options(kafka, client=client))) == 3
    with kafka.paused(), pytest.raises(KafkaTimeoutError, match=f"Nothing of {topic}-0 came from offset 0 on"):
        rows(wanted, options(kafka, client=client))
    assert len(rows(wanted, options(kafka, client=client))) == 3


def test_small_ranges_come_together(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 30)
    for partition in range(30):
        write(kafka.bootstrap, topic, numbered(10, partition * 10), partition=partition)
    wanted = [OffsetRange(topic, partition, 0, 10) for partition in range(30)]
    batches = list(read_ranges(wanted, options(kafka, ("partition", "value"))))
    assert sum(batch.num_rows for batch in batches) == 300
    assert len(batches) <= 5
    found = {(row["partition"], row["value"]) for batch in batches for row in batch.to_pylist()}
    assert found == {(number // 10, value) for number, value in enumerate(numbered(300))}


def test_nothing_to_read(kafka: Node) -> None:
    assert rows([], options(kafka)) == []
    assert rows([OffsetRange("not-there", 0, 7, 7)], options(kafka)) == []


@pytest.mark.parametrize(
    ("given", "used"), [({}, CONNECTION_DEFAULTS["receive.buffer.bytes"]), ({"receive.buffer.bytes": "65536"}, "65536")]
)
def test_large_answers_come_through_a_large_buffer_unless_the_user_says(
    kafka: Node, given: dict[str, str], used: str
) -> None:
    with POOL.client({"bootstrap.servers": kafka.bootstrap, **given}) as client:
        assert str(client.config.common.receive_buffer_bytes) == used


def test_tasks_share_a_client_and_idle_ones_are_few(kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(10))
    wanted = [OffsetRange(topic, 0, 0, 10)]
    POOL.close()
    one, other = read_ranges(wanted, options(kafka)), read_ranges(wanted, options(kafka))
    next(one), next(other)
    assert [client.users for client in POOL._clients.values()] == [2]
    one.close()  # type: ignore[attr-defined]
    assert [client.users for client in POOL._clients.values()] == [1]
    other.close()  # type: ignore[attr-defined]
    assert [client.users for client in POOL._clients.values()] == [0]
    for number in range(IDLE_CLIENTS_MAX + 2):
        assert len(rows(wanted, options(kafka, client={"client_id": f"c-{number}"}))) == 10
    assert len(POOL._clients) == IDLE_CLIENTS_MAX
    monkeypatch.setattr(client_pool, "IDLE_MAX_S", 0.05)
    rows(wanted, options(kafka, client={"client_id": "expires"}))
    _wait(lambda: all(("client.id", "expires") not in key for key in POOL._clients))


def test_a_scan_that_is_given_up_leaves_nothing_behind(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(5000), batch_num_messages=100, compression_type="none")
    small = options(kafka, ("value",), client={"max_partition_fetch_bytes": "4000", "client_id": topic})
    batches = read_ranges([OffsetRange(topic, 0, 0, 5000)], small)
    next(batches)
    client = next(each for each in POOL._clients.values() if ("client.id", topic) in each.key)
    batches.close()  # type: ignore[attr-defined]
    assert client.users == 0
    assert len(values([OffsetRange(topic, 0, 0, 5000)], small)) == 5000


def test_memory_is_bounded_while_nobody_takes_batches(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, [bytes(1000)] * 5000, compression_type="none", batch_size=16384)
    client = {"max_partition_fetch_bytes": "300000", "client_id": topic}
    small = options(kafka, ("value",), client=client, max_batch_rows=300)  # an answer's rows: none waits for another's
    batches = read_ranges([OffsetRange(topic, 0, 0, 5000)], small)
    next(batches)
    machine = _machine_of(batches)
    _wait(lambda: machine._waiting_bytes > 300_000)
    for _ in range(20):
        assert machine.bytes_ahead <= 2 * 300_000
        time.sleep(0.01)
    assert 1 + sum(1 for _ in batches) > 10
    _wait(lambda: machine.bytes_ahead == 0)  # the last answer is released in the loop's thread


def test_a_forked_process_has_a_client_of_its_own(kafka: Node, topic: str) -> None:
    """Spark's daemon forks its workers; a client from before the fork would hang."""
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(10))
    wanted, scan_options = [OffsetRange(topic, 0, 0, 10)], options(kafka)
    assert len(rows(wanted, scan_options)) == 10
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe()
    child = context.Process(target=lambda: sending.send(len(rows(wanted, scan_options))))
    child.start()
    assert receiving.poll(BOUND_S)
    assert receiving.recv() == 10
    child.join()
    assert len(rows(wanted, scan_options)) == 10


def _machine_of(batches: Any) -> Any:
    return batches.gi_frame.f_locals["scan"]._fetcher._machine


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
