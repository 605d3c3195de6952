"""BrokerRegistration (api key 62)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Message, field


class Listener(Message):
    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)
    security_protocol: int = field(INT16, "0+", default=0)


class Feature(Message):
    name: str = field(STRING, "0+", default="")
    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class BrokerRegistrationRequest(Message, api_key=62, versions="0-4", flexible="0+"):
    broker_id: int = field(INT32, "0+", default=0)
    cluster_id: str = field(STRING, "0+", default="")
    incarnation_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    listeners: Sequence[Listener] = field(ArrayOf(Listener), "0+", default=())
    features: Sequence[Feature] = field(ArrayOf(Feature), "0+", default=())
    rack: str | None = field(STRING, "0+", default="", nullable="0+")
    is_migrating_zk_broker: bool = field(BOOL, "1+", default=False)
    log_dirs: Sequence[Uuid] = field(ArrayOf(UUID), "2+", default=())
    previous_broker_epoch: int = field(INT64, "3+", default=-1)


class BrokerRegistrationResponse(Message, api_key=62, versions="0-4", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=-1)
