"""SyncGroup (api key 14)."""

from collections.abc import Sequence

from ottla.protocol.message import BYTES, INT16, INT32, STRING, ArrayOf, Message, field


class SyncGroupRequestAssignment(Message):
    member_id: str = field(STRING, "0+", default="")
    assignment: bytes = field(BYTES, "0+", default=b"")


class SyncGroupRequest(Message, api_key=14, versions="0-5", flexible="4+"):
    group_id: str = field(STRING, "0+", default="")
    generation_id: int = field(INT32, "0+", default=0)
    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+")
    assignments: Sequence[SyncGroupRequestAssignment] = field(ArrayOf(SyncGroupRequestAssignment), "0+", default=())


class SyncGroupResponse(Message, api_key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+")
    assignment: bytes = field(BYTES, "0+", default=b"")
