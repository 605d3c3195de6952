"""The life of a broker in its cluster, as Apache's BrokerLifecycleManager lives it.

    NOT_RUNNING → STARTING → RECOVERY → RUNNING → PENDING_CONTROLLED_SHUTDOWN → SHUTTING_DOWN → NOT_RUNNING

STARTING registers with the controller until that works. RECOVERY begins when the metadata of the registration has
reached this broker; from then on it asks to be unfenced, once ``set_ready_to_unfence`` said that its logs are loaded,
and is RUNNING when the controller agrees. PENDING_CONTROLLED_SHUTDOWN asks the controller to move leaders away, and
SHUTTING_DOWN begins when the controller lets it go, or at once where nobody answers. Every state may fall to
SHUTTING_DOWN.

This is the decision only: ``next_request`` says what to send, the ``handle_…`` methods take the answers, and
:mod:`ottla.server.broker_session` sends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.metadata.endpoint import Endpoint
from ottla.protocol.message import Message, VersionRange
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)


class BrokerState(IntEnum):
    """Kafka's BrokerState metric."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


S: Final = BrokerState
TRANSITIONS: Final[Mapping[BrokerState, frozenset[BrokerState]]] = {
    S.NOT_RUNNING: frozenset({S.STARTING}),
    S.STARTING: frozenset({S.RECOVERY, S.SHUTTING_DOWN}),
    S.RECOVERY: frozenset({S.RUNNING, S.SHUTTING_DOWN}),
    S.RUNNING: frozenset({S.PENDING_CONTROLLED_SHUTDOWN, S.SHUTTING_DOWN}),
    S.PENDING_CONTROLLED_SHUTDOWN: frozenset({S.SHUTTING_DOWN}),
    S.SHUTTING_DOWN: frozenset({S.NOT_RUNNING}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """What a broker registers with."""

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    listeners: Sequence[Endpoint]
    rack: str | None
    log_dirs: Sequence[Uuid]
    previous_broker_epoch: int


class BrokerLifecycle:
    """See the module."""

    def __init__(self, identity: BrokerIdentity) -> None:
        self._identity = identity
        self._supported_features: Mapping[str, VersionRange] = {}
        self._ready_to_unfence = False
        self._offline_dirs: dict[Uuid, None] = {}
        self.state = BrokerState.NOT_RUNNING
        self.broker_epoch = -1
        self.metadata_offset = -1
        """The end of the metadata that this broker has published; the controller waits for it."""

    def _become(self, state: BrokerState) -> None:
        assert state in TRANSITIONS[self.state], f"a broker cannot go from {self.state.name} to {state.name}"
        self.state = state

    # -- what happens -------------------------------------------------------------------------------------------------

    def start(self, supported_features: Mapping[str, VersionRange]) -> None:
        """Begin to register, as a broker that supports these features."""
        self._supported_features = supported_features
        self._become(BrokerState.STARTING)

    def set_ready_to_unfence(self) -> None:
        """The logs are loaded and the handlers are there: clients may come."""
        self._ready_to_unfence = True

    def published(self, metadata_offset: int) -> None:
        """The metadata up to an offset has been published here."""
        self.metadata_offset = metadata_offset
        self._maybe_recover()

    def _maybe_recover(self) -> None:
        registered = self.broker_epoch >= 0 and self.metadata_offset >= self.broker_epoch
        if self.state is BrokerState.STARTING and registered:
            self._become(BrokerState.RECOVERY)

    def directory_failed(self, directory: Uuid) -> None:
        """A data directory has gone offline; the controller hears of it with the next heartbeat."""
        self._offline_dirs[directory] = None

    def begin_controlled_shutdown(self) -> None:
        """Ask to go; a broker that never ran goes at once."""
        if self.state is BrokerState.RUNNING:
            self._become(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
        else:
            self.shut_down()

    def shut_down(self) -> None:
        """Go, whatever the controller says."""
        if self.state not in (BrokerState.SHUTTING_DOWN, BrokerState.NOT_RUNNING):
            self._become(BrokerState.SHUTTING_DOWN)

    def stopped(self) -> None:
        """Everything is closed."""
        if self.state is BrokerState.SHUTTING_DOWN:
            self._become(BrokerState.NOT_RUNNING)

    @property
    def is_registered(self) -> bool:
        """Whether the controller has given this broker an epoch."""
        return self.broker_epoch >= 0

    # -- what to send, and what comes back ----------------------------------------------------------------------------

    def next_request(self) -> Message | None:
        """A registration until there is an epoch, a heartbeat from then on, and nothing once it goes."""
        if self.state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN):
            return None
        if not self.is_registered:
            return self._registration()
        return BrokerHeartbeatRequest(
            broker_id=self._identity.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self.metadata_offset,
            want_fence=not self._ready_to_unfence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=list(self._offline_dirs),
        )

    def _registration(self) -> BrokerRegistrationRequest:
        identity = self._identity
        return BrokerRegistrationRequest(
            broker_id=identity.broker_id,
            cluster_id=identity.cluster_id,
            incarnation_id=identity.incarnation_id,
            listeners=[
                Listener(
                    name=endpoint.name,
                    host=endpoint.host,
                    port=endpoint.port,
                    security_protocol=endpoint.security_protocol,
                )
                for endpoint in identity.listeners
            ],
            features=[
                Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in self._supported_features.items()
            ],
            rack=identity.rack,
            is_migrating_zk_broker=False,
            log_dirs=identity.log_dirs,
            previous_broker_epoch=identity.previous_broker_epoch,
        )

    def handle_registration(self, response: BrokerRegistrationResponse) -> ErrorCode:
        """Take the epoch, or return why there is none."""
        if response.error_code == ErrorCode.NONE:
            self.broker_epoch = response.broker_epoch
            self._maybe_recover()
        return ErrorCode(response.error_code)

    def handle_heartbeat(self, response: BrokerHeartbeatResponse) -> ErrorCode:
        """Move on as the controller allows; returns its error."""
        error = ErrorCode(response.error_code)
        if error != ErrorCode.NONE:
            return error
        if self.state is BrokerState.RECOVERY and self._ready_to_unfence and not response.is_fenced:
            self._become(BrokerState.RUNNING)
        elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and response.should_shut_down:
            self._become(BrokerState.SHUTTING_DOWN)
        return error
