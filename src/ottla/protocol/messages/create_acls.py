"""CreateAcls (api key 30)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class AclCreation(Message):
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    resource_pattern_type: int = field(INT8, "1+", default=3)
    principal: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    operation: int = field(INT8, "0+", default=0)
    permission_type: int = field(INT8, "0+", default=0)


class CreateAclsRequest(Message, api_key=30, versions="1-3", flexible="2+"):
    creations: Sequence[AclCreation] = field(ArrayOf(AclCreation), "0+", default=())


class AclCreationResult(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")


class CreateAclsResponse(Message, api_key=30, versions="1-3", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[AclCreationResult] = field(ArrayOf(AclCreationResult), "0+", default=())
