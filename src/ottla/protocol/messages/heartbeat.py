"""Heartbeat (api key 12)."""

from ottla.protocol.message import INT16, INT32, STRING, Message, field


class HeartbeatRequest(Message, api_key=12, versions="0-4", flexible="4+"):
    group_id: str = field(STRING, "0+", default="")
    generation_id: int = field(INT32, "0+", default=0)
    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")


class HeartbeatResponse(Message, api_key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0+", default=0)
