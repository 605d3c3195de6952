"""ListGroups (api key 16)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class ListGroupsRequest(Message, api_key=16, versions="0-5", flexible="3+"):
    states_filter: Sequence[str] = field(ArrayOf(STRING), "4+", default=())
    types_filter: Sequence[str] = field(ArrayOf(STRING), "5+", default=())


class ListedGroup(Message):
    group_id: str = field(STRING, "0+", default="")
    protocol_type: str = field(STRING, "0+", default="")
    group_state: str = field(STRING, "4+", default="")
    group_type: str = field(STRING, "5+", default="")


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    groups: Sequence[ListedGroup] = field(ArrayOf(ListedGroup), "0+", default=())
