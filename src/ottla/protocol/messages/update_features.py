"""UpdateFeatures (api key 57)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class FeatureUpdateKey(Message):
    feature: str = field(STRING, "0+", default="")
    max_version_level: int = field(INT16, "0+", default=0)
    allow_downgrade: bool = field(BOOL, "0", default=False)
    upgrade_type: int = field(INT8, "1+", default=1)


class UpdateFeaturesRequest(Message, api_key=57, versions="0-2", flexible="0+"):
    timeout_ms: int = field(INT32, "0+", default=60000)
    feature_updates: Sequence[FeatureUpdateKey] = field(ArrayOf(FeatureUpdateKey), "0+", default=())
    validate_only: bool = field(BOOL, "1+", default=False)


class UpdatableFeatureResult(Message):
    feature: str = field(STRING, "0+", default="")
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    results: Sequence[UpdatableFeatureResult] = field(ArrayOf(UpdatableFeatureResult), "0-1", default=())
