"""The network's settings, out of the node's configuration."""

from collections.abc import Iterable, Mapping
from typing import Any

from ottla.common.endpoint import Endpoint
from ottla.config.kafka_config import KafkaConfig
from ottla.network.config import ListenerConfig, SocketServerConfig
from ottla.network.listener_type import SendMode


def socket_server_config(config: KafkaConfig, endpoints: Iterable[Endpoint]) -> SocketServerConfig:
    """What a socket server with these listeners goes by."""
    network = config.network
    values: Mapping[str, Any] = config.values
    return SocketServerConfig(
        num_network_threads=network.num_network_threads,
        queued_max_requests=network.queued_max_requests,
        queued_max_request_bytes=network.queued_max_request_bytes,
        socket_request_max_bytes=network.socket_request_max_bytes,
        socket_send_buffer_bytes=network.socket_send_buffer_bytes,
        socket_receive_buffer_bytes=network.socket_receive_buffer_bytes,
        socket_listen_backlog_size=network.socket_listen_backlog_size,
        connections_max_idle_ms=network.connections_max_idle_ms,
        max_connections=network.max_connections,
        max_connections_per_ip=network.max_connections_per_ip,
        max_connections_per_ip_overrides=network.max_connections_per_ip_overrides,
        max_connection_creation_rate=network.max_connection_creation_rate,
        quota_window_num=values["quota.window.num"],
        quota_window_size_seconds=values["quota.window.size.seconds"],
        inter_broker_listener_name=config.listeners.inter_broker_listener_name,
        listeners={endpoint.name: _listener_config(config, endpoint.name) for endpoint in endpoints},
    )


def _listener_config(config: KafkaConfig, name: str) -> ListenerConfig:
    """Limits count for one listener only where they are set for it; thread counts fall back on the server's."""
    prefix = f"listener.name.{name.lower()}."
    own = config.listener_network(name)
    unlimited = ListenerConfig()
    return ListenerConfig(
        max_connections=own.max_connections
        if f"{prefix}max.connections" in config.originals
        else unlimited.max_connections,
        max_connection_creation_rate=(
            own.max_connection_creation_rate
            if f"{prefix}max.connection.creation.rate" in config.originals
            else unlimited.max_connection_creation_rate
        ),
        num_network_threads=own.num_network_threads,
        send_mode=SendMode(str(config.listener_values(name)["ottla.send.mode"])),
    )
