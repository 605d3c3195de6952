"""The bootstrap servers as nodes, under the names in the configuration or their canonical ones."""

import logging
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError
from ottla.network.node import Node

if TYPE_CHECKING:
    from ottla.config.addresses import Address
    from ottla.network.host_resolver import HostResolver
    from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

CANONICAL: Final = "resolve_canonical_bootstrap_servers_only"
"""The value of client.dns.lookup that asks for canonical names."""


def bootstrap_nodes(servers: "Sequence[Address]") -> tuple[Node, ...]:
    """A node for each server, with an id that no broker has."""
    return tuple(Node(-1 - index, host, port) for index, (host, port) in enumerate(servers))


async def require_known_host(nodes: "Sequence[Node]", resolver: "HostResolver") -> None:
    """InvalidConfigError if the system knows none of the hosts."""
    reasons: list[str] = []
    for node in nodes:
        try:
            await resolver.resolve(node.host, node.port)
        except OSError as error:
            reasons.append(f"{node.host}: {error.strerror or error}")
        else:
            return
    raise InvalidConfigError(f"No resolvable bootstrap urls given in bootstrap.servers ({'; '.join(reasons)})")


async def canonical_servers(servers: "Sequence[Address]", runtime: "Runtime") -> "list[Address]":
    """The canonical name of every address of every server; a server that cannot be looked up stays as it is."""
    found: list[Address] = []
    for server in servers:
        try:
            names = await runtime.blocking(lambda host=server.host: _canonical_names(host))  # type: ignore[misc]
        except OSError as error:
            logger.warning("%s has no canonical name: %s", server, in_words(error))
            found.append(server)
        else:
            found += [server._replace(host=name) for name in names]
    return found


def _canonical_names(host: str) -> list[str]:
    addresses = dict.fromkeys(info[4] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
    return list(dict.fromkeys(socket.getnameinfo(address, socket.NI_NUMERICSERV)[0] for address in addresses))
