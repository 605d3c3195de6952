"""Accepting connections on one listener, within the connection quotas."""

import heapq
import logging
import socket
from collections import deque
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, Final

from ottla.common.endpoint import Endpoint, SecurityProtocol
from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError
from ottla.network.config import DEFAULT_BUFFER_BYTES, SocketServerConfig
from ottla.network.connection_quotas import ConnectionQuotas, ConnectionThrottledError, TooManyConnectionsError
from ottla.network.listener import Listener
from ottla.runtime.open_files import RAISE_THE_LIMIT, OpenFiles

_log = logging.getLogger(__name__)

CONNECTION_QUEUE_SIZE: Final = 20
"""New connections that a listener accepts in a turn, and that a turn registers."""
ERROR_BACKOFF_MS: Final = 100
"""How long accepting pauses for want of descriptors, or after an error: the next try would fail again at once."""
COMPLAINT_INTERVAL_MS: Final = 10_000
MAX_THROTTLED_SOCKETS: Final = 1024
"""Connections of throttled addresses that wait to be closed; beyond it the oldest is closed early."""

_V4_MAPPED: Final = "::ffff:"

Address = tuple[str, int]


class Acceptor:
    """The listening socket of a listener.

    Bound (a client is refused) → listening, after ``start`` → closed. While listening it pauses where Apache's acceptor
    thread would block: without a free slot until one is free, beyond a rate until the throttle time is over, with the
    hand-over queue full until a turn has taken from it. It pauses as well while the logs need the descriptors that are
    left. A paused listener leaves connections in the kernel's backlog.
    """

    def __init__(
        self,
        listener: Listener,
        config: SocketServerConfig,
        quotas: ConnectionQuotas,
        open_files: OpenFiles,
        *,
        is_internal: bool = False,
    ) -> None:
        self.listener = listener
        self.name = listener.endpoint.name
        self.new_connections: deque[tuple[socket.socket, Address]] = deque()
        self.is_listening = False
        self.blocked_ns = 0
        """How long accepting has been paused in all; AcceptorBlockedPercent is its rate."""
        self.resume_at_ms: int | None = None
        """When a pause for a rate, or after an error, ends."""
        self._quotas = quotas
        self._open_files = open_files
        self._is_internal = is_internal
        self._next_complaint_ms = 0
        self._backlog = config.socket_listen_backlog_size
        self._send_buffer_bytes = config.socket_send_buffer_bytes
        self._rate_recorded = False
        self._blocked_since_ns = 0
        self._throttled: list[tuple[int, int, socket.socket]] = []
        self.socket = _bind(listener.endpoint, config.socket_receive_buffer_bytes)
        self.descriptor = self.socket.fileno()
        self.port: int = self.socket.getsockname()[1]

    def start(self) -> None:
        """Let clients connect."""
        self.socket.listen(self._backlog)
        self.is_listening = True
        _log.info("Awaiting socket connections on %s:%d.", self.listener.endpoint.host or "*", self.port)

    def may_accept(self, now_ms: int) -> bool:
        """Whether the next connection may be accepted; begins or ends a pause."""
        may = self.is_listening and self._is_admitted(now_ms)
        if may and self._blocked_since_ns:
            self.blocked_ns += perf_counter_ns() - self._blocked_since_ns
            self._blocked_since_ns = 0
        elif not may and self.is_listening and not self._blocked_since_ns:
            self._blocked_since_ns = perf_counter_ns()
        return may

    def _is_admitted(self, now_ms: int) -> bool:
        if len(self.new_connections) >= CONNECTION_QUEUE_SIZE or not self._quotas.slot_available(self.name):
            return False
        if self.resume_at_ms is not None and now_ms < self.resume_at_ms:
            return False
        if self._open_files.may_connect(is_internal=self._is_internal or self._quotas.is_protected(self.name)):
            return True
        self._complain(now_ms, f"{self._open_files.describe()}, and the rest is kept for logs. {RAISE_THE_LIMIT}.")
        return False

    def _complain(self, now_ms: int, reason: str) -> None:
        """Pause for a moment; say why, now and then."""
        self.resume_at_ms = now_ms + ERROR_BACKOFF_MS
        if now_ms >= self._next_complaint_ms:
            self._next_complaint_ms = now_ms + COMPLAINT_INTERVAL_MS
            _log.error("New connections on %s have to wait: %s", self.name, reason)

    def accept(self, now_ms: int) -> None:
        """Accept what waits, at most as many as a turn takes and the quotas allow."""
        while self.may_accept(now_ms):
            if not self._rate_recorded:
                # Recorded before the connection is taken: for the time of a throttle it is the kernel's to keep.
                throttle_ms = self._quotas.record_connection(self.name, now_ms)
                self._rate_recorded = True
                if throttle_ms > 0:
                    self.resume_at_ms = now_ms + throttle_ms
                    continue
            self.resume_at_ms = None
            try:
                sock, address = self.socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._complain(now_ms, f"error while accepting: {in_words(error)}")
                return
            self._open_files.connected()
            self._rate_recorded = False
            self._admit(sock, plain_address(address), now_ms)

    def _admit(self, sock: socket.socket, address: Address, now_ms: int) -> None:
        try:
            self._quotas.inc(self.name, address[0], now_ms)
        except ConnectionThrottledError as error:
            _log.debug("Delaying closing of connection from %s for %d ms", address[0], error.throttle_time_ms)
            if len(self._throttled) >= MAX_THROTTLED_SOCKETS:
                heapq.heappop(self._throttled)[2].close()
            heapq.heappush(self._throttled, (now_ms + error.throttle_time_ms, sock.fileno(), sock))
            return
        except TooManyConnectionsError as error:
            _log.info(
                "Rejected connection from %s, address already has the configured maximum of %d connections.",
                error.address,
                error.count,
            )
            self._drop(sock, address)
            return
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._send_buffer_bytes != DEFAULT_BUFFER_BYTES:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        except OSError as error:
            _log.error("Encountered an error while configuring the connection, closing it: %s", in_words(error))
            self._drop(sock, address)
            return
        self.new_connections.append((sock, address))

    def _drop(self, sock: socket.socket, address: Address) -> None:
        self._quotas.dec(self.name, address[0])
        sock.close()

    def total_blocked_ns(self) -> int:
        """How long accepting has been paused, a pause that lasts included."""
        return self.blocked_ns + (perf_counter_ns() - self._blocked_since_ns if self._blocked_since_ns else 0)

    def close_throttled(self, now_ms: int) -> None:
        """Close the connections of throttled addresses whose time is over."""
        while self._throttled and self._throttled[0][0] < now_ms:
            heapq.heappop(self._throttled)[2].close()

    @property
    def throttled_count(self) -> int:
        """Connections of throttled addresses that wait to be closed."""
        return len(self._throttled)

    def next_deadline_ms(self) -> int | None:
        """When there is something to do without a client's doing."""
        deadlines = [self._throttled[0][0] + 1] if self._throttled else []
        if self.resume_at_ms is not None:
            deadlines.append(self.resume_at_ms)
        return min(deadlines, default=None)

    def close(self) -> None:
        """Stop listening; whoever waits in the backlog or in a queue here is disconnected."""
        self.is_listening = False
        self.socket.close()
        for _deadline, _descriptor, sock in self._throttled:
            sock.close()
        self._throttled.clear()
        while self.new_connections:
            self._drop(*self.new_connections.popleft())


