"""ShareGroupHeartbeat (api key 76)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UUID, ArrayOf, Message, field


class ShareGroupHeartbeatRequest(Message, api_key=76, versions="1", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    member_id: str = field(STRING, "0+", default="")
    member_epoch: int = field(INT32, "0+", default=0)
    rack_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    subscribed_topic_names: Sequence[str] | None = field(ArrayOf(STRING), "0+", default=None, nullable="0+")


class TopicPartitions(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class Assignment(Message):
    topic_partitions: Sequence[TopicPartitions] = field(ArrayOf(TopicPartitions), "0+", default=())


class ShareGroupHeartbeatResponse(Message, api_key=76, versions="1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_epoch: int = field(INT32, "0+", default=0)
    heartbeat_interval_ms: int = field(INT32, "0+", default=0)
    assignment: Assignment | None = field(Assignment, "0+", default=None, nullable="0+")
