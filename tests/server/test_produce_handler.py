"""Produce over the wire: each case both along the short path (one plain batch) and along the general one."""

import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from ottla.records.batch import HEADER_BYTES
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.compression import Compression
from ottla.testing import Broker
from ottla.testing.files import BrokerFile
from tests.server.wire import BOUND_S, Wire, create_topic

VERSIONS = range(3, 14)
LATEST = 13
BY_NAME = 12
FLEXIBLE_FROM = 9
UNKNOWN_TAG = b"\x01\x63\x01!"
"""One tagged field that nobody knows; a request that has it is left to the codec."""


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "false", "message.max.bytes": "10000"}


def batch(*values: bytes, timestamp: int = 1_000, **options: Any) -> bytearray:
    """A batch with a record for each value."""
    return build_batch([SimpleRecord(timestamp, None, value) for value in values or (b"value",)], **options)


@dataclass(frozen=True)
class Produce:
    """Sends produces along one of the two paths."""

    wire: Wire
    ids: dict[str, Uuid]
    is_general: bool

    def request(
        self,
        entries: Sequence[tuple[str, int, bytes | bytearray | None]],
        *,
        version: int,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> ProduceRequest:
        topics: list[TopicProduceData] = []
        for name, index, records in entries:
            data = PartitionProduceData(index=index, records=None if records is None else bytes(records))
            if topics and topics[-1].name == name:
                topics[-1].partition_data = [*topics[-1].partition_data, data]
                continue
            topics.append(TopicProduceData(name=name, partition_data=[data]))
            if version == LATEST:
                topics[-1].topic_id = self.ids.get(name) or Uuid.from_string(name)
        return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=30_000, topic_data=topics)

    def send(self, request: ProduceRequest, version: int) -> None:
        frame = self.wire.frame(request, version)
        if self.is_general and version >= FLEXIBLE_FROM:
            body = frame[4:-1] + UNKNOWN_TAG
            frame = struct.pack(">i", len(body)) + body
        self.wire.send_frame(frame)

    def __call__(
        self,
        topic: str,
        records: bytes | bytearray | None,
        version: int = BY_NAME,
        *,
        partition: int = 0,
        **options: Any,
    ) -> PartitionProduceResponse:
        """The answer to a produce to one partition."""
        request = self.request([(topic, partition, records)], version=version, **options)
        self.send(request, version)
        response = self.wire.receive(request, version)
        ((answer,),) = [each.partition_responses for each in response.responses]
        assert answer.index == partition
        assert response.throttle_time_ms == 0
        assert not response.node_endpoints
        answer.record_errors = list(answer.record_errors)
        found: PartitionProduceResponse = answer
        return found

    def many(self, request: ProduceRequest, version: int) -> dict[tuple[str, int], int]:
        """The errors of the partitions of a request, in the order of the answer."""
        self.send(request, version)
        response = self.wire.receive(request, version)
        return {
            (topic.name, partition.index): partition.error_code
            for topic in response.responses
            for partition in topic.partition_responses
        }


@pytest.fixture(params=["short", "general"])
def produce(request: pytest.FixtureRequest, wire: Wire, topic: str, address: str) -> Produce:
    """To a topic with three partitions."""
    return Produce(wire, {topic: create_topic(address, topic, partitions=3)}, request.param == "general")


def read(wire: Wire, topic: str, *, partition: int = 0) -> bytes:
    """All that a consumer sees of a partition."""
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=[FetchTopic(topic=topic, partitions=[FetchPartition(partition=partition, partition_max_bytes=1 << 20)])],
    )
    ((answer,),) = [each.partitions for each in wire.ask(request, 11).responses]
    assert answer.error_code == 0
    return bytes(answer.records)


def refused(error: ErrorCode, *, log_start_offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=0, error_code=error, base_offset=-1, log_start_offset=log_start_offset, record_errors=[]
    )


