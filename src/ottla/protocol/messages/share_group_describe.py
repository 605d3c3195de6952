"""ShareGroupDescribe (api key 77)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, STRING, UUID, ArrayOf, Message, field


class ShareGroupDescribeRequest(Message, api_key=77, versions="1", flexible="0+"):
    group_ids: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    include_authorized_operations: bool = field(BOOL, "0+", default=False)


class TopicPartitions(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class Assignment(Message):
    topic_partitions: Sequence[TopicPartitions] = field(ArrayOf(TopicPartitions), "0+", default=())


class Member(Message):
    member_id: str = field(STRING, "0+", default="")
    rack_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_epoch: int = field(INT32, "0+", default=0)
    client_id: str = field(STRING, "0+", default="")
    client_host: str = field(STRING, "0+", default="")
    subscribed_topic_names: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    assignment: Assignment | None = field(Assignment, "0+", default=None)


class DescribedGroup(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    group_id: str = field(STRING, "0+", default="")
    group_state: str = field(STRING, "0+", default="")
    group_epoch: int = field(INT32, "0+", default=0)
    assignment_epoch: int = field(INT32, "0+", default=0)
    assignor_name: str = field(STRING, "0+", default="")
    members: Sequence[Member] = field(ArrayOf(Member), "0+", default=())
    authorized_operations: int = field(INT32, "0+", default=-2147483648)


class ShareGroupDescribeResponse(Message, api_key=77, versions="1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    groups: Sequence[DescribedGroup] = field(ArrayOf(DescribedGroup), "0+", default=())
