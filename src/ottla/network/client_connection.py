"""One connection to a node: requests go out, answers come back in the same order."""

import asyncio
import ssl
import struct
from typing import Any, Final, Protocol

from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.network.client_errors import AuthenticationError, CorrelationIdMismatchError, NetworkError
from ottla.network.client_throttle import should_client_throttle
from ottla.network.frames import FrameBuffer, InvalidReceiveError
from ottla.network.in_flight_requests import InFlightRequest, InFlightRequests
from ottla.network.node_api_versions import decode_api_versions_response
from ottla.network.tls_failure import describe_tls_failure, is_tls_refusal
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response, encode_request
from ottla.protocol.message import Message

Answer = asyncio.Future[Any]

RECEIVE_BYTES: Final = 256 * 1024
"""The size of the buffer that all connections of a client receive into; larger answers get memory of their own."""
AT_ONCE_BYTES: Final = 16 * 1024 * 1024
"""Answers up to this size get their memory at once: we asked for them."""
CORK_BYTES: Final = 64 * 1024
"""What is kept back at most to leave together; more, and the socket must say whether it takes it."""
_CORRELATION_ID: Final = struct.Struct(">i")
_TLS_ALERT: Final = 0x1503
"""How the size of the first answer begins if it is not a size at all, but a TLS listener's complaint."""
_API_KEYS: Final = {int(key): key for key in ApiKey}


class ConnectionOwner(Protocol):
    """Whoever made the connection, and hears of it."""

    def on_room(self, connection: "ClientConnection") -> None:
        """Answers came, or the socket takes bytes again: more may fit."""

    def on_throttle(self, throttle_time_ms: int) -> None:
        """The node wants nothing to be sent for this long."""

    def on_lost(self, connection: "ClientConnection", error: KafkaError) -> None:
        """The connection is closed; what was in flight has failed. Called once."""