# -- what is taken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_every_version(produce: Produce, topic: str, version: int, acks: int) -> None:
    first = produce(topic, batch(b"one", b"two"), version, acks=acks)
    second = produce(topic, batch(b"three"), version, acks=acks)
    assert [first.error_code, second.error_code] == [0, 0]
    assert [first.base_offset, second.base_offset] == [0, 2]
    assert first.log_append_time_ms == -1
    assert first.log_start_offset == (0 if version >= 5 else -1)
    sent = batch(b"one", b"two", leader_epoch=0) + batch(b"three", base_offset=2, leader_epoch=0)
    assert read(produce.wire, topic) == sent


def test_a_topic_id_is_answered_with_the_id(produce: Produce, topic: str) -> None:
    request = produce.request([(topic, 0, batch())], version=LATEST)
    produce.send(request, LATEST)
    (answer,) = produce.wire.receive(request, LATEST).responses
    assert (answer.topic_id, answer.name) == (produce.ids[topic], "")


def test_log_append_time(produce: Produce, address: str, topic: str) -> None:
    name = f"{topic}-stamped"
    create_topic(address, name, configs=[("message.timestamp.type", "LogAppendTime")])
    answer = produce(name, batch(timestamp=5))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert answer.log_append_time_ms > 1_600_000_000_000


def test_acks_0_is_not_answered(produce: Produce, topic: str) -> None:
    for version in (3, 9, BY_NAME, LATEST):
        produce.send(produce.request([(topic, 0, batch(b"quiet"))], version=version, acks=0), version)
    answer = produce(topic, batch(b"asks"))
    assert (answer.error_code, answer.base_offset) == (0, 4)


def test_a_topic_that_wants_every_record_on_the_disk(produce: Produce, address: str, topic: str) -> None:
    name = f"{topic}-flushed"
    create_topic(address, name, configs=[("flush.messages", "1")])
    for acks, offset in ((1, 0), (-1, 1)):
        answer = produce(name, batch(), acks=acks)
        assert (answer.error_code, answer.base_offset) == (0, offset)


def test_an_empty_request(produce: Produce) -> None:
    assert produce.many(produce.request([], version=BY_NAME), BY_NAME) == {}


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [2, -2, 100])
@pytest.mark.parametrize("version", [3, 8, 9, LATEST])
def test_acks_that_do_not_exist(produce: Produce, topic: str, version: int, acks: int) -> None:
    assert produce(topic, batch(), version, acks=acks) == refused(ErrorCode.INVALID_REQUIRED_ACKS)
    assert read(produce.wire, topic) == b""


@pytest.mark.parametrize("version", [3, 9, BY_NAME])
def test_an_unknown_topic(produce: Produce, version: int) -> None:
    assert produce("nowhere", batch(), version) == refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_an_unknown_topic_id(produce: Produce) -> None:
    answer = produce("AAAAAAAAAAAAAAAAAAAAZA", batch(), LATEST)
    assert answer == refused(ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [3, 9, LATEST])
def test_an_unknown_partition(produce: Produce, topic: str, version: int) -> None:
    answer = produce(topic, batch(), version, partition=3)
    answer.index = 0
    assert answer == refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("records", [None, b"", b"\0" * 11])
def test_an_unknown_partition_goes_before_bad_records(produce: Produce, records: bytes | None) -> None:
    assert produce("nowhere", records) == refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_too_large(produce: Produce, topic: str) -> None:
    assert produce(topic, batch(b"x" * 10_000)) == refused(ErrorCode.MESSAGE_TOO_LARGE)
    assert produce(topic, batch()).base_offset == 0


def test_a_corrupt_batch(produce: Produce, topic: str) -> None:
    damaged = batch(b"payload")
    damaged[-3] ^= 1
    assert produce(topic, damaged) == refused(ErrorCode.CORRUPT_MESSAGE)


