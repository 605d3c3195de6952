"""How a connection to a node comes to be: socket, TLS, and what the node speaks."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

from ottla.common.errors import KafkaError
from ottla.network.authenticator import Authenticator, Exchange
from ottla.network.client_config import SOFTWARE_NAME, NetworkClientConfig
from ottla.network.client_connection import ClientConnection, ConnectionOwner
from ottla.network.client_errors import AuthenticationError, NetworkError
from ottla.network.connection_states import Address
from ottla.network.host_resolver import HostResolver
from ottla.network.in_flight_requests import InFlightRequests
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions, fallback_version
from ottla.network.repeated_failures import RepeatedFailures
from ottla.network.tls_failure import describe_tls_failure
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.runtime.port import Runtime


class ChannelContext(NamedTuple):
    """What the channels of a client share."""

    runtime: Runtime
    client_id: str | None
    config: NetworkClientConfig
    authenticator: Authenticator
    tls_context: Callable[[], ssl.SSLContext | None]
    """Asked at each connection; None leaves it in plain text."""
    resolver: HostResolver
    receive_buffer: memoryview
    failures: RepeatedFailures


async def open_connection(
    context: ChannelContext, node: Node, address: Address, owner: ConnectionOwner
) -> ClientConnection:
    """Connect, and shake hands if there is TLS; OSError, of which SSLError is one, or KafkaError if that fails."""
    loop, config = asyncio.get_running_loop(), context.config

    def connection() -> ClientConnection:
        return ClientConnection(
            f"node {node}",
            context.client_id,
            InFlightRequests(config.max_in_flight_requests_per_connection),
            owner,
            receive_buffer=context.receive_buffer,
            receive_max_bytes=config.receive_max_bytes,
        )

    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # asyncio does so only for sockets that name their protocol. Without it a second small request waits for the
        # acknowledgement of the first, which a node that has no answer yet delays by 40 ms.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if config.send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.send_buffer_bytes)
        if config.receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.receive_buffer_bytes)
        await loop.sock_connect(sock, address.sockaddr)
        tls_context = context.tls_context()
        if tls_context is None:
            _transport, opened = await loop.create_connection(connection, sock=sock)
        else:
            opened = await _shake_hands(connection, sock, tls_context, node)
    except BaseException:
        sock.close()
        raise
    return opened


async def _shake_hands(
    connection: Callable[[], ClientConnection], sock: socket.socket, tls_context: ssl.SSLContext, node: Node
) -> ClientConnection:
    """The caller's timeout ends this, well before asyncio's own would."""
    loop = asyncio.get_running_loop()
    try:
        _transport, opened = await loop.create_connection(
            connection, sock=sock, ssl=tls_context, server_hostname=node.host
        )
    except (ConnectionError, ssl.SSLEOFError):
        raise NetworkError(
            f"Node {node} closed the connection during the SSL handshake: it may not speak TLS on this port"
            " (security.protocol), or be in trouble"
        ) from None
    return opened


async def check_api_versions(exchange: Exchange, config: NetworkClientConfig) -> NodeApiVersions:
    """Ask the node what it speaks, in our newest version and then in what it says it knows."""
    request = ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME, client_software_version=config.client_software_version
    )
    version = ApiVersionsRequest.schema.versions.highest
    while True:
        response = await exchange(request, version)
        assert isinstance(response, ApiVersionsResponse)
        fallback = fallback_version(version, response)
        if fallback is None:
            return NodeApiVersions(response)
        version = fallback


def failure(error: KafkaError | OSError, where: str, setup_timeout_ms: int) -> KafkaError:
    """Why an attempt to connect has failed, for those who waited for it."""
    if isinstance(error, KafkaError):
        return error
    if isinstance(error, ssl.SSLError):
        return AuthenticationError(f"SSL handshake with node {where} failed: {describe_tls_failure(error)}")
    if isinstance(error, TimeoutError):
        return NetworkError(f"Connection to node {where} was not set up within {setup_timeout_ms} ms")
    reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror or error
    return NetworkError(f"Connection to node {where} could not be established: {reason}")
