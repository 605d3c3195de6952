"""The addresses of a host name."""

import socket
from typing import Protocol

from ottla.network.connection_states import Address
from ottla.runtime.port import Runtime


class HostResolver(Protocol):
    """The port behind which names are looked up."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        """All addresses, at least one; OSError if there is none."""


class DnsResolver:
    """The system's resolver. An address needs none and costs no thread."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def resolve(self, host: str, port: int) -> list[Address]:
        """See the port. IPv4 comes first, as in Java; unlike Apache, which drops the other family, both are tried."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            found = await self._runtime.blocking(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except UnicodeError as error:
            raise OSError(f"{host} is no host name: {error}") from error
        addresses = [Address(family, sockaddr) for family, _type, _protocol, _name, sockaddr in found]
        addresses = [address for address in addresses if address.family in (socket.AF_INET, socket.AF_INET6)]
        if not addresses:
            raise OSError(f"No resolvable addresses for {host}")
        return sorted(dict.fromkeys(addresses), key=lambda address: address.family != socket.AF_INET)
