"""FindCoordinator (api key 10)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class FindCoordinatorRequest(Message, api_key=10, versions="0-6", flexible="3+"):
    key: str = field(STRING, "0-3", default="")
    key_type: int = field(INT8, "1+", default=0)
    coordinator_keys: Sequence[str] = field(ArrayOf(STRING), "4+", default=())


class Coordinator(Message):
    key: str = field(STRING, "4+", default="")
    node_id: int = field(INT32, "4+", default=0)
    host: str = field(STRING, "4+", default="")
    port: int = field(INT32, "4+", default=0)
    error_code: int = field(INT16, "4+", default=0)
    error_message: str | None = field(STRING, "4+", default="", nullable="4+")


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0-3", default=0)
    error_message: str | None = field(STRING, "1-3", default="", nullable="1-3")
    node_id: int = field(INT32, "0-3", default=0)
    host: str = field(STRING, "0-3", default="")
    port: int = field(INT32, "0-3", default=0)
    coordinators: Sequence[Coordinator] = field(ArrayOf(Coordinator), "4+", default=())
