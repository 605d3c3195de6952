"""DescribeTopicPartitions (api key 75)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, STRING, UUID, ArrayOf, Message, field


class TopicRequest(Message):
    name: str = field(STRING, "0+", default="")


class DescribeTopicPartitionsRequestCursor(Message):
    topic_name: str = field(STRING, "0+", default="")
    partition_index: int = field(INT32, "0+", default=0)


class DescribeTopicPartitionsRequest(Message, api_key=75, versions="0", flexible="0+"):
    topics: Sequence[TopicRequest] = field(ArrayOf(TopicRequest), "0+", default=())
    response_partition_limit: int = field(INT32, "0+", default=2000)
    cursor: DescribeTopicPartitionsRequestCursor | None = field(
        DescribeTopicPartitionsRequestCursor, "0+", default=None, nullable="0+"
    )


class DescribeTopicPartitionsResponsePartition(Message):
    error_code: int = field(INT16, "0+", default=0)
    partition_index: int = field(INT32, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=-1)
    replica_nodes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    isr_nodes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    eligible_leader_replicas: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+")
    last_known_elr: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+")
    offline_replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class DescribeTopicPartitionsResponseTopic(Message):
    error_code: int = field(INT16, "0+", default=0)
    name: str | None = field(STRING, "0+", default="", nullable="0+")
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    is_internal: bool = field(BOOL, "0+", default=False)
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = field(
        ArrayOf(DescribeTopicPartitionsResponsePartition), "0+", default=()
    )
    topic_authorized_operations: int = field(INT32, "0+", default=-2147483648)


class DescribeTopicPartitionsResponseCursor(Message):
    topic_name: str = field(STRING, "0+", default="")
    partition_index: int = field(INT32, "0+", default=0)


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = field(
        ArrayOf(DescribeTopicPartitionsResponseTopic), "0+", default=()
    )
    next_cursor: DescribeTopicPartitionsResponseCursor | None = field(
        DescribeTopicPartitionsResponseCursor, "0+", default=None, nullable="0+"
    )
