"""Where others are told to connect: what is advertised, with what only the running machine knows."""

import functools
import socket
from collections.abc import Callable, Iterable

from ottla.common.endpoint import Endpoint as Listener
from ottla.metadata.endpoint import Endpoint


def advertised_endpoints(listeners: Iterable[Listener], bound_port: Callable[[str], int]) -> list[Endpoint]:
    """The listeners as others see them, with a host and a port each.

    One without a host, which is on all interfaces, has the machine's name, as with Apache Kafka; ``bound_port`` tells
    the port of a listener that the system chose.
    """
    return [
        Endpoint(
            listener.name,
            listener.host or machine_name(),
            listener.port or bound_port(listener.name),
            listener.security_protocol,
        )
        for listener in listeners
    ]


@functools.cache
def machine_name() -> str:
    """The name that this machine has in the network; it may have to be asked for there."""
    return socket.getfqdn()