def plain_address(address: Sequence[Any]) -> Address:
    """Host and port of a socket's address; an IPv4 address as such, also where it came in through an IPv6 socket."""
    host: str = address[0]
    return host[len(_V4_MAPPED) :] if host.startswith(_V4_MAPPED) and "." in host else host, address[1]


def _bind(endpoint: Endpoint, receive_buffer_bytes: int) -> socket.socket:
    """A socket with the endpoint's address, which does not listen yet."""
    if endpoint.security_protocol is not SecurityProtocol.PLAINTEXT:
        raise InvalidConfigError(
            f"listener {endpoint.name} wants {endpoint.security_protocol.name}, which is not served yet"
        )
    family, address = _family_and_address(endpoint)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and not endpoint.host:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if receive_buffer_bytes != DEFAULT_BUFFER_BYTES:
            # Accepted sockets inherit it; set later it would not change the window that TCP agreed on.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise OSError(
            error.errno, f"Socket server failed to bind to {endpoint.host or '*'}:{endpoint.port}: {error.strerror}."
        ) from error
    return sock


def _family_and_address(endpoint: Endpoint) -> tuple[int, tuple[str, int]]:
    if not endpoint.host:
        if socket.has_dualstack_ipv6():
            return socket.AF_INET6, ("::", endpoint.port)
        return socket.AF_INET, ("0.0.0.0", endpoint.port)  # noqa: S104  that is what an empty host means
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _type, _protocol, _name, address = found[0]
    return family, (str(address[0]), int(address[1]))
