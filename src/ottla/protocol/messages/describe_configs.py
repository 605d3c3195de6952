"""DescribeConfigs (api key 32)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class DescribeConfigsResource(Message):
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    configuration_keys: Sequence[str] | None = field(ArrayOf(STRING), "0+", default=(), nullable="0+")


class DescribeConfigsRequest(Message, api_key=32, versions="1-4", flexible="4+"):
    resources: Sequence[DescribeConfigsResource] = field(ArrayOf(DescribeConfigsResource), "0+", default=())
    include_synonyms: bool = field(BOOL, "1+", default=False)
    include_documentation: bool = field(BOOL, "3+", default=False)


class DescribeConfigsSynonym(Message):
    name: str = field(STRING, "1+", default="")
    value: str | None = field(STRING, "1+", default="", nullable="0+")
    source: int = field(INT8, "1+", default=0)


class DescribeConfigsResourceResult(Message):
    name: str = field(STRING, "0+", default="")
    value: str | None = field(STRING, "0+", default="", nullable="0+")
    read_only: bool = field(BOOL, "0+", default=False)
    config_source: int = field(INT8, "1+", default=-1)
    is_sensitive: bool = field(BOOL, "0+", default=False)
    synonyms: Sequence[DescribeConfigsSynonym] = field(ArrayOf(DescribeConfigsSynonym), "1+", default=())
    config_type: int = field(INT8, "3+", default=0)
    documentation: str | None = field(STRING, "3+", default="", nullable="0+")


class DescribeConfigsResult(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    configs: Sequence[DescribeConfigsResourceResult] = field(ArrayOf(DescribeConfigsResourceResult), "0+", default=())


class DescribeConfigsResponse(Message, api_key=32, versions="1-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[DescribeConfigsResult] = field(ArrayOf(DescribeConfigsResult), "0+", default=())
