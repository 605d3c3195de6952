"""The configuration of a socket server, typed; Apache's keys with underscores for dots."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.common.errors import InvalidConfigError
from ottla.network.listener_type import SendMode

INT_MAX = 2**31 - 1
DEFAULT_BUFFER_BYTES = -1
"""For the two socket buffer sizes: as the operating system likes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerConfig:
    """What a listener may set for itself with ``listener.name.<name>.``."""

    max_connections: int = INT_MAX
    max_connection_creation_rate: int = INT_MAX
    num_network_threads: int | None = None
    """None takes the server's."""
    send_mode: SendMode = SendMode.SENDFILE


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketServerConfig:
    """Apache's defaults; the values are checked where text is parsed, in the config room."""

    num_network_threads: int = 3
    queued_max_requests: int = 500
    queued_max_request_bytes: int = -1
    socket_request_max_bytes: int = 100 * 1024 * 1024
    socket_send_buffer_bytes: int = 100 * 1024
    socket_receive_buffer_bytes: int = 100 * 1024
    socket_listen_backlog_size: int = 50
    connections_max_idle_ms: int = 600_000
    max_connections: int = INT_MAX
    max_connections_per_ip: int = INT_MAX
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """By address; a host name is looked up before it comes here."""
    max_connection_creation_rate: int = INT_MAX
    quota_window_num: int = 11
    quota_window_size_seconds: int = 1
    inter_broker_listener_name: str | None = None
    listeners: Mapping[str, ListenerConfig] = field(default_factory=dict)
    """By listener name; one that is missing has the defaults."""

    def listener(self, name: str) -> ListenerConfig:
        """What a listener has of its own."""
        return self.listeners.get(name, _NO_LISTENER_CONFIG)

    def network_threads(self, name: str) -> int:
        """``num.network.threads`` of a listener."""
        own = self.listener(name).num_network_threads
        return self.num_network_threads if own is None else own


_NO_LISTENER_CONFIG = ListenerConfig()


def validate_thread_count(key: str, new: int, current: int) -> None:
    """Refuse what Apache refuses: a change of a thread count beyond half or double in one step."""
    prefix = f"Dynamic thread count update validation failed for {key}={new}"
    if new == current:
        return
    if new <= 0:
        raise InvalidConfigError(f"{prefix}, value should be at least 1")
    if new < current // 2:
        raise InvalidConfigError(f"{prefix}, value should be at least half the current value {current}")
    if new > current * 2:
        raise InvalidConfigError(f"{prefix}, value should not be greater than double the current value {current}")