@pytest.mark.parametrize("version", [3, 9, LATEST])
@pytest.mark.parametrize(
    "records",
    [
        pytest.param(None, id="null"),  # Apache Kafka never answers that
        pytest.param(b"", id="empty"),
        pytest.param(batch(b"one") + batch(b"two"), id="two batches"),
        pytest.param(batch(b"cut")[:-1], id="a batch that ends early"),
        pytest.param(batch(b"cut")[:HEADER_BYTES], id="a header alone"),
        pytest.param(b"\0" * 11, id="not even a length"),
    ],
)
def test_not_exactly_one_batch(produce: Produce, topic: str, version: int, records: bytes | None) -> None:
    assert produce(topic, records, version) == refused(ErrorCode.INVALID_RECORD)


def test_a_batch_and_a_little_more(produce: Produce, topic: str) -> None:
    assert produce(topic, bytes(batch(b"one")) + b"\0" * 5).error_code in (0, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("length", [-1, 0, 13, 48])
def test_a_batch_that_says_it_is_too_short(produce: Produce, topic: str, length: int) -> None:
    damaged = batch(b"payload")
    struct.pack_into(">i", damaged, 8, length)
    assert produce(topic, damaged).error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(produce: Produce, topic: str, version: int, magic: int) -> None:
    old = batch(b"a value that makes it long enough")
    old[16] = magic
    assert produce(topic, old, version) == refused(ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("version", [6, 7, 9])
def test_zstd_since_version_7(produce: Produce, topic: str, version: int) -> None:
    answer = produce(topic, batch(compression=Compression.ZSTD), version)
    assert answer.error_code == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 7 else 0)


def test_records_at_fault_are_named(produce: Produce, address: str, topic: str) -> None:
    name = f"{topic}-compacted"
    create_topic(address, name, configs=[("cleanup.policy", "compact")])
    records = build_batch([SimpleRecord(1, b"key", b"fine"), SimpleRecord(1, None, b"bad"), SimpleRecord(1, None, b"")])
    old = produce(name, records, 7)
    assert old == refused(ErrorCode.INVALID_RECORD, log_start_offset=0)
    for version in (8, 9, BY_NAME):
        answer = produce(name, records, version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
        assert [error.batch_index for error in answer.record_errors] == [1, 2]
        assert all(error.batch_index_error_message for error in answer.record_errors)
        assert answer.error_message is not None
        assert answer.error_message.startswith("One or more records have been rejected due to 2 record errors")


def test_a_timestamp_out_of_bounds(produce: Produce, address: str, topic: str) -> None:
    name = f"{topic}-recent"
    create_topic(address, name, configs=[("message.timestamp.before.max.ms", "1000")])
    answer = produce(name, batch(timestamp=1))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [0]


def test_an_internal_topic(produce: Produce, address: str) -> None:
    with Wire(address) as wire:
        create_internal_topic(wire, address)
    answer = produce("__consumer_offsets", batch(b"mine", producer_id=-1))
    assert answer == refused(ErrorCode.INVALID_TOPIC_EXCEPTION)


def create_internal_topic(wire: Wire, address: str) -> None:
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")], allow_auto_topic_creation=False)
    (found,) = wire.ask(wanted, 12).topics
    if found.error_code:
        create_topic(address, "__consumer_offsets", configs=[("cleanup.policy", "compact")])


def test_no_more_in_sync_replicas_are_asked_for_than_there_are_replicas(
    produce: Produce, address: str, topic: str
) -> None:
    name = f"{topic}-careful"
    create_topic(address, name, configs=[("min.insync.replicas", "2")])
    assert produce(name, batch(), acks=-1).error_code == 0


@pytest.mark.parametrize("version", [3, 9, BY_NAME])
def test_transactional_records_without_a_transactional_id(produce: Produce, topic: str, version: int) -> None:
    records = batch(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    request = produce.request([(topic, 0, batch()), (topic, 1, records), ("nowhere", 0, batch())], version=version)
    answers = produce.many(request, version)
    assert set(answers.values()) == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert len(answers) == 3
    assert read(produce.wire, topic) == b""


def test_each_partition_has_its_own_answer(produce: Produce, address: str, topic: str) -> None:
    other = f"{topic}-other"
    produce.ids[other] = create_topic(address, other)
    damaged = batch(b"payload")
    damaged[-3] ^= 1
    request = produce.request(
        [
            (topic, 2, batch(b"two")),
            (topic, 0, damaged),
            (topic, 1, b""),
            (topic, 7, batch(b"seven")),
            (other, 0, batch(b"other")),
            ("nowhere", 0, batch(b"nowhere")),
        ],
        version=BY_NAME,
    )
    answers = produce.many(request, BY_NAME)
    assert answers == {
        (topic, 2): ErrorCode.NONE,
        (topic, 0): ErrorCode.CORRUPT_MESSAGE,
        (topic, 1): ErrorCode.INVALID_RECORD,
        (topic, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (other, 0): ErrorCode.NONE,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len(read(produce.wire, topic, partition=2)) == len(batch(b"two"))


# -- acks=0 and errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda topic: ("nowhere", batch()), id="unknown topic"),
        pytest.param(lambda topic: (topic, bytearray()), id="no records"),
        pytest.param(lambda topic: (topic, batch(b"x" * 10_000)), id="too large"),
    ],
)
def test_an_error_with_acks_0_closes_the_connection(
    produce: Produce, topic: str, version: int, spoil: Callable[[str], tuple[str, bytearray]]
) -> None:
    name, records = spoil(topic)
    produce.send(produce.request([(topic, 0, batch(b"good"))], version=version, acks=0), version)
    produce.send(produce.request([(name, 0, records)], version=version, acks=0), version)
    assert produce.wire.is_hung_up()


# -- idempotent producers ---------------------------------------------------------------------------------------------


def test_duplicates_and_gaps(produce: Produce, topic: str) -> None:
    producer_id = produce.wire.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4
    ).producer_id

    def numbered(sequence: int, epoch: int = 0) -> bytearray:
        return batch(b"v", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)

    answers = [produce(topic, numbered(sequence)) for sequence in range(6)]
    assert [answer.base_offset for answer in answers] == list(range(6))
    duplicate = produce(topic, numbered(3))
    assert (duplicate.error_code, duplicate.base_offset) == (0, 3)
    assert produce(topic, numbered(8)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(topic, numbered(0)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "forgotten"
    assert produce(topic, numbered(0, epoch=1)).base_offset == 6
    assert produce(topic, numbered(6)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(topic, numbered(1, epoch=1), partition=1).base_offset == 0, "unknown there: any sequence will do"


# -- the disk ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, -1])
def test_flush_messages_is_answered_after_the_flush(
    broker: Broker, topic: str, acks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(broker.bootstrap_servers, topic, configs=[("flush.messages", "1")])
    begun, allowed, synced = threading.Event(), threading.Event(), []

    def sync(file: BrokerFile) -> None:
        if topic in file.path and file.path.endswith(".log"):
            synced.append(file.size())
            begun.set()
            assert allowed.wait(BOUND_S)

    monkeypatch.setattr(BrokerFile, "sync", sync)
    with Wire(broker.bootstrap_servers) as wire, Wire(broker.bootstrap_servers) as other:
        produce = Produce(wire, {}, is_general=False)
        request = produce.request([(topic, 0, batch())], version=BY_NAME, acks=acks)
        wire.send(request, BY_NAME)
        assert begun.wait(BOUND_S)
        assert read(other, topic) == b"", "not on the disk: not for consumers"
        allowed.set()
        ((answer,),) = [each.partition_responses for each in wire.receive(request, BY_NAME).responses]
        assert (answer.error_code, answer.base_offset) == (0, 0)
        assert synced == [len(batch())]
        assert len(read(other, topic)) == len(batch())
