"""DeleteGroups (api key 42)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class DeleteGroupsRequest(Message, api_key=42, versions="0-2", flexible="2+"):
    groups_names: Sequence[str] = field(ArrayOf(STRING), "0+", default=())


class DeletableGroupResult(Message):
    group_id: str = field(STRING, "0+", default="")
    error_code: int = field(INT16, "0+", default=0)


class DeleteGroupsResponse(Message, api_key=42, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[DeletableGroupResult] = field(ArrayOf(DeletableGroupResult), "0+", default=())
