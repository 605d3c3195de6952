"""DescribeGroups (api key 15)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, BYTES, INT16, INT32, STRING, ArrayOf, Message, field


class DescribeGroupsRequest(Message, api_key=15, versions="0-6", flexible="5+"):
    groups: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    include_authorized_operations: bool = field(BOOL, "3+", default=False)


class DescribedGroupMember(Message):
    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "4+", default=None, nullable="4+")
    client_id: str = field(STRING, "0+", default="")
    client_host: str = field(STRING, "0+", default="")
    member_metadata: bytes = field(BYTES, "0+", default=b"")
    member_assignment: bytes = field(BYTES, "0+", default=b"")


class DescribedGroup(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "6+", default=None, nullable="6+")
    group_id: str = field(STRING, "0+", default="")
    group_state: str = field(STRING, "0+", default="")
    protocol_type: str = field(STRING, "0+", default="")
    protocol_data: str = field(STRING, "0+", default="")
    members: Sequence[DescribedGroupMember] = field(ArrayOf(DescribedGroupMember), "0+", default=())
    authorized_operations: int = field(INT32, "3+", default=-2147483648)


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    groups: Sequence[DescribedGroup] = field(ArrayOf(DescribedGroup), "0+", default=())
