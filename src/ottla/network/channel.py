"""One connection of a client."""

import socket
from typing import TYPE_CHECKING

from ottla.common.kafka_principal import ANONYMOUS, KafkaPrincipal
from ottla.network.frames import FrameBuffer
from ottla.network.mute_state import MuteState
from ottla.network.request import UNKNOWN_CLIENT, ClientInformation, Request
from ottla.network.request_channel import RequestChannel

if TYPE_CHECKING:
    from ottla.network.listener import Listener
    from ottla.network.processor import Processor
    from ottla.network.send import Send


class Channel:
    """The state of a connection. The selector of its plane is the only one to change it.

    Open → (idle for too long, with a request under way: ``closing``) → ``closed``. A closing channel still takes the
    requests it has received, one after the other, and answers with nothing: the first response that has bytes ends it.
    """

    __slots__ = (
        "client_address",
        "client_information",
        "closed",
        "closing",
        "connection_id",
        "corked",
        "corked_requests",
        "descriptor",
        "frames",
        "from_privileged_listener",
        "interest",
        "large_size",
        "listener",
        "listener_name",
        "memory_bytes",
        "mute_state",
        "network_thread_time_ns",
        "principal",
        "processor",
        "recv_into",
        "request_channel",
        "security_protocol",
        "send",
        "send_bytes",
        "socket",
    )

    def __init__(
        self,
        sock: socket.socket,
        connection_id: str,
        client_address: str,
        *,
        listener: "Listener",
        processor: "Processor",
        request_channel: RequestChannel,
        max_receive_bytes: int,
    ) -> None:
        self.socket = sock
        self.descriptor = sock.fileno()
        self.recv_into = sock.recv_into
        self.send_bytes = sock.send
        self.connection_id = connection_id
        self.client_address = client_address
        self.listener = listener
        self.listener_name: str = listener.endpoint.name
        self.security_protocol = listener.endpoint.security_protocol
        self.from_privileged_listener: bool = listener.is_privileged
        self.processor = processor
        self.request_channel = request_channel
        self.principal: KafkaPrincipal = ANONYMOUS
        self.client_information: ClientInformation = UNKNOWN_CLIENT
        self.frames = FrameBuffer(max_receive_bytes)
        self.large_size = 0
        """The size of a frame whose rest is received into memory of its own; 0 where the shared buffer is used."""
        self.memory_bytes = 0
        """The allowance of a frame that is still arriving."""
        self.mute_state = MuteState.NOT_MUTED
        self.interest = 0
        """What the readiness waits for; it may be more than the mute state allows, until that matters."""
        self.send: Send | None = None
        """What the socket did not take at once."""
        self.corked = bytearray()
        """Small responses that wait to go out with the next one, within one turn."""
        self.corked_requests: list[Request] = []
        self.network_thread_time_ns = 0
        self.closing = False
        self.closed = False

    def __repr__(self) -> str:
        return f"Channel({self.connection_id}, {self.mute_state.name})"

    def register_client_information(self, information: ClientInformation) -> None:
        """Note what the client says that it is; the listener counts connections by it."""
        self.listener.count_client(self.client_information, -1)
        self.client_information = information
        self.listener.count_client(information, 1)
