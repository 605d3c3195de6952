"""The records of brokers and controllers."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Message, field


class BrokerEndpoint(Message):
    """Where a broker listens."""

    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)
    security_protocol: int = field(INT16, "0+", default=0)


class BrokerFeature(Message):
    """The levels of one feature that a broker supports."""

    name: str = field(STRING, "0+", default="")
    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class RegisterBrokerRecord(Message, api_key=0, versions="0-4", flexible="0+"):
    """A broker's incarnation. Cordoned directories are None until its heartbeats tell them."""

    broker_id: int = field(INT32, "0+", default=0)
    is_migrating_zk_broker: bool = field(BOOL, "2+", default=False)
    incarnation_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    broker_epoch: int = field(INT64, "0+", default=0)
    end_points: Sequence[BrokerEndpoint] = field(ArrayOf(BrokerEndpoint), "0+", default=())
    features: Sequence[BrokerFeature] = field(ArrayOf(BrokerFeature), "0+", default=())
    rack: str | None = field(STRING, "0+", default="", nullable="0+")
    fenced: bool = field(BOOL, "0+", default=True)
    in_controlled_shutdown: bool = field(BOOL, "1+", default=False)
    log_dirs: Sequence[Uuid] = field(ArrayOf(UUID), "3+", default=(), tag=0, tagged="3+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        ArrayOf(UUID), "4+", default=None, nullable="4+", tag=1, tagged="4+"
    )


class UnregisterBrokerRecord(Message, api_key=1, versions="0", flexible="0+"):
    """A broker left the cluster for good."""

    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=0)


class FenceBrokerRecord(Message, api_key=7, versions="0", flexible="0+"):
    """A broker may no longer lead; written by old controllers only."""

    id: int = field(INT32, "0+", default=0)
    epoch: int = field(INT64, "0+", default=0)


class UnfenceBrokerRecord(Message, api_key=8, versions="0", flexible="0+"):
    """A broker may lead again; written by old controllers only."""

    id: int = field(INT32, "0+", default=0)
    epoch: int = field(INT64, "0+", default=0)


class BrokerRegistrationChangeRecord(Message, api_key=17, versions="0-3", flexible="0+"):
    """What changed in a registration: ``fenced`` is 1, -1 (unfenced) or 0; empty and None mean no change."""

    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=0)
    fenced: int = field(INT8, "0+", default=0, tag=0, tagged="0+")
    in_controlled_shutdown: int = field(INT8, "1+", default=0, tag=1, tagged="1+")
    log_dirs: Sequence[Uuid] = field(ArrayOf(UUID), "2+", default=(), tag=2, tagged="2+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        ArrayOf(UUID), "3+", default=None, nullable="3+", tag=3, tagged="3+"
    )


class ControllerEndpoint(Message):
    """Where a controller listens."""

    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)
    security_protocol: int = field(INT16, "0+", default=0)


class ControllerFeature(Message):
    """The levels of one feature that a controller supports."""

    name: str = field(STRING, "0+", default="")
    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class RegisterControllerRecord(Message, api_key=27, versions="0", flexible="0+"):
    """A controller's incarnation."""

    controller_id: int = field(INT32, "0+", default=0)
    incarnation_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    zk_migration_ready: bool = field(BOOL, "0+", default=False)
    end_points: Sequence[ControllerEndpoint] = field(ArrayOf(ControllerEndpoint), "0+", default=())
    features: Sequence[ControllerFeature] = field(ArrayOf(ControllerFeature), "0+", default=())
