"""A request on its way through the server, from the last byte received to the last byte of its response sent."""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ottla.common.endpoint import SecurityProtocol
from ottla.common.kafka_principal import KafkaPrincipal
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.headers import RequestHeader

if TYPE_CHECKING:
    from ottla.network.channel import Channel

Part = bytes | bytearray | memoryview | FileSlice

NOT_YET: Final = -1
_NO_BODY: Final = memoryview(b"")


class ResponseKind(Enum):
    """What a handler may say; SEND, NO_OP and CLOSE_CONNECTION each end a request, and only one of them may."""

    SEND = auto()
    NO_OP = auto()
    CLOSE_CONNECTION = auto()
    START_THROTTLING = auto()
    END_THROTTLING = auto()


class ClientInformation(NamedTuple):
    """What a client says that it is, in ApiVersions."""

    software_name: str
    software_version: str


_SEND: Final = ResponseKind.SEND
UNKNOWN_CLIENT: Final = ClientInformation("unknown", "unknown")


class Peer(Protocol):
    """Who is on the other end: a channel, or the broker in the controller's own process."""

    @property
    def connection_id(self) -> str:
        """The connection, for logs and quotas."""

    @property
    def client_address(self) -> str:
        """The other end's address."""

    @property
    def principal(self) -> KafkaPrincipal:
        """Who it is."""

    @property
    def listener_name(self) -> str:
        """Where it came in."""

    @property
    def security_protocol(self) -> SecurityProtocol:
        """How the connection is secured."""

    @property
    def client_information(self) -> ClientInformation:
        """What it says that it is."""

    @property
    def from_privileged_listener(self) -> bool:
        """Whether it came in where brokers talk to each other."""


class RequestContext:
    """Who asks what, and where the request came in: the header, and what is known of the connection."""

    __slots__ = ("header", "peer")

    def __init__(self, header: RequestHeader, peer: Peer) -> None:
        self.header = header
        self.peer = peer

    @property
    def connection_id(self) -> str:
        """The connection, for logs and quotas."""
        return self.peer.connection_id

    @property
    def client_address(self) -> str:
        """The client's address."""
        return self.peer.client_address

    @property
    def principal(self) -> KafkaPrincipal:
        """Who the client is."""
        return self.peer.principal

    @property
    def listener_name(self) -> str:
        """Where the request came in."""
        return self.peer.listener_name

    @property
    def security_protocol(self) -> SecurityProtocol:
        """How the connection is secured."""
        return self.peer.security_protocol

    @property
    def client_information(self) -> ClientInformation:
        """What the client says that it is."""
        return self.peer.client_information

    @property
    def from_privileged_listener(self) -> bool:
        """Whether it came in where brokers talk to each other."""
        return self.peer.from_privileged_listener

    def __repr__(self) -> str:
        return f"RequestContext({self.header}, connection_id={self.connection_id}, principal={self.principal})"


