"""Where a node listens, and how connections to it are secured."""

from enum import IntEnum, unique
from typing import NamedTuple


@unique
class SecurityProtocol(IntEnum):
    """How a listener's connections are secured, under Apache's ids."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Endpoint(NamedTuple):
    """One listener's address; the host is None for all interfaces, and port 0 takes any free one."""

    name: str
    host: str | None
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
