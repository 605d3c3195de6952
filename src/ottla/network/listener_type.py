"""What a listener serves, and how."""

from enum import Enum


class ListenerType(Enum):
    """Which APIs a listener serves."""

    BROKER = "BROKER"
    CONTROLLER = "CONTROLLER"


class SendMode(Enum):
    """How a range of a file leaves: by sendfile from the page cache, or copied through memory, as TLS will need."""

    SENDFILE = "sendfile"
    COPY = "copy"