class Request(RequestContext):
    """A request, which is its own context, and the one response it gets.

    Its times, in nanoseconds of ``perf_counter_ns``, -1 before they happen: ``start_time_ns`` (T0, received),
    ``request_dequeue_time_ns`` (T1, a handler takes it), ``api_local_complete_time_ns`` (T2, the handler returns or
    answers), ``response_complete_time_ns`` (T3, answered), ``response_dequeue_time_ns`` (T4, its response begins to be
    written), ``end_time_ns`` (T5, written).
    """

    __slots__ = (
        "__dict__",
        "api_local_complete_time_ns",
        "body",
        "channel",
        "end_time_ns",
        "memory_bytes",
        "request_dequeue_time_ns",
        "response",
        "response_complete_time_ns",
        "response_dequeue_time_ns",
        "size_bytes",
        "start_time_ns",
    )

    # Few requests have any of these: they stand in the class, and cost a request only if it sets them.
    throttle_time_ms: int = 0
    message_conversions_time_ns: int = 0
    temporary_memory_bytes: int = 0
    callback_time_ns: int = 0
    """Local work done after the handler returned; it counts as local time."""
    network_thread_time_ns: int = 0
    """What receiving it and sending its response took; known at T5, and counted where somebody wants to know."""
    record_network_thread_time: Callable[[int], None] | None = None
    """Told ``network_thread_time_ns`` at T5; for the request quota."""
    metric_name: str | None = None
    """Where set, the name its metrics go under besides the API's: FetchConsumer, FetchFollower."""

    def __init__(  # noqa: PLR0917  by position, for the hot path
        self,
        channel: "Channel",
        header: RequestHeader,
        body: memoryview,
        size_bytes: int,
        memory_bytes: int,
        start_time_ns: int,
    ) -> None:
        self.header = header
        self.peer = self.channel = channel
        self.body = body
        """What follows the header, writable; valid until the request is answered or ``release_buffer`` is called."""
        self.size_bytes = size_bytes
        self.memory_bytes = memory_bytes
        """What it holds of the memory pool."""
        self.start_time_ns = start_time_ns
        self.request_dequeue_time_ns = NOT_YET
        self.api_local_complete_time_ns = NOT_YET
        self.response_complete_time_ns = NOT_YET
        self.response_dequeue_time_ns = NOT_YET
        self.end_time_ns = NOT_YET
        self.response: Sequence[Part] = ()

    def __repr__(self) -> str:
        return f"Request({self.header}, connection_id={self.channel.connection_id}, size_bytes={self.size_bytes})"

    @property
    def context(self) -> RequestContext:
        """Who asks what."""
        return self

    @property
    def is_answered(self) -> bool:
        """Whether its one answer has been given."""
        return self.response_complete_time_ns != NOT_YET

    def send(self, parts: Sequence[Part]) -> None:
        """Answer with bytes; the parts are one frame, the size of four bytes included."""
        assert self.response_complete_time_ns == NOT_YET, f"a second answer to {self}"
        self.response = parts
        now_ns = self.response_complete_time_ns = perf_counter_ns()
        if self.api_local_complete_time_ns == NOT_YET:
            self.api_local_complete_time_ns = now_ns
        request_channel = self.channel.request_channel  # what send_response does, for the hot path
        request_channel.responses.append((_SEND, self))
        if not request_channel.in_turn:
            request_channel.wakeup()

    def no_op(self) -> None:
        """Answer nothing, as a produce with acks=0 wants it; the connection's next request may come."""
        self._complete(ResponseKind.NO_OP)

    def close_connection(self) -> None:
        """Answer by hanging up, where something failed and the client expects no response."""
        self._complete(ResponseKind.CLOSE_CONNECTION)

    def start_throttling(self) -> None:
        """Leave the connection unread after this request's answer, until ``end_throttling``. Before the answer only."""
        self.channel.request_channel.send_response(ResponseKind.START_THROTTLING, self)

    def end_throttling(self) -> None:
        """The quota that was violated is kept again; before or after the answer."""
        self.channel.request_channel.send_response(ResponseKind.END_THROTTLING, self)

    def release_buffer(self) -> None:
        """Let go of the body and give its memory back before the answer; for requests that wait long."""
        self.body = _NO_BODY
        if self.memory_bytes:
            self.channel.request_channel.release_memory(self.memory_bytes)
            self.memory_bytes = 0

    def register_client_information(self, information: ClientInformation) -> None:
        """Note what the client of this connection says that it is."""
        self.channel.register_client_information(information)

    def _complete(self, kind: ResponseKind) -> None:
        assert self.response_complete_time_ns == NOT_YET, f"a second answer to {self}"
        now_ns = perf_counter_ns()
        self.response_complete_time_ns = now_ns
        if self.api_local_complete_time_ns == NOT_YET:
            self.api_local_complete_time_ns = now_ns
        self.channel.request_channel.send_response(kind, self)


class RequestHandler(Protocol):
    """What the server does with requests."""

    def handle(self, request: Request) -> None:
        """Answer now, or keep the request and answer later; an exception closes the connection."""
