"""A client that says exactly what it is told to say, one frame after the other, and waits for the answers."""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response, encode_request
from ottla.protocol.message import Message
from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

BOUND_S = 30
_RECEIVE_BYTES = 1 << 16


class Wire:
    """One connection; a context manager. An answer that does not come within ``BOUND_S`` is an error."""

    def __init__(self, address: str, client_id: str = "wire") -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), BOUND_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_id = 0
        self._input = bytearray()
        self.sent_bytes = 0
        self.received_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def fileno(self) -> int:
        """The socket's, to wait for it."""
        return self._socket.fileno()

    def ask(self, request: Message, version: int) -> Any:
        """Send a request and return the answer."""
        self.send(request, version)
        return self.receive(request, version)

    def send(self, request: Message, version: int) -> int:
        """Send a request; returns its correlation id."""
        return self.send_frame(self.frame(request, version))

    def frame(self, request: Message, version: int) -> bytes:
        """A request as it goes over the wire, with the next correlation id."""
        self._correlation_id += 1
        return encode_request(_api_key(request), version, self._correlation_id, self._client_id, request)

    def send_frame(self, frame: bytes) -> int:
        """Send a request that is encoded already."""
        self.sent_bytes += len(frame)
        self._socket.sendall(frame)
        return self._correlation_id

    def receive(self, request: Message, version: int) -> Any:
        """The next answer, which is one to such a request."""
        correlation_id, response = decode_response(_api_key(request), version, memoryview(self.receive_frame()))
        assert correlation_id == self._correlation_id
        return response

    def receive_frame(self) -> bytes:
        """The next answer after its size."""
        while len(self._input) < 4:
            self._more()
        (size,) = struct.unpack_from(">i", self._input)
        while len(self._input) < 4 + size:
            self._more()
        frame = bytes(self._input[4 : 4 + size])
        del self._input[: 4 + size]
        return frame

    def _more(self) -> None:
        data = self._socket.recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("the broker hung up")
        self.received_bytes += len(data)
        self._input += data

    def is_hung_up(self) -> bool:
        """Wait for the next byte; True if there is none because the broker has closed the connection."""
        try:
            return not self._socket.recv(1)
        except ConnectionResetError:
            return True


def _api_key(request: Message) -> ApiKey:
    return ApiKey(request.schema.api_key)


def create_topic(
    address: str,
    name: str,
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Sequence[tuple[str, str]] = (),
) -> Uuid:
    """Make a topic; returns its id when it can be used."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )
    with Wire(address) as wire:
        response = wire.ask(CreateTopicsRequest(topics=[topic], timeout_ms=BOUND_S * 1000), 7)
        (result,) = response.topics
        assert result.error_code == 0, f"{name}: {result.error_message}"
        topic_id: Uuid = result.topic_id
        latest = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)]
        wanted = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=latest)])
        for _ in eventually():
            (found,) = wire.ask(wanted, 1).topics
            if not any(each.error_code for each in found.partitions):
                break
        return topic_id


def eventually() -> Iterator[None]:
    """Turns of a loop that waits for something; too many are an error."""
    deadline = time.monotonic() + BOUND_S
    while time.monotonic() < deadline:
        yield
        time.sleep(0.001)
    raise TimeoutError(f"it did not happen within {BOUND_S} s")
