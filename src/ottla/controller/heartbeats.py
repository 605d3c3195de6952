"""Soft state of the active controller: when each broker was last heard of, and how far it has come.

Nothing of it is in the log; a new controller begins anew and gives every unfenced broker a full session.
"""

import logging
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from ottla.metadata.image import ClusterImage
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

logger = logging.getLogger(__name__)

_NO_OFFSET: Final = -1
_NO_ACTIVE_BROKER: Final = (1 << 63) - 1


class BrokerControlState(Enum):
    """What a broker may do, as its heartbeats are told.

    FENCED → UNFENCED when it has caught up; UNFENCED → CONTROLLED_SHUTDOWN when it wants to shut down and leads
    partitions; any → SHUTDOWN_NOW when it wants to and nothing needs it; UNFENCED → FENCED when it wants to be, or when
    its session ends.
    """

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def fenced(self) -> bool:
        """Whether the broker may not lead or be in sync."""
        return self in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)


class BrokerIdAndEpoch(NamedTuple):
    """One registration of a broker."""

    id: int
    epoch: int


@dataclass(slots=True)
class _Broker:
    fenced: bool
    metadata_offset: int = _NO_OFFSET
    controlled_shutdown_offset: int = _NO_OFFSET

    @property
    def shutting_down(self) -> bool:
        return self.controlled_shutdown_offset != _NO_OFFSET


class BrokerHeartbeats:
    """The registered brokers of an active controller; ``now_ms`` is monotonic."""

    def __init__(
        self, session_timeout_ms: int, cluster: ClusterImage, now_ms: int, *, gone_broker_id: int | None = None
    ) -> None:
        """``gone_broker_id`` is a broker that is known to be gone: it has no session, and may register at once."""
        self._session_timeout_ms = session_timeout_ms
        self._brokers: dict[int, _Broker] = {}
        self._contacts_ms: dict[BrokerIdAndEpoch, int] = {}
        for broker_id, broker in cluster.brokers.items():
            self.register(broker_id, fenced=broker.fenced)
            if not broker.fenced and broker_id != gone_broker_id:
                self._contacts_ms[BrokerIdAndEpoch(broker_id, broker.epoch)] = now_ms

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._brokers

    def register(self, broker_id: int, *, fenced: bool) -> None:
        """A registration exists, or was fenced or unfenced."""
        broker = self._brokers.get(broker_id)
        if broker is None:
            self._brokers[broker_id] = _Broker(fenced)
        else:
            self.touch(broker_id, fenced=fenced, metadata_offset=broker.metadata_offset)

    def remove(self, broker_id: int) -> None:
        """A registration is gone, or another incarnation took its place."""
        self._brokers.pop(broker_id, None)

    def track(self, broker_id: int, broker_epoch: int, now_ms: int) -> None:
        """The broker was heard of."""
        self._contacts_ms[BrokerIdAndEpoch(broker_id, broker_epoch)] = now_ms

    def touch(self, broker_id: int, *, fenced: bool, metadata_offset: int) -> None:
        """What a heartbeat told. A broker that is fenced leaves controlled shutdown: its next heartbeat ends it."""
        broker = self._brokers[broker_id]
        broker.fenced = fenced
        broker.metadata_offset = metadata_offset
        if fenced:
            broker.controlled_shutdown_offset = _NO_OFFSET

    def begin_controlled_shutdown(self, broker_id: int, offset: int) -> None:
        """The broker may go once all others have seen ``offset``, where its partitions got other leaders."""
        broker = self._brokers[broker_id]
        assert not broker.fenced, "fenced brokers cannot enter controlled shutdown"
        if not broker.shutting_down:
            broker.controlled_shutdown_offset = offset

    def has_valid_session(self, broker_id: int, broker_epoch: int, now_ms: int) -> bool:
        """Whether this registration's broker was heard of within the session timeout."""
        contact_ms = self._contacts_ms.get(BrokerIdAndEpoch(broker_id, broker_epoch))
        return contact_ms is not None and contact_ms + self._session_timeout_ms >= now_ms

    def take_expired(self, now_ms: int) -> BrokerIdAndEpoch | None:
        """A registration whose session has ended, told once; others follow in later calls."""
        for registration, contact_ms in self._contacts_ms.items():
            if contact_ms + self._session_timeout_ms < now_ms:
                del self._contacts_ms[registration]
                return registration
        return None

    def lowest_active_offset(self) -> int:
        """The metadata offset that every active broker has reached."""
        return min(
            (
                broker.metadata_offset
                for broker in self._brokers.values()
                if not broker.fenced and not broker.shutting_down
            ),
            default=_NO_ACTIVE_BROKER,
        )

    def state(self, broker_id: int) -> BrokerControlState:
        """What the broker was told last."""
        broker = self._brokers[broker_id]
        if broker.shutting_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.FENCED if broker.fenced else BrokerControlState.UNFENCED

    def next_state(
        self, request: BrokerHeartbeatRequest, registration_offset: int, *, has_leaderships: bool
    ) -> BrokerControlState:
        """What the broker is told now; ``registration_offset`` is where its RegisterBrokerRecord stands."""
        broker_id = request.broker_id
        current = self.state(broker_id)
        if current is BrokerControlState.FENCED:
            return self._next_when_fenced(request, registration_offset)
        if current is BrokerControlState.UNFENCED:
            if not request.want_fence and not request.want_shut_down:
                return BrokerControlState.UNFENCED
            if request.want_shut_down:
                controlled = has_leaderships and not request.want_fence
                kind = "a controlled" if controlled else "an immediate"
                logger.info("Unfenced broker %d has requested and been granted %s shutdown.", broker_id, kind)
                return BrokerControlState.CONTROLLED_SHUTDOWN if controlled else BrokerControlState.SHUTDOWN_NOW
            logger.info("Unfenced broker %d has requested and been granted fencing", broker_id)
            return BrokerControlState.FENCED
        shutdown_offset = self._brokers[broker_id].controlled_shutdown_offset
        if has_leaderships or shutdown_offset > self.lowest_active_offset():
            return BrokerControlState.CONTROLLED_SHUTDOWN
        logger.info(
            "The request from broker %d to shut down has been granted since all active brokers have reached its "
            "controlled shutdown offset %d.",
            *(broker_id, shutdown_offset),
        )
        return BrokerControlState.SHUTDOWN_NOW

    def _next_when_fenced(self, request: BrokerHeartbeatRequest, registration_offset: int) -> BrokerControlState:
        if request.want_shut_down:
            logger.info("Fenced broker %d has requested and been granted an immediate shutdown.", request.broker_id)
            return BrokerControlState.SHUTDOWN_NOW
        if not request.want_fence and request.current_metadata_offset >= registration_offset:
            logger.info(
                "The request from broker %d to unfence has been granted because it has caught up with the offset of "
                "its register broker record %d.",
                *(request.broker_id, registration_offset),
            )
            return BrokerControlState.UNFENCED
        return BrokerControlState.FENCED
