"""Brokers inside the process of a test, with the clients that people use."""

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition as PythonTopicPartition

from ottla.common.errors import InvalidConfigError, KafkaStorageError
from ottla.log.log_dir import LogDirLockedError
from ottla.runtime.port import Buffer
from ottla.runtime.posix import PosixFile
from ottla.testing import Broker

BOUND_S = 20
BOUND_MS = BOUND_S * 1000


def _send(broker: Broker, *values: bytes, topic: str = "numbers") -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(BOUND_S) == 0


def _receive(broker: Broker, count: int, *, topic: str = "numbers") -> list[bytes | None]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused", "enable.auto.commit": False}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(count, BOUND_S)]
    finally:
        consumer.close()


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No thread and no descriptor more than before."""
    threads, descriptors = set(threading.enumerate()), set(os.listdir("/dev/fd"))
    yield
    assert set(threading.enumerate()) <= threads
    assert len(set(os.listdir("/dev/fd")) - descriptors) == 0


def test_confluent_kafka() -> None:
    with Broker() as broker:
        _send(broker, b"one", b"two")
        assert _receive(broker, 2) == [b"one", b"two"]


def test_kafka_python() -> None:
    with Broker() as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        assert producer.send("numbers", b"one", partition=0).get(timeout=BOUND_S).offset == 0
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
        partition = PythonTopicPartition("numbers", 0)
        consumer.assign([partition])
        records = consumer.poll(timeout_ms=BOUND_MS)
        consumer.close()
        assert [record.value for record in records[partition]] == [b"one"]


def test_aiokafka() -> None:
    async def scenario() -> bytes | None:
        async with Broker() as broker:
            async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
                await producer.send_and_wait("numbers", b"one", partition=0)
            consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
            consumer.assign([AioTopicPartition("numbers", 0)])
            async with consumer:
                record = await asyncio.wait_for(consumer.getone(), BOUND_S)
            value: bytes | None = record.value
            return value

    assert asyncio.run(scenario()) == b"one"


def test_a_client_may_block_the_loop_of_the_test() -> None:
    async def scenario() -> list[bytes | None]:
        async with Broker() as broker:
            _send(broker, b"one")
            return _receive(broker, 1)

    assert asyncio.run(scenario()) == [b"one"]


def test_nothing_is_left_behind(nothing_left: None) -> None:
    with Broker() as broker:
        directory, address = broker.directory, broker.bootstrap_servers
        assert Path(directory, "meta.properties").exists()
    assert not Path(directory).exists()
    host, port = address.split(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0


def test_a_killed_broker_leaves_nothing_but_its_data(nothing_left: None, tmp_path: Path) -> None:
    with Broker(directory=tmp_path) as broker:
        broker.kill()
        assert list(tmp_path.glob("*.kafka_cleanshutdown")) == []
    assert (tmp_path / "meta.properties").exists()


def test_two_brokers_at_once() -> None:
    with Broker() as one, Broker() as two:
        assert one.bootstrap_servers != two.bootstrap_servers
        assert one.cluster_id != two.cluster_id
        _send(one, b"one")
        _send(two, b"two")
        assert (_receive(one, 1), _receive(two, 1)) == ([b"one"], [b"two"])


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill])
def test_data_and_address_outlive_the_end_of_a_broker(end: object) -> None:
    assert callable(end)
    with Broker() as broker:
        address, cluster_id = broker.bootstrap_servers, broker.cluster_id
        for value in (b"one", b"two"):
            _send(broker, value)
            end(broker)
            broker.start()
        assert (broker.bootstrap_servers, broker.cluster_id) == (address, cluster_id)
        assert _receive(broker, 2) == [b"one", b"two"]


def test_a_directory_of_ones_own_is_kept(tmp_path: Path) -> None:
    with Broker(directory=tmp_path) as broker:
        assert broker.directory == str(tmp_path)
        _send(broker, b"one")
    with Broker(directory=tmp_path) as broker:
        assert _receive(broker, 1) == [b"one"]


def test_properties_take_effect_however_they_are_given() -> None:
    for broker in (Broker(num_partitions=3), Broker({"num.partitions": "3"})):
        with broker:
            _send(broker, b"one")
            metadata = Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics("numbers", BOUND_S)
            assert len(metadata.topics["numbers"].partitions) == 3


def test_a_keyword_that_is_no_property_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"num\.partitons"):
        Broker(num_partitons=3)


@pytest.mark.parametrize(
    ("keyword", "value", "reason"),
    [("num_partitions", "many", "num.partitions"), ("process_roles", "broker", "just the broker role")],
)
def test_a_bad_value_is_raised_where_the_broker_is_started(
    nothing_left: None, keyword: str, value: str, reason: str
) -> None:
    broker = Broker(**{keyword: value})
    with pytest.raises(InvalidConfigError, match=reason):
        broker.start()
    broker.close()


def test_a_port_that_is_taken_is_an_error(nothing_left: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listeners = f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]},CONTROLLER://127.0.0.1:0"
        with pytest.raises(OSError, match=r"bind|in use"), Broker(listeners=listeners):
            pass


def test_one_directory_has_one_broker(tmp_path: Path) -> None:
    with Broker(directory=tmp_path), pytest.raises(LogDirLockedError), Broker(directory=tmp_path):
        pass


def test_calls_that_make_no_sense_are_refused() -> None:
    broker = Broker()
    broker.stop()
    broker.kill()
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.bootstrap_servers
    with broker, pytest.raises(RuntimeError, match="running already"):
        broker.start()


def test_a_broker_can_be_used_again_after_it_was_closed() -> None:
    broker = Broker()
    with broker:
        _send(broker, b"one")
    with broker:
        _send(broker, b"two")
        assert _receive(broker, 1) == [b"two"]


def fail_writes(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Let every write to a file fail whose path begins so."""
    write = PosixFile.pwrite

    def pwrite(self: PosixFile, data: Buffer, position: int) -> None:
        if self.path.startswith(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        write(self, data, position)

    monkeypatch.setattr(PosixFile, "pwrite", pwrite)


def outcome(address: str, topic: str) -> KafkaError | None:
    """What a producer hears of a record; None if it was acknowledged."""
    told: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": address, "message.timeout.ms": "500"})
    producer.produce(topic, b"two", on_delivery=lambda error, _message: told.append(error))
    producer.flush(BOUND_S)
    (error,) = told
    return error


@pytest.mark.parametrize("where", ["numbers-0", "__cluster_metadata-0", ""])
def test_a_disk_that_fails_ends_the_broker_and_not_the_process(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    broker = Broker()
    broker.start()
    _send(broker, b"one")
    address = broker.bootstrap_servers
    host, _, port = address.rpartition(":")
    fail_writes(monkeypatch, f"{broker.directory}/{where}")
    assert outcome(address, "numbers" if where == "numbers-0" else "new") is not None
    for end_of_use in (lambda: broker.bootstrap_servers, broker.close):
        with pytest.raises(KafkaStorageError, match=r"All log directories have failed .*Input/output error"):
            end_of_use()
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
    assert "All log directories have failed" in caplog.text
    assert "PENDING_CONTROLLED_SHUTDOWN" not in caplog.text, "there is nobody to ask"


@pytest.mark.parametrize("where", ["__cluster_metadata-0", "recovery-point"])
def test_a_disk_that_fails_at_the_start(
    nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    with Broker(directory=tmp_path) as broker:
        _send(broker, b"one")
    with monkeypatch.context() as failing:
        fail_writes(failing, f"{tmp_path}/{where}")
        with pytest.raises(KafkaStorageError, match=r"All log directories have failed"):
            broker.start()
    with broker:
        assert _receive(broker, 1) == [b"one"]


@pytest.mark.parametrize("where", ["__cluster_metadata-0", "recovery-point"])
def test_a_disk_that_fails_at_the_end(
    nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    broker = Broker(directory=tmp_path)
    broker.start()
    _send(broker, b"one")
    with monkeypatch.context() as failing:
        fail_writes(failing, f"{tmp_path}/{where}")
        with pytest.raises(KafkaStorageError, match="All log directories have failed"):
            broker.stop()
    assert "The controller did not let this broker go in time" not in caplog.text, "nobody has waited for it"
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    with broker:
        assert _receive(broker, 1) == [b"one"]
