"""LeaveGroup (api key 13)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class MemberIdentity(Message):
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    reason: str | None = field(STRING, "5+", default=None, nullable="5+")


class LeaveGroupRequest(Message, api_key=13, versions="0-5", flexible="4+"):
    group_id: str = field(STRING, "0+", default="")
    member_id: str = field(STRING, "0-2", default="")
    members: Sequence[MemberIdentity] = field(ArrayOf(MemberIdentity), "3+", default=())


class MemberResponse(Message):
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default="", nullable="3+")
    error_code: int = field(INT16, "3+", default=0)


class LeaveGroupResponse(Message, api_key=13, versions="0-5", flexible="4+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    members: Sequence[MemberResponse] = field(ArrayOf(MemberResponse), "3+", default=())
