"""A listener: its processors, its connections and what is counted about them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ottla.common.endpoint import Endpoint
from ottla.network.config import ListenerConfig
from ottla.network.idle_expiry import IdleExpiryManager
from ottla.network.listener_type import SendMode
from ottla.network.processor import Processor
from ottla.network.request import UNKNOWN_CLIENT, ClientInformation

if TYPE_CHECKING:
    from ottla.network.channel import Channel

MAX_CLIENT_KINDS: Final = 100
"""How many kinds of client software are counted, as in Apache; clients choose these names."""


class Listener:
    """What the connections of one listener share."""

    __slots__ = (
        "_next_processor",
        "clients",
        "closing",
        "endpoint",
        "idle",
        "is_privileged",
        "on_client_kind",
        "processors",
        "send_mode",
    )

    def __init__(self, endpoint: Endpoint, config: ListenerConfig, *, is_privileged: bool, max_idle_ms: int) -> None:
        self.endpoint = endpoint
        self.is_privileged = is_privileged
        self.send_mode: SendMode = config.send_mode
        self.idle: IdleExpiryManager[Channel] = IdleExpiryManager(max_idle_ms)
        self.closing: dict[Channel, None] = {}
        """Channels that were given up with requests still under way."""
        self.processors: list[Processor] = []
        self.clients: dict[ClientInformation, int] = {}
        self._next_processor = 0
        self.on_client_kind: Callable[[Listener, ClientInformation, bool], None] = lambda *_: None
        """Told when the first connection of a kind of client comes and the last one goes."""

    def next_processor(self) -> Processor:
        """The one that gets the next connection."""
        self._next_processor %= len(self.processors)
        processor = self.processors[self._next_processor]
        self._next_processor += 1
        return processor

    def lowest_priority_channel(self) -> "Channel | None":
        """The connection to close where one must go: one that is closing anyhow, else the least recently used."""
        return next(iter(self.closing), None) or self.idle.least_recently_used()

    def count_client(self, client: ClientInformation, change: int) -> None:
        """Count a connection by its client's software; names beyond the bound are not counted."""
        if client is UNKNOWN_CLIENT:
            return
        was_known = client in self.clients
        count = self.clients.get(client, 0) + change
        if count <= 0:
            self.clients.pop(client, None)
        elif client in self.clients or len(self.clients) < MAX_CLIENT_KINDS:
            self.clients[client] = count
        if (client in self.clients) is not was_known:
            self.on_client_kind(self, client, not was_known)
