"""DeleteAcls (api key 31)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class DeleteAclsFilter(Message):
    resource_type_filter: int = field(INT8, "0+", default=0)
    resource_name_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    pattern_type_filter: int = field(INT8, "1+", default=3)
    principal_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    host_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class DeleteAclsRequest(Message, api_key=31, versions="1-3", flexible="2+"):
    filters: Sequence[DeleteAclsFilter] = field(ArrayOf(DeleteAclsFilter), "0+", default=())


class DeleteAclsMatchingAcl(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    pattern_type: int = field(INT8, "1+", default=3)
    principal: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class DeleteAclsFilterResult(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    matching_acls: Sequence[DeleteAclsMatchingAcl] = field(ArrayOf(DeleteAclsMatchingAcl), "0+", default=())


class DeleteAclsResponse(Message, api_key=31, versions="1-3", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    filter_results: Sequence[DeleteAclsFilterResult] = field(ArrayOf(DeleteAclsFilterResult), "0+", default=())