class ClientConnection(asyncio.BufferedProtocol):
    """Made → open (``connection_made``) → closed, by either side.

    An answer that cannot be read, or is not the oldest request's, closes it. Writes of one turn of the loop leave
    together, except for the first on an idle connection, which leaves at once.
    """

    __slots__ = (
        "_client_id",
        "_closed_by",
        "_frames",
        "_in_flight",
        "_is_accepted",
        "_is_paused",
        "_large_size",
        "_loop",
        "_outgoing",
        "_outgoing_bytes",
        "_owner",
        "_receive_buffer",
        "_transport",
        "_window",
        "name",
    )

    def __init__(
        self,
        name: str,
        client_id: str | None,
        in_flight: "InFlightRequests[Answer]",
        owner: ConnectionOwner,
        *,
        receive_buffer: memoryview,
        receive_max_bytes: int,
    ) -> None:
        self.name = name
        self._client_id = client_id
        self._in_flight = in_flight
        self._owner = owner
        self._receive_buffer = receive_buffer
        self._frames = FrameBuffer(receive_max_bytes, AT_ONCE_BYTES)
        self._window: memoryview | None = None
        self._large_size = -1
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._is_paused = False
        self._is_accepted = False
        """Whether the node has answered anything but ApiVersions: then it takes our requests."""
        self._closed_by: KafkaError | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport

    @property
    def in_flight_count(self) -> int:
        """How many requests wait for their answers."""
        return len(self._in_flight)

    @property
    def can_send_more(self) -> bool:
        """Whether another request fits, and what was sent before has left."""
        return not self._is_paused and self._in_flight.can_send_more and self._closed_by is None

    def raise_if_closed(self) -> None:
        """Raise what it was closed by, if it was."""
        if self._closed_by is not None:
            raise self._closed_by

    def send(
        self, request: Message, version: int, deadline_ms: int, answer: Answer, *, expect_response: bool = True
    ) -> None:
        """Send a request; ``answer`` gets the response, or None at once if there is none to expect (acks=0)."""
        if self._closed_by is not None:
            answer.set_exception(self._closed_by)
            return
        in_flight = self._in_flight
        api_key = _API_KEYS[type(request).schema.api_key]
        correlation_id = in_flight.next_correlation_id()
        frame = encode_request(api_key, version, correlation_id, self._client_id, request)
        if in_flight or self._outgoing:
            self._write_with_others(frame)
        else:
            self._transport.write(frame)
        if expect_response:
            in_flight.add(InFlightRequest(api_key, version, correlation_id, deadline_ms, answer))
        else:
            answer.set_result(None)

    def has_expired(self, now_ms: int) -> bool:
        """Whether a request is overdue."""
        return self._in_flight.has_expired(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When the next is."""
        return self._in_flight.next_deadline_ms()

    def increment_throttle_time(self, throttle_time_ms: int) -> None:
        """Give all in flight more time."""
        self._in_flight.increment_throttle_time(throttle_time_ms)

    def close(self, error: KafkaError) -> None:
        """Close it now; ``error`` is what those in flight get. Closing twice is harmless."""
        if self._closed_by is not None:
            return
        self._closed_by = error
        self._outgoing.clear()
        self._transport.abort()
        for request in self._in_flight.clear_all():
            if not request.waiter.done():
                request.waiter.set_exception(error)
        self._owner.on_lost(self, error)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio. A node that refuses our certificate in TLS 1.3 says so only after the handshake."""
        if isinstance(exc, ssl.SSLError) and is_tls_refusal(exc) and not self._is_accepted:
            self.close(AuthenticationError(f"SSL handshake with {self.name} failed: {describe_tls_failure(exc)}"))
            return
        reason = "" if exc is None else f": {exc}"
        if not self._is_accepted:
            reason += "; if that is always so, the listener wants another security.protocol, or a certificate of ours"
        self.close(NetworkError(f"The connection to {self.name} was closed before the response was read{reason}"))

    def pause_writing(self) -> None:
        """See asyncio: the node does not read as fast as we write."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """See asyncio."""
        self._is_paused = False
        self._owner.on_room(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """See asyncio. The bytes go to the shared buffer, or straight to their place in a large answer."""
        frames = self._frames
        if self._large_size < 0 and frames.buffered_bytes:
            size = frames.size()
            if size >= 0 and frames.missing(size) > RECEIVE_BYTES:
                self._large_size = size
        if self._large_size < 0:
            return self._receive_buffer
        self._window = frames.window(self._large_size)
        return self._window

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio."""
        frames = self._frames
        if self._window is None:
            frames.append(self._receive_buffer[:nbytes])
        else:
            self._window.release()
            self._window = None
            frames.filled(nbytes)
        answered = False
        try:
            while (size := frames.size()) >= 0 and (frame := frames.take(size)) is not None:
                self._large_size = -1
                self._complete(frame)
                answered = True
            if size >> 16 == _TLS_ALERT and not self._is_accepted:
                self.close(
                    NetworkError(f"{self.name} speaks TLS on this port: security.protocol should be SSL or SASL_SSL")
                )
        except (InvalidReceiveError, InvalidRequestError) as error:
            self.close(NetworkError(f"{self.name} sent what is no answer: {error}"))
        except CorrelationIdMismatchError as error:
            self.close(error)
        if answered and self._closed_by is None:
            self._owner.on_room(self)

    def _complete(self, frame: memoryview) -> None:
        if len(frame) < _CORRELATION_ID.size:
            raise InvalidRequestError(f"a response of {len(frame)} bytes")
        request = self._in_flight.complete_next(_CORRELATION_ID.unpack_from(frame)[0])
        answer = request.waiter
        api_key, version = request.api_key, request.api_version
        try:
            if api_key is ApiKey.API_VERSIONS:
                response = decode_api_versions_response(version, frame)
            else:
                response = decode_response(api_key, version, frame)[1]
                self._is_accepted = True
        except InvalidRequestError as error:
            if not answer.done():
                answer.set_exception(NetworkError(f"{self.name} answered {api_key.api_name} with garbage: {error}"))
            raise
        throttle_time_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_time_ms > 0 and should_client_throttle(api_key, version):
            self._owner.on_throttle(throttle_time_ms)
        if not answer.done():  # whoever asked may have gone
            answer.set_result(response)

    def _write_with_others(self, frame: bytes) -> None:
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(frame)
        self._outgoing_bytes += len(frame)
        if self._outgoing_bytes >= CORK_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._outgoing:
            self._transport.write(b"".join(self._outgoing))
            self._outgoing.clear()
            self._outgoing_bytes = 0
