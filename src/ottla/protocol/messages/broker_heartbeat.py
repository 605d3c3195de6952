"""BrokerHeartbeat (api key 63)."""

from collections.abc import Sequence

from ottla.common.uuid import Uuid
from ottla.protocol.message import BOOL, INT16, INT32, INT64, UUID, ArrayOf, Message, field


class BrokerHeartbeatRequest(Message, api_key=63, versions="0-2", flexible="0+"):
    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=-1)
    current_metadata_offset: int = field(INT64, "0+", default=0)
    want_fence: bool = field(BOOL, "0+", default=False)
    want_shut_down: bool = field(BOOL, "0+", default=False)
    offline_log_dirs: Sequence[Uuid] = field(ArrayOf(UUID), "1+", default=(), tag=0, tagged="1+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        ArrayOf(UUID), "2+", default=None, nullable="2+", tag=1, tagged="2+"
    )


class BrokerHeartbeatResponse(Message, api_key=63, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    is_caught_up: bool = field(BOOL, "0+", default=False)
    is_fenced: bool = field(BOOL, "0+", default=True)
    should_shut_down: bool = field(BOOL, "0+", default=False)
