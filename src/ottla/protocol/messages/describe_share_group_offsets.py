"""DescribeShareGroupOffsets (api key 90)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class DescribeShareGroupOffsetsRequestTopic(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class DescribeShareGroupOffsetsRequestGroup(Message):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = field(
        ArrayOf(DescribeShareGroupOffsetsRequestTopic), "0+", default=(), nullable="0+"
    )


class DescribeShareGroupOffsetsRequest(Message, api_key=90, versions="0-1", flexible="0+"):
    groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = field(
        ArrayOf(DescribeShareGroupOffsetsRequestGroup), "0+", default=()
    )


class DescribeShareGroupOffsetsResponsePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    start_offset: int = field(INT64, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    lag: int = field(INT64, "1+", default=-1)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class DescribeShareGroupOffsetsResponseTopic(Message):
    topic_name: str = field(STRING, "0+", default="")
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = field(
        ArrayOf(DescribeShareGroupOffsetsResponsePartition), "0+", default=()
    )


class DescribeShareGroupOffsetsResponseGroup(Message):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = field(
        ArrayOf(DescribeShareGroupOffsetsResponseTopic), "0+", default=()
    )
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class DescribeShareGroupOffsetsResponse(Message, api_key=90, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = field(
        ArrayOf(DescribeShareGroupOffsetsResponseGroup), "0+", default=()
    )
