"""Network addresses in configuration values: ``host:port``, an IPv6 host in brackets."""

import re
from typing import NamedTuple

_HOST_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]*")
MAX_PORT = 65535


class Address(NamedTuple):
    """Where to connect to or to listen; the host has no brackets and is not looked up."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address | None:
    """The address in ``host:port``, as Apache's ``Utils.getHost`` and ``getPort`` read it; None if there is none."""
    match = _HOST_PORT.fullmatch(text)
    if match is None or int(match[2]) > MAX_PORT:
        return None
    return Address(match[1], int(match[2]))


def is_valid_host(text: str) -> bool:
    """Whether a host name or IP address has only characters that one may have."""
    return _HOST.fullmatch(text) is not None
