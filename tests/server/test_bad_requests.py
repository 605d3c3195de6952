"""Issue 4, bad input, one by one, against a node in a process of its own: what it does, says and holds."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import REQUEST_ELEMENTS_MAX, encode
from ottla.protocol.headers import decode_response, encode_request
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.envelope import EnvelopeRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.varint import uvarint
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import SimpleRecord
from tests.fuzz.batches import bomb
from tests.fuzz.healthy_client import Connection, HealthyClient
from tests.fuzz.resources import resident_kib
from tests.ottla_broker import OttlaBroker

SOCKET_REQUEST_MAX_BYTES = 104_857_600
MIB = 1024  # in KiB
ANSWER_BOUND_S = 20
METADATA_V12 = encode(MetadataRequest(topics=[MetadataRequestTopic(name="healthy")]), 12)


class World:
    """A node with a healthy client, and sockets to misuse."""

    def __init__(self, node: OttlaBroker) -> None:
        self.node = node
        self.healthy = HealthyClient(node.ports.broker, node.ports.controller, "healthy", "healthy-group")
        assert self.healthy.create_topic("healthy") is ErrorCode.NONE
        self.healthy.find_coordinator()
        assert self.healthy.create_topic("compacted", configs={"cleanup.policy": "compact"}) is ErrorCode.NONE

    def connect(self, port: int | None = None) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.node.ports.broker), timeout=ANSWER_BOUND_S)

    def closed_after(self, data: bytes, port: int | None = None) -> str:
        """Send bytes, see the connection closed without an answer and others served; return what the log says."""
        seen = len(self.node.log_lines())
        with self.connect(port) as sock:
            local = "{}:{}".format(*sock.getsockname())
            sock.sendall(data)
            with suppress(ConnectionResetError):  # it may be closed before all was read
                assert sock.recv(1) == b""
        self.healthy.check()
        lines = [line for line in self.node.log_lines()[seen:] if local in line]
        assert len(lines) == 1, lines
        return lines[0]

    def resident_kib(self) -> int:
        return resident_kib(self.node.pid)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory: Path = tmp_path_factory.mktemp("bad-requests")
    with OttlaBroker(directory, {}) as node:
        made = World(node)
        yield made
        made.healthy.check()
        made.healthy.close()
        node.stop()
        assert not [line for line in node.log_lines() if "Traceback" in line or "Unexpected error" in line]


def request(api_key: int, version: int, body: bytes, *, tags: bytes | None = b"\0") -> bytes:
    """A frame with a header of version 2, or 1 without ``tags``."""
    data = struct.pack(">hhih", api_key, version, 7, -1) + (tags or b"") + body
    return struct.pack(">i", len(data)) + data


def test_http_on_a_broker_port(world: World) -> None:
    assert "look like HTTP" in world.closed_after(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


def test_tls_on_a_plaintext_port(world: World) -> None:
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(190)
    for port in world.node.ports:
        assert "look like TLS" in world.closed_after(hello, port)


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, SOCKET_REQUEST_MAX_BYTES + 1])
def test_a_size_that_no_frame_may_have(world: World, size: int) -> None:
    assert f"Invalid receive (size = {size}" in world.closed_after(struct.pack(">i", size))


def test_an_empty_frame(world: World) -> None:
    assert "has no room for a header" in world.closed_after(struct.pack(">i", 0))


def test_a_half_frame_held_open(world: World) -> None:
    """Others are served meanwhile, and it is answered when the rest has come."""
    frame = encode_request(ApiKey.METADATA, 12, 1, None, MetadataRequest(topics=[]))
    with world.connect() as sock:
        for byte in frame[:-1]:
            sock.sendall(bytes((byte,)))
        for _ in range(3):
            world.healthy.check()
        sock.sendall(frame[-1:])
        assert struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))[1] == 1


def test_frames_that_never_come(world: World) -> None:
    """A hundred connections claim 100 MiB each: it costs nothing until bytes arrive."""
    before = world.resident_kib()
    with ExitStack() as held:
        for _ in range(100):
            held.enter_context(world.connect()).sendall(struct.pack(">i", SOCKET_REQUEST_MAX_BYTES) + b"\0\3")
        world.healthy.check()
        assert world.resident_kib() - before < 20 * MIB


def test_an_unknown_api(world: World) -> None:
    assert "unknown api key 999" in world.closed_after(request(999, 0, b""))


def test_an_unsupported_version(world: World) -> None:
    line = world.closed_after(request(ApiKey.METADATA, 99, METADATA_V12))
    assert "Received request for disabled api with key 3 (METADATA) and version 99" in line


@pytest.mark.parametrize("version", [5, 300, 32767, -1])
def test_an_unsupported_version_of_api_versions(world: World, version: int) -> None:
    """Answered in version 0 with UNSUPPORTED_VERSION and the versions of ApiVersions, so that a client can go on."""
    body = encode(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
    for port in world.node.ports:
        with world.connect(port) as sock:
            sock.sendall(request(ApiKey.API_VERSIONS, version, body, tags=b"\0" if version > 0 else None))
            (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
            frame = memoryview(sock.recv(size, socket.MSG_WAITALL))
        correlation_id, response = decode_response(ApiKey.API_VERSIONS, 0, frame)
        assert (correlation_id, response.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)  # type: ignore[attr-defined]
        versions = [(api.api_key, api.min_version, api.max_version) for api in response.api_keys]  # type: ignore[attr-defined]
        assert versions == [(ApiKey.API_VERSIONS, 0, 4)]


def test_an_envelope_from_outside(world: World) -> None:
    body = encode(EnvelopeRequest(request_data=METADATA_V12, request_principal=b"x", client_host_address=b"abcd"), 0)
    for port in world.node.ports:
        assert "disabled api with key 58 (ENVELOPE)" in world.closed_after(request(ApiKey.ENVELOPE, 0, body), port)


def test_a_controllers_api_on_the_brokers_listener(world: World) -> None:
    line = world.closed_after(request(ApiKey.BROKER_HEARTBEAT, 0, bytes(20)))
    assert "disabled api with key 63 (BROKER_HEARTBEAT)" in line


def test_a_brokers_api_on_the_controllers_listener(world: World) -> None:
    line = world.closed_after(request(ApiKey.PRODUCE, 9, bytes(20)), world.node.ports.controller)
    assert "disabled api with key 0 (PRODUCE)" in line


def test_bytes_after_a_body_are_ignored(world: World) -> None:
    """As Apache does: it reads the fields of the version and looks no further."""
    with world.connect() as sock:
        sock.sendall(request(ApiKey.METADATA, 12, METADATA_V12 + b"more bytes"))
        assert struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))[1] == 7


def test_an_array_that_claims_more_than_is_left(world: World) -> None:
    line = world.closed_after(request(ApiKey.METADATA, 1, struct.pack(">i", 2**31 - 1), tags=None))
    assert "claims 2147483647 elements in the 0 bytes that are left" in line
    line = world.closed_after(request(ApiKey.METADATA, 12, b"\xff\xff\xff\xff\x0f"))
    assert "claims 4294967294 elements" in line


def test_tagged_fields_beyond_the_bytes_left(world: World) -> None:
    line = world.closed_after(request(ApiKey.METADATA, 12, METADATA_V12[:-1] + b"\xff\xff\xff\xff\x0f"))
    assert "claims 4294967295 elements" in line


def test_ten_thousand_tagged_fields(world: World) -> None:
    """Those that nobody knows are skipped, in the header and in the body."""
    tags = uvarint(10_000) + b"".join(uvarint(tag + 100) + b"\1x" for tag in range(10_000))
    for frame in (
        request(ApiKey.METADATA, 12, METADATA_V12[:-1] + tags),
        request(ApiKey.METADATA, 12, METADATA_V12, tags=tags),
    ):
        with world.connect() as sock:
            sock.sendall(frame)
            assert struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))[1] == 7


def test_five_million_topics(world: World) -> None:
    """Ten megabytes of names would be a gigabyte of objects; no more than 131,072 elements are read."""
    before = world.resident_kib()
    topics = 5_000_000
    line = world.closed_after(request(ApiKey.METADATA, 1, struct.pack(">i", topics) + bytes(2 * topics), tags=None))
    assert f"more than {REQUEST_ELEMENTS_MAX} elements" in line
    assert world.resident_kib() - before < 40 * MIB


def test_one_resource_named_five_thousand_times(world: World) -> None:
    """Described once: its configuration takes 100 KB."""
    resource = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    body = DescribeConfigsRequest(resources=[resource] * 5000, include_synonyms=True, include_documentation=True)
    connection = Connection(world.node.ports.broker)
    response = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, body)
    assert len(response.results) == 1  # type: ignore[attr-defined]
    connection.close()


def produce(world: World, topic: str, batch: bytes | bytearray, transactional_id: str | None = None) -> ErrorCode:
    """The error of one batch."""
    return _produce_errors(world, {topic: [bytes(batch)]}, transactional_id)[0]


def _produce_errors(world: World, batches: dict[str, list[bytes]], transactional_id: str | None) -> list[ErrorCode]:
    connection = Connection(world.node.ports.broker)
    topics = [
        TopicProduceData(
            name=topic,
            partition_data=[PartitionProduceData(index=index, records=batch) for index, batch in enumerate(each)],
        )
        for topic, each in batches.items()
    ]
    body = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=topics)
    response = connection.request(ApiKey.PRODUCE, 11, body)
    connection.close()
    return [
        ErrorCode(partition.error_code)
        for topic in response.responses  # type: ignore[attr-defined]
        for partition in topic.partition_responses
    ]


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_decompression_bomb(world: World, codec: Compression) -> None:
    """Far more than the megabyte that a batch may have, where records are looked at: memory is bounded."""
    batch = bomb(codec, expanded_bytes=(220 if codec is Compression.LZ4 else 300) << 20)
    before = world.resident_kib()
    error = produce(world, "compacted", batch)
    assert error in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD)
    world.healthy.check()
    assert world.resident_kib() - before < 30 * MIB


def test_a_mutated_batch(world: World) -> None:
    sound = build_batch([SimpleRecord(1_700_000_000_000, b"key", b"value")])
    assert produce(world, "compacted", sound) is ErrorCode.NONE
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0x10
        error = produce(world, "compacted", damaged)
        # The leader epoch, which the broker sets, is the only thing that neither checksum nor header checks hold.
        assert (error is ErrorCode.NONE) == (12 <= position < 16), position
    world.healthy.check()


def test_records_of_two_transactional_producers(world: World) -> None:
    """The request fails as a whole."""
    batches = [
        bytes(
            build_batch(
                [SimpleRecord(1_700_000_000_000, b"key", b"value")],
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
        )
        for producer_id in (1, 2)
    ]
    errors = _produce_errors(world, {"compacted": batches[:1], "healthy": batches[1:]}, "txn")
    assert errors == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
