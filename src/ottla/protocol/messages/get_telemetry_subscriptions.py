"""GetTelemetrySubscriptions (api key 71)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, UUID, ArrayOf, Message, field


class GetTelemetrySubscriptionsRequest(Message, api_key=71, versions="0", flexible="0+"):
    client_instance_id: Uuid = field(UUID, "0+", default=ZERO_UUID)


class GetTelemetrySubscriptionsResponse(Message, api_key=71, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    client_instance_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    subscription_id: int = field(INT32, "0+", default=0)
    accepted_compression_types: Sequence[int] = field(ArrayOf(INT8), "0+", default=())
    push_interval_ms: int = field(INT32, "0+", default=0)
    telemetry_max_bytes: int = field(INT32, "0+", default=0)
    delta_temporality: bool = field(BOOL, "0+", default=False)
    requested_metrics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
