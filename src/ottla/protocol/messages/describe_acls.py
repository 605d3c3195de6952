"""DescribeAcls (api key 29)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class DescribeAclsRequest(Message, api_key=29, versions="1-3", flexible="2+"):
    resource_type_filter: int = field(INT8, "0+", default=0)
    resource_name_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    pattern_type_filter: int = field(INT8, "1+", default=3)
    principal_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    host_filter: str | None = field(STRING, "0+", default="", nullable="0+")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class AclDescription(Message):
    principal: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class DescribeAclsResource(Message):
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    pattern_type: int = field(INT8, "1+", default=3)
    acls: Sequence[AclDescription] = field(ArrayOf(AclDescription), "0+", default=())


class DescribeAclsResponse(Message, api_key=29, versions="1-3", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    resources: Sequence[DescribeAclsResource] = field(ArrayOf(DescribeAclsResource), "0+", default=())
