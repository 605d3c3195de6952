"""ControllerRegistration (api key 70)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, STRING, UINT16, UUID, ArrayOf, Message, field


class Listener(Message):
    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)
    security_protocol: int = field(INT16, "0+", default=0)


class Feature(Message):
    name: str = field(STRING, "0+", default="")
    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class ControllerRegistrationRequest(Message, api_key=70, versions="0", flexible="0+"):
    controller_id: int = field(INT32, "0+", default=0)
    incarnation_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    zk_migration_ready: bool = field(BOOL, "0+", default=False)
    listeners: Sequence[Listener] = field(ArrayOf(Listener), "0+", default=())
    features: Sequence[Feature] = field(ArrayOf(Feature), "0+", default=())


class ControllerRegistrationResponse(Message, api_key=70, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
