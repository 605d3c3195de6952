"""JoinGroup (api key 11)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, BYTES, INT16, INT32, STRING, ArrayOf, Message, field


class JoinGroupRequestProtocol(Message):
    name: str = field(STRING, "0+", default="")
    metadata: bytes = field(BYTES, "0+", default=b"")


class JoinGroupRequest(Message, api_key=11, versions="0-9", flexible="6+"):
    group_id: str = field(STRING, "0+", default="")
    session_timeout_ms: int = field(INT32, "0+", default=0)
    rebalance_timeout_ms: int = field(INT32, "1+", default=-1)
    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_type: str = field(STRING, "0+", default="")
    protocols: Sequence[JoinGroupRequestProtocol] = field(ArrayOf(JoinGroupRequestProtocol), "0+", default=())
    reason: str | None = field(STRING, "8+", default=None, nullable="8+")


class JoinGroupResponseMember(Message):
    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    metadata: bytes = field(BYTES, "0+", default=b"")


class JoinGroupResponse(Message, api_key=11, versions="0-9", flexible="6+"):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    generation_id: int = field(INT32, "0+", default=-1)
    protocol_type: str | None = field(STRING, "7+", default=None, nullable="7+")
    protocol_name: str | None = field(STRING, "0+", default="", nullable="7+")
    leader: str = field(STRING, "0+", default="")
    skip_assignment: bool = field(BOOL, "9+", default=False)
    member_id: str = field(STRING, "0+", default="")
    members: Sequence[JoinGroupResponseMember] = field(ArrayOf(JoinGroupResponseMember), "0+", default=())
