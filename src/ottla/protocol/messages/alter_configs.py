"""AlterConfigs (api key 33)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class AlterableConfig(Message):
    name: str = field(STRING, "0+", default="")
    value: str | None = field(STRING, "0+", default="", nullable="0+")


class AlterConfigsResource(Message):
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    configs: Sequence[AlterableConfig] = field(ArrayOf(AlterableConfig), "0+", default=())


class AlterConfigsRequest(Message, api_key=33, versions="0-2", flexible="2+"):
    resources: Sequence[AlterConfigsResource] = field(ArrayOf(AlterConfigsResource), "0+", default=())
    validate_only: bool = field(BOOL, "0+", default=False)


class AlterConfigsResourceResponse(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    responses: Sequence[AlterConfigsResourceResponse] = field(ArrayOf(AlterConfigsResourceResponse), "0+", default=())
