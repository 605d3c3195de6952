"""Where our connection to a node stands, and when to try again. No sockets here: time and chance are arguments."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.network.client_config import NetworkClientConfig
from ottla.network.exponential_backoff import ExponentialBackoff

if TYPE_CHECKING:
    from random import Random


class ConnectionState(Enum):
    """The states of a connection; those without one have an attempt behind them and a back-off before them."""

    DISCONNECTED = auto()
    CONNECTING = auto()
    """Includes TLS and SASL: what the connection setup timeout covers."""
    CHECKING_API_VERSIONS = auto()
    READY = auto()
    AUTHENTICATION_FAILED = auto()


_S = ConnectionState
_TRANSITIONS: Final = {
    _S.DISCONNECTED: (_S.CONNECTING,),
    _S.CONNECTING: (_S.CHECKING_API_VERSIONS, _S.READY, _S.DISCONNECTED, _S.AUTHENTICATION_FAILED),
    _S.CHECKING_API_VERSIONS: (_S.READY, _S.DISCONNECTED, _S.AUTHENTICATION_FAILED),
    _S.READY: (_S.DISCONNECTED, _S.AUTHENTICATION_FAILED),
    _S.AUTHENTICATION_FAILED: (_S.CONNECTING,),
}


class Address(NamedTuple):
    """One of the addresses of a host, in ``socket``'s terms."""

    family: int
    sockaddr: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class NodeConnectionState:
    """The connection to one node: DISCONNECTED → CONNECTING → CHECKING_API_VERSIONS → READY, and back from anywhere.

    Every failure doubles the wait before the next attempt, with jitter, until READY is reached; every attempt that
    fails while CONNECTING doubles the time the next may take. Each attempt takes the next address of the host; when
    all had their turn, or a connection that had been established is lost, the name is looked up again, and the address
    tried last is not the first to be tried then.
    """

    __slots__ = (
        "_address_index",
        "_addresses",
        "_failed_attempts",
        "_failed_connect_attempts",
        "_last_attempted_address",
        "_reconnect_backoff",
        "_rng",
        "_setup_timeout",
        "connection_setup_timeout_ms",
        "last_connect_attempt_ms",
        "reconnect_backoff_ms",
        "state",
        "throttled_until_ms",
    )

    def __init__(self, config: NetworkClientConfig, rng: "Random") -> None:
        self._reconnect_backoff = ExponentialBackoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms)
        self._setup_timeout = ExponentialBackoff(
            config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms
        )
        self._rng = rng
        self.state = ConnectionState.DISCONNECTED
        self.last_connect_attempt_ms: int | None = None
        self.throttled_until_ms = 0
        self._addresses: Sequence[Address] = ()
        self._address_index = 0
        self._last_attempted_address: Address | None = None
        self._failed_attempts = 0
        self._failed_connect_attempts = 0
        self.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(0, rng)
        self.connection_setup_timeout_ms = self._setup_timeout.backoff_ms(0, rng)

    @property
    def is_disconnected(self) -> bool:
        """Whether nothing is under way."""
        return self.state is ConnectionState.DISCONNECTED or self.state is ConnectionState.AUTHENTICATION_FAILED

    @property
    def is_preparing(self) -> bool:
        """Whether a connection is under way, but nothing can be sent yet."""
        return self.state is ConnectionState.CONNECTING or self.state is ConnectionState.CHECKING_API_VERSIONS

    @property
    def has_untried_address(self) -> bool:
        """Whether the host has an address that this round of attempts has not come to."""
        return self._address_index + 1 < len(self._addresses)

    def reconnect_delay_ms(self, now_ms: int) -> int:
        """How long to wait before ``connecting``; 0 if it may be now."""
        if self.last_connect_attempt_ms is None:
            return 0
        return max(0, self.last_connect_attempt_ms + self.reconnect_backoff_ms - now_ms)

    def can_connect(self, now_ms: int) -> bool:
        """Whether an attempt may be made now."""
        return self.is_disconnected and self.reconnect_delay_ms(now_ms) == 0

    def is_blacked_out(self, now_ms: int) -> bool:
        """Whether there is no connection and none may be tried yet."""
        return self.is_disconnected and self.reconnect_delay_ms(now_ms) > 0

    def connecting(self, now_ms: int) -> Address | None:
        """Begin an attempt. Returns the address to connect to; None asks for the host's addresses: ``resolved``."""
        self._enter(ConnectionState.CONNECTING)
        self.last_connect_attempt_ms = now_ms
        if self._addresses:
            self._address_index += 1
            if self._address_index >= len(self._addresses):
                self._addresses = ()
        return self._current_address()

    def resolved(self, addresses: Sequence[Address]) -> Address:
        """Take the addresses of the host, at least one, and return the one to connect to."""
        assert self.state is ConnectionState.CONNECTING, f"addresses for a connection in {self.state}"
        assert addresses, "a host without addresses is an error of the resolver"
        self._addresses = addresses
        skip_first = len(addresses) > 1 and addresses[0] == self._last_attempted_address
        self._address_index = 1 if skip_first else 0
        address = self._current_address()
        assert address is not None
        return address

    def checking_api_versions(self) -> None:
        """The connection stands, and has been authenticated."""
        self._enter(ConnectionState.CHECKING_API_VERSIONS)
        self._reset_setup_timeout()

    def ready(self) -> None:
        """Requests may be sent."""
        self._enter(ConnectionState.READY)
        self._failed_attempts = 0
        self.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(0, self._rng)
        self._reset_setup_timeout()

    def disconnected(self, now_ms: int) -> None:
        """The connection is lost, or the attempt has failed."""
        self._note_failure(now_ms)
        self._enter(ConnectionState.DISCONNECTED)

    def authentication_failed(self, now_ms: int) -> None:
        """The node refused us, or we it. Apache counts this as two failures, and so do we."""
        self._note_failure(now_ms)
        self._grow_reconnect_backoff()
        self._enter(ConnectionState.AUTHENTICATION_FAILED)

    def throttle(self, until_ms: int) -> None:
        """Send nothing until then; never earlier than asked before."""
        self.throttled_until_ms = max(self.throttled_until_ms, until_ms)

    def _current_address(self) -> Address | None:
        if not self._addresses:
            return None
        self._last_attempted_address = self._addresses[self._address_index]
        return self._last_attempted_address

    def _note_failure(self, now_ms: int) -> None:
        self.last_connect_attempt_ms = now_ms
        self._grow_reconnect_backoff()
        if self.state is ConnectionState.CONNECTING:
            self._failed_connect_attempts += 1
            self.connection_setup_timeout_ms = self._setup_timeout.backoff_ms(self._failed_connect_attempts, self._rng)
            return
        self._reset_setup_timeout()
        self._addresses = ()  # the node may have moved

    def _grow_reconnect_backoff(self) -> None:
        self.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(self._failed_attempts, self._rng)
        self._failed_attempts += 1

    def _reset_setup_timeout(self) -> None:
        self._failed_connect_attempts = 0
        self.connection_setup_timeout_ms = self._setup_timeout.backoff_ms(0, self._rng)

    def _enter(self, state: ConnectionState) -> None:
        assert state in _TRANSITIONS[self.state], f"a connection goes from {self.state} to {state}"
        self.state = state
