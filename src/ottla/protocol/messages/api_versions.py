"""ApiVersions (api key 18)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class ApiVersionsRequest(Message, api_key=18, versions="0-4", flexible="3+"):
    client_software_name: str = field(STRING, "3+", default="")
    client_software_version: str = field(STRING, "3+", default="")


class ApiVersion(Message):
    api_key: int = field(INT16, "0+", default=0)
    min_version: int = field(INT16, "0+", default=0)
    max_version: int = field(INT16, "0+", default=0)


class SupportedFeatureKey(Message):
    name: str = field(STRING, "3+", default="")
    min_version: int = field(INT16, "3+", default=0)
    max_version: int = field(INT16, "3+", default=0)


class FinalizedFeatureKey(Message):
    name: str = field(STRING, "3+", default="")
    max_version_level: int = field(INT16, "3+", default=0)
    min_version_level: int = field(INT16, "3+", default=0)


class ApiVersionsResponse(Message, api_key=18, versions="0-4", flexible="3+"):
    error_code: int = field(INT16, "0+", default=0)
    api_keys: Sequence[ApiVersion] = field(ArrayOf(ApiVersion), "0+", default=())
    throttle_time_ms: int = field(INT32, "1+", default=0)
    supported_features: Sequence[SupportedFeatureKey] = field(
        ArrayOf(SupportedFeatureKey), "3+", default=(), tag=0, tagged="3+"
    )
    finalized_features_epoch: int = field(INT64, "3+", default=-1, tag=1, tagged="3+")
    finalized_features: Sequence[FinalizedFeatureKey] = field(
        ArrayOf(FinalizedFeatureKey), "3+", default=(), tag=2, tagged="3+"
    )
    zk_migration_ready: bool = field(BOOL, "3+", default=False, tag=3, tagged="3+")
