"""The configuration of a network client, typed; Apache's keys with underscores for dots."""

from dataclasses import dataclass
from typing import Final

INT_MAX: Final = 2**31 - 1
SOFTWARE_NAME: Final = "ottla"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkClientConfig:
    """Apache's defaults for clients. A broker's channel to the controller has one request in flight and 50/50 ms."""

    max_in_flight_requests_per_connection: int = 5
    max_waiting_requests: int = 10_000
    """For each node, beyond those in flight; more are refused. Ours: Apache's callers keep their own queues."""
    request_timeout_ms: int = 30_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    """-1 leaves both to the operating system."""
    receive_max_bytes: int = INT_MAX
    discover_broker_versions: bool = True
    """Without it a connection is ready at once, and every request goes out in our newest version."""
    client_software_version: str = "unknown"
