"""The port through which a client proves who it is; ``sasl_authenticator`` fills it."""

from typing import TYPE_CHECKING, Final, Protocol

from ottla.network.node_api_versions import NodeApiVersions
from ottla.protocol.message import Message

if TYPE_CHECKING:
    from random import Random

_SESSION_SHARE: Final = 0.85
_SESSION_SHARE_JITTER: Final = 0.10


class Exchange(Protocol):
    """One request and its answer on the connection that is being authenticated."""

    async def __call__(self, request: Message, version: int) -> Message:
        """Send in exactly this version; NetworkError if the connection is lost."""


class Authenticator(Protocol):
    """Called after connecting and before READY, and again before the session that it reports ends."""

    async def authenticate(self, exchange: Exchange, api_versions: NodeApiVersions | None) -> int | None:
        """Prove who we are. Returns the session's lifetime in ms, None without end; AuthenticationError if refused.

        ``api_versions`` is what the node speaks: None on a new connection, known when the proof is repeated, where a
        node whose session has ended takes no other request.
        """


class PlaintextAuthenticator:
    """Anybody may come as they are."""

    async def authenticate(self, exchange: Exchange, api_versions: NodeApiVersions | None) -> int | None:  # noqa: ARG002
        """Nothing to do."""
        return None


def reauthentication_delay_ms(session_lifetime_ms: int, rng: "Random") -> int:
    """When to prove it again: after 85 to 95 % of the session, so that not all come at once."""
    return int(session_lifetime_ms * rng.uniform(_SESSION_SHARE, _SESSION_SHARE + _SESSION_SHARE_JITTER))
