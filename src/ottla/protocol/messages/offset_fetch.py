"""OffsetFetch (api key 9)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class OffsetFetchRequestTopic(Message):
    name: str = field(STRING, "0-7", default="")
    partition_indexes: Sequence[int] = field(ArrayOf(INT32), "0-7", default=())


class OffsetFetchRequestTopics(Message):
    name: str = field(STRING, "8-9", default="")
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    partition_indexes: Sequence[int] = field(ArrayOf(INT32), "8+", default=())


class OffsetFetchRequestGroup(Message):
    group_id: str = field(STRING, "8+", default="")
    member_id: str | None = field(STRING, "9+", default=None, nullable="9+")
    member_epoch: int = field(INT32, "9+", default=-1)
    topics: Sequence[OffsetFetchRequestTopics] | None = field(
        ArrayOf(OffsetFetchRequestTopics), "8+", default=(), nullable="8+"
    )


class OffsetFetchRequest(Message, api_key=9, versions="1-10", flexible="6+"):
    group_id: str = field(STRING, "0-7", default="")
    topics: Sequence[OffsetFetchRequestTopic] | None = field(
        ArrayOf(OffsetFetchRequestTopic), "0-7", default=(), nullable="2-7"
    )
    groups: Sequence[OffsetFetchRequestGroup] = field(ArrayOf(OffsetFetchRequestGroup), "8+", default=())
    require_stable: bool = field(BOOL, "7+", default=False)


class OffsetFetchResponsePartition(Message):
    partition_index: int = field(INT32, "0-7", default=0)
    committed_offset: int = field(INT64, "0-7", default=0)
    committed_leader_epoch: int = field(INT32, "5-7", default=-1)
    metadata: str | None = field(STRING, "0-7", default="", nullable="0-7")
    error_code: int = field(INT16, "0-7", default=0)


class OffsetFetchResponseTopic(Message):
    name: str = field(STRING, "0-7", default="")
    partitions: Sequence[OffsetFetchResponsePartition] = field(ArrayOf(OffsetFetchResponsePartition), "0-7", default=())


class OffsetFetchResponsePartitions(Message):
    partition_index: int = field(INT32, "8+", default=0)
    committed_offset: int = field(INT64, "8+", default=0)
    committed_leader_epoch: int = field(INT32, "8+", default=-1)
    metadata: str | None = field(STRING, "8+", default="", nullable="8+")
    error_code: int = field(INT16, "8+", default=0)


class OffsetFetchResponseTopics(Message):
    name: str = field(STRING, "8-9", default="")
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    partitions: Sequence[OffsetFetchResponsePartitions] = field(
        ArrayOf(OffsetFetchResponsePartitions), "8+", default=()
    )


class OffsetFetchResponseGroup(Message):
    group_id: str = field(STRING, "8+", default="")
    topics: Sequence[OffsetFetchResponseTopics] = field(ArrayOf(OffsetFetchResponseTopics), "8+", default=())
    error_code: int = field(INT16, "8+", default=0)


class OffsetFetchResponse(Message, api_key=9, versions="1-10", flexible="6+"):
    throttle_time_ms: int = field(INT32, "3+", default=0)
    topics: Sequence[OffsetFetchResponseTopic] = field(ArrayOf(OffsetFetchResponseTopic), "0-7", default=())
    error_code: int = field(INT16, "2-7", default=0)
    groups: Sequence[OffsetFetchResponseGroup] = field(ArrayOf(OffsetFetchResponseGroup), "8+", default=())
