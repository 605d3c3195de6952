"""OffsetDelete (api key 47)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class OffsetDeleteRequestPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)


class OffsetDeleteRequestTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[OffsetDeleteRequestPartition] = field(ArrayOf(OffsetDeleteRequestPartition), "0+", default=())


class OffsetDeleteRequest(Message, api_key=47, versions="0", flexible="none"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[OffsetDeleteRequestTopic] = field(ArrayOf(OffsetDeleteRequestTopic), "0+", default=())


class OffsetDeleteResponsePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class OffsetDeleteResponseTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[OffsetDeleteResponsePartition] = field(
        ArrayOf(OffsetDeleteResponsePartition), "0+", default=()
    )


class OffsetDeleteResponse(Message, api_key=47, versions="0", flexible="none"):
    error_code: int = field(INT16, "0+", default=0)
    throttle_time_ms: int = field(INT32, "0+", default=0)
    topics: Sequence[OffsetDeleteResponseTopic] = field(ArrayOf(OffsetDeleteResponseTopic), "0+", default=())
