"""Where a server listens."""

from enum import Enum
from typing import NamedTuple


class SecurityProtocol(Enum):
    """How a listener protects and authenticates its connections."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


class ListenerType(Enum):
    """Which APIs a listener serves."""

    BROKER = "BROKER"
    CONTROLLER = "CONTROLLER"


class Endpoint(NamedTuple):
    """A listener: no host listens on all interfaces, port 0 on a free one."""

    listener_name: str
    host: str | None
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


class SendMode(Enum):
    """How a range of a file leaves: by sendfile from the page cache, or copied through memory, as TLS will need."""

    SENDFILE = "sendfile"
    COPY = "copy"
