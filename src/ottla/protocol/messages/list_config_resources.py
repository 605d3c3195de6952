"""ListConfigResources (api key 74)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class ListConfigResourcesRequest(Message, api_key=74, versions="0-1", flexible="0+"):
    resource_types: Sequence[int] = field(ArrayOf(INT8), "1+", default=())


class ConfigResource(Message):
    resource_name: str = field(STRING, "0+", default="")
    resource_type: int = field(INT8, "1+", default=16)


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    config_resources: Sequence[ConfigResource] = field(ArrayOf(ConfigResource), "0+", default=())
