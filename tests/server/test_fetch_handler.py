"""Fetch over the wire: versions, limits, waiting, sessions, errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, PartitionData
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.testing import Broker
from tests.server.inside import inside, partition_of
from tests.server.wire import Wire, create_topic

VERSIONS = range(4, 19)
BY_NAME = 12
BY_ID = 13
LATEST = 18
FOR_EVER_MS = 600_000
READ_COMMITTED = 1
IDLE_PARTITIONS = 1_000


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "false", "transaction.partition.verification.enable": "false"}


@pytest.fixture
def topic_id(address: str, topic: str) -> Uuid:
    """Of the topic, which has three partitions."""
    return create_topic(address, topic, partitions=3)


def produce(wire: Wire, topic: str, records: bytes | bytearray, *, partition: int = 0, txn: str | None = None) -> int:
    """Append a batch; returns its offset."""
    data = PartitionProduceData(index=partition, records=bytes(records))
    request = ProduceRequest(
        transactional_id=txn,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    ((answer,),) = [each.partition_responses for each in wire.ask(request, 9).responses]
    assert answer.error_code == 0
    offset: int = answer.base_offset
    return offset


def batch(*values: bytes, **options: Any) -> bytearray:
    return build_batch([SimpleRecord(1_000, None, value) for value in values], **options)


def fetch(
    partitions: Mapping[tuple[str, Uuid], Sequence[FetchPartition]],
    *,
    wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
    forgotten: Sequence[ForgottenTopic] = (),
    replica_id: int = -1,
) -> FetchRequest:
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=key[0], topic_id=key[1], partitions=parts) for key, parts in partitions.items()],
        forgotten_topics_data=forgotten,
    )


def part(index: int = 0, offset: int = 0, max_bytes: int = 1 << 20, **options: Any) -> FetchPartition:
    return FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **options)


def flat(response: Any) -> list[PartitionData]:
    return [partition for each in response.responses for partition in each.partitions]


def content(data: PartitionData) -> bytes:
    assert not isinstance(data.records, FileSlice)
    return bytes(data.records or b"")


def only(response: Any) -> PartitionData:
    (found,) = flat(response)
    return found


def sizes(response: Any) -> list[int]:
    return [len(content(partition)) for partition in flat(response)]


# -- versions and limits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(wire: Wire, topic: str, topic_id: Uuid, version: int) -> None:
    produce(wire, topic, batch(b"one", b"two"))
    produce(wire, topic, batch(b"three"))
    response = wire.ask(fetch({(topic, topic_id): [part(offset=1)]}), version)
    assert (response.error_code, response.session_id, response.throttle_time_ms) == (0, 0, 0)
    (answered,) = response.responses
    assert (answered.topic, answered.topic_id)[version >= BY_ID] == (topic, topic_id)[version >= BY_ID]
    data = only(response)
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 3, 3)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.aborted_transactions is None
    assert data.preferred_read_replica == -1
    expected = batch(b"one", b"two", leader_epoch=0) + batch(b"three", base_offset=2, leader_epoch=0)
    assert content(data) == expected, "whole batches, from the one that holds the offset"


@pytest.mark.parametrize("version", [4, BY_NAME, LATEST])
def test_nothing_there(wire: Wire, topic: str, topic_id: Uuid, version: int) -> None:
    data = only(wire.ask(fetch({(topic, topic_id): [part()]}), version))
    assert (data.error_code, data.high_watermark, content(data)) == (0, 0, b"")


def test_the_limits_of_partitions_and_of_the_request(wire: Wire, topic: str, topic_id: Uuid) -> None:
    size = len(batch(b"x" * 1000))
    for index in range(3):
        for _ in range(5):
            produce(wire, topic, batch(b"x" * 1000), partition=index)
    key = (topic, topic_id)

    def ask(partition_bytes: int, max_bytes: int) -> list[int]:
        parts = [part(index, max_bytes=partition_bytes) for index in range(3)]
        return sizes(wire.ask(fetch({key: parts}, max_bytes=max_bytes), LATEST))

    assert ask(2 * size, 1 << 20) == [2 * size] * 3
    assert ask(2 * size + 100, 1 << 20) == [2 * size + 100] * 3, "the last batch may be cut"
    assert ask(1 << 20, 7 * size) == [5 * size, 2 * size, 0]
    assert ask(10, 1 << 20) == [size, 0, 0], "the first that has anything gives a whole batch at least"
    assert ask(10, 5) == [size, 0, 0]
    assert ask(0, 0) == [size, 0, 0]


def test_the_brokers_own_limit(wire: Wire, topic: str, topic_id: Uuid) -> None:
    produce(wire, topic, batch(b"x" * 1000))
    request = fetch({(topic, topic_id): [part(max_bytes=0x7FFFFFFF)]}, max_bytes=0x7FFFFFFF)
    assert sizes(wire.ask(request, LATEST)) == [len(batch(b"x" * 1000))]


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_an_append_ends_the_wait(wire: Wire, connect: Callable[[], Wire], topic: str, topic_id: Uuid) -> None:
    other = connect()
    request = fetch({(topic, topic_id): [part(0), part(1)]}, wait_ms=FOR_EVER_MS)
    wire.send(request, LATEST)
    produce(other, topic, batch(b"for another"), partition=2)
    produce(other, topic, batch(b"awaited"), partition=1)
    assert sizes(wire.receive(request, LATEST)) == [0, len(batch(b"awaited"))]


def test_min_bytes_are_waited_for(wire: Wire, connect: Callable[[], Wire], topic: str, topic_id: Uuid) -> None:
    other = connect()
    size = len(batch(b"x" * 100))
    request = fetch({(topic, topic_id): [part(0), part(1)]}, wait_ms=FOR_EVER_MS, min_bytes=3 * size)
    wire.send(request, LATEST)
    for index in (0, 1, 0):
        produce(other, topic, batch(b"x" * 100), partition=index)
    assert sizes(wire.receive(request, LATEST)) == [2 * size, size]


def test_time_ends_the_wait(wire: Wire, topic: str, topic_id: Uuid) -> None:
    size = len(batch(b"a little"))
    produce(wire, topic, batch(b"a little"))
    request = fetch({(topic, topic_id): [part()]}, wait_ms=30, min_bytes=1 << 19)
    assert sizes(wire.ask(request, LATEST)) == [size]


def test_an_error_is_told_at_once(wire: Wire, topic: str, topic_id: Uuid) -> None:
    request = fetch({(topic, topic_id): [part(0), part(1, offset=9)]}, wait_ms=FOR_EVER_MS)
    assert [data.error_code for data in flat(wire.ask(request, BY_NAME))] == [0, ErrorCode.OFFSET_OUT_OF_RANGE]


@pytest.mark.parametrize("version", [4, BY_NAME, LATEST])
def test_an_unknown_partition_does_not_end_the_wait(
    wire: Wire, connect: Callable[[], Wire], topic: str, topic_id: Uuid, version: int
) -> None:
    """Otherwise a client that holds on to it would ask without pause."""
    request = fetch({(topic, topic_id): [part(0), part(9)]}, wait_ms=FOR_EVER_MS)
    wire.send(request, version)
    produce(connect(), topic, batch(b"awaited"))
    answer = {data.partition_index: data for data in flat(wire.receive(request, version))}
    assert len(content(answer[0])) == len(batch(b"awaited"))
    assert answer[9].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_fetch_that_waits_keeps_the_order_of_its_connection(
    wire: Wire, connect: Callable[[], Wire], topic: str, topic_id: Uuid
) -> None:
    request = fetch({(topic, topic_id): [part()]}, wait_ms=FOR_EVER_MS)
    first = wire.send(request, LATEST)
    wire.send(fetch({(topic, topic_id): [part()]}), LATEST)
    produce(connect(), topic, batch(b"awaited"))
    assert int.from_bytes(wire.receive_frame()[:4], "big") == first
    assert sizes(wire.receive(request, LATEST)) == [len(batch(b"awaited"))]


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 11, BY_NAME, LATEST])
@pytest.mark.parametrize("offset", [2, -1, -100, 1 << 60])
def test_offsets_out_of_range(wire: Wire, topic: str, topic_id: Uuid, version: int, offset: int) -> None:
    produce(wire, topic, batch(b"one"))
    data = only(wire.ask(fetch({(topic, topic_id): [part(offset=offset)]}, wait_ms=FOR_EVER_MS), version))
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.last_stable_offset, content(data)) == (-1, -1, b"")


def test_unknown_topics(wire: Wire) -> None:
    unknown = {("nowhere", Uuid.from_string("AAAAAAAAAAAAAAAAAAAAZA")): [part()]}
    assert only(wire.ask(fetch(unknown), BY_NAME)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert only(wire.ask(fetch(unknown), BY_ID)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [9, BY_NAME, LATEST])
def test_leader_epochs(wire: Wire, topic: str, topic_id: Uuid, version: int) -> None:
    key = (topic, topic_id)

    def ask(epoch: int) -> int:
        return only(wire.ask(fetch({key: [part(current_leader_epoch=epoch)]}), version)).error_code

    assert ask(0) == ask(-1) == 0
    assert ask(1) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert ask(-2) in (0, ErrorCode.FENCED_LEADER_EPOCH)


def test_a_diverging_epoch(wire: Wire, topic: str, topic_id: Uuid) -> None:
    produce(wire, topic, batch(b"one", b"two"))
    key = (topic, topic_id)
    same = only(wire.ask(fetch({key: [part(offset=2, last_fetched_epoch=0)]}), BY_NAME))
    assert (same.error_code, same.diverging_epoch) == (0, None)
    ahead = only(wire.ask(fetch({key: [part(offset=7, last_fetched_epoch=0)]}, wait_ms=FOR_EVER_MS), BY_NAME))
    assert ahead.error_code == 0
    assert ahead.diverging_epoch is not None
    assert (ahead.diverging_epoch.epoch, ahead.diverging_epoch.end_offset) == (0, 2)
    assert content(ahead) == b""


@pytest.mark.parametrize(
    ("version", "error"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
def test_old_clients_know_no_storage_error(
    broker: Broker, topic: str, version: int, error: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = create_topic(broker.bootstrap_servers, topic)
    failure = OSError(5, "the disk is gone")
    disk = inside(broker, lambda server: partition_of(server, topic).local_log(-1, True).disk)
    monkeypatch.setattr(disk, "failure", failure)
    with Wire(broker.bootstrap_servers) as wire:
        assert only(wire.ask(fetch({(topic, topic_id): [part()]}), version)).error_code == error


# -- transactions -----------------------------------------------------------------------------------------------------


def end_of(producer_id: int, how: ControlRecordType) -> bytearray:
    return end_transaction_batch(
        EndTransactionMarker(how, 0), timestamp=1_000, producer_id=producer_id, producer_epoch=0
    )


def test_isolation_levels(broker: Broker, topic: str) -> None:
    topic_id = create_topic(broker.bootstrap_servers, topic)
    key = (topic, topic_id)

    def records(producer_id: int, sequence: int) -> bytearray:
        numbers = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        return batch(b"value", transactional=True, **numbers)

    def end(producer_id: int, how: ControlRecordType) -> None:
        entries = [(TopicPartition(topic, 0), None, end_of(producer_id, how))]
        inside(
            broker,
            lambda server: server.replicas.append_records(
                entries, 1, 0, lambda _: None, origin=AppendOrigin.COORDINATOR, transaction_version=1
            ),
        )

    with Wire(broker.bootstrap_servers) as wire:

        def committed(offset: int = 0, version: int = LATEST) -> tuple[int, int, list[tuple[int, int]]]:
            data = only(wire.ask(fetch({key: [part(offset=offset)]}, isolation=READ_COMMITTED), version))
            aborted = [(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]
            return data.last_stable_offset, len(content(data)), aborted

        size = len(records(1, 0))
        produce(wire, topic, batch(b"plain"))
        plain = len(batch(b"plain"))
        produce(wire, topic, records(1, 0), txn="one")
        produce(wire, topic, records(2, 0), txn="two")
        data = only(wire.ask(fetch({key: [part()]}), LATEST))
        assert (data.high_watermark, data.last_stable_offset, len(content(data))) == (3, 1, plain + 2 * size)
        assert data.aborted_transactions is None
        assert committed() == (1, plain, [])
        end(2, ControlRecordType.ABORT)
        assert committed()[:2] == (1, plain), "the other one is still open"
        end(1, ControlRecordType.COMMIT)
        marker = len(end_of(1, ControlRecordType.COMMIT))
        for version in (4, 11, BY_NAME, LATEST):
            assert committed(version=version) == (5, plain + 2 * size + 2 * marker, [(2, 2)])
        assert committed(offset=4) == (5, marker, []), "nothing that was aborted after here"
        request = fetch({key: [part(offset=5)]}, isolation=READ_COMMITTED, wait_ms=FOR_EVER_MS)
        produce(wire, topic, records(1, 1), txn="one")
        wire.send(request, LATEST)
        end(1, ControlRecordType.COMMIT)
        assert only(wire.receive(request, LATEST)).last_stable_offset == 7


# -- sessions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [7, BY_NAME, BY_ID, LATEST])
def test_a_session(wire: Wire, topic: str, topic_id: Uuid, version: int) -> None:
    key = (topic, topic_id)

    def ask(epoch: int, parts: Sequence[FetchPartition] = (), forget: Sequence[int] = ()) -> list[tuple[int, int]]:
        gone = [ForgottenTopic(topic=topic, topic_id=topic_id, partitions=forget)] if forget else []
        request = fetch({key: parts} if parts else {}, session=(session_id, epoch), forgotten=gone)
        response = wire.ask(request, version)
        assert (response.error_code, response.session_id) == (0, session_id)
        return [(data.partition_index, len(content(data))) for data in flat(response)]

    full = wire.ask(fetch({key: [part(0), part(1)]}, session=(0, 0)), version)
    session_id = full.session_id
    assert session_id > 0
    assert [data.partition_index for data in flat(full)] == [0, 1]
    assert ask(1) == [], "nothing has changed"
    produce(wire, topic, batch(b"one"), partition=1)
    size = len(batch(b"one"))
    assert ask(2) == [(1, size)]
    assert ask(3) == [(1, size)], "it has not said that it moved on"
    assert ask(4, [part(1, offset=1)]) == []
    assert ask(5, [part(2)]) == [(2, 0)], "a partition that is new to the session"
    produce(wire, topic, batch(b"one"), partition=1)
    assert ask(6, forget=[1]) == []
    closed = wire.ask(fetch({}, session=(session_id, -1)), version)
    assert (closed.error_code, closed.session_id) == (0, 0)
    gone = wire.ask(fetch({}, session=(session_id, 7)), version)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_session_errors(wire: Wire, topic: str, topic_id: Uuid) -> None:
    key = (topic, topic_id)
    session_id = wire.ask(fetch({key: [part()]}, session=(0, 0)), BY_NAME).session_id

    def error(session: int, epoch: int, version: int = BY_NAME) -> int:
        response = wire.ask(fetch({}, session=(session, epoch)), version)
        assert flat(response) == []
        code: int = response.error_code
        return code

    assert error(session_id, 2) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert error(session_id + 1, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert error(session_id, 1, BY_ID) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert error(session_id, 1) == 0
    assert error(session_id, 1) == ErrorCode.INVALID_FETCH_SESSION_EPOCH, "said before"
    assert error(session_id, 2) == 0


def test_a_topic_that_comes_to_be_during_a_session(wire: Wire, address: str, topic: str) -> None:
    first = wire.ask(fetch({(topic, Uuid(bytes(16))): [part()]}, session=(0, 0)), BY_NAME)
    assert only(first).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    again = wire.ask(fetch({}, session=(first.session_id, 1)), BY_NAME)
    assert only(again).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create_topic(address, topic)
    found = wire.ask(fetch({}, session=(first.session_id, 2)), BY_NAME)
    assert (only(found).error_code, only(found).high_watermark) == (0, 0)
    assert flat(wire.ask(fetch({}, session=(first.session_id, 3)), BY_NAME)) == []


def test_sessions_save_bytes_on_idle_partitions(
    wire: Wire, connect: Callable[[], Wire], address: str, topic: str
) -> None:
    """1,000 idle partitions, ten fetches: with a session they cost less than half the bytes, both ways."""
    key = (topic, create_topic(address, topic, partitions=IDLE_PARTITIONS))
    every = [part(index) for index in range(IDLE_PARTITIONS)]
    plain, with_session = connect(), connect()
    for _ in range(10):
        assert len(flat(plain.ask(fetch({key: every}, min_bytes=0), LATEST))) == IDLE_PARTITIONS
    full = with_session.ask(fetch({key: every}, min_bytes=0, session=(0, 0)), LATEST)
    for epoch in range(1, 10):
        assert flat(with_session.ask(fetch({}, min_bytes=0, session=(full.session_id, epoch)), LATEST)) == []
    assert with_session.sent_bytes < plain.sent_bytes / 2
    assert with_session.received_bytes < plain.received_bytes / 2
    print(f"requests: {with_session.sent_bytes} of {plain.sent_bytes} bytes")
