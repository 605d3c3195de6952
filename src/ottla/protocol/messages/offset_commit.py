"""OffsetCommit (api key 8)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class OffsetCommitRequestPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    committed_offset: int = field(INT64, "0+", default=0)
    committed_leader_epoch: int = field(INT32, "6+", default=-1)
    committed_metadata: str | None = field(STRING, "0+", default="", nullable="0+")


class OffsetCommitRequestTopic(Message):
    name: str = field(STRING, "0-9", default="")
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    partitions: Sequence[OffsetCommitRequestPartition] = field(ArrayOf(OffsetCommitRequestPartition), "0+", default=())


class OffsetCommitRequest(Message, api_key=8, versions="2-10", flexible="8+"):
    group_id: str = field(STRING, "0+", default="")
    generation_id_or_member_epoch: int = field(INT32, "1+", default=-1)
    member_id: str = field(STRING, "1+", default="")
    group_instance_id: str | None = field(STRING, "7+", default=None, nullable="7+")
    retention_time_ms: int = field(INT64, "2-4", default=-1)
    topics: Sequence[OffsetCommitRequestTopic] = field(ArrayOf(OffsetCommitRequestTopic), "0+", default=())


class OffsetCommitResponsePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class OffsetCommitResponseTopic(Message):
    name: str = field(STRING, "0-9", default="")
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    partitions: Sequence[OffsetCommitResponsePartition] = field(
        ArrayOf(OffsetCommitResponsePartition), "0+", default=()
    )


class OffsetCommitResponse(Message, api_key=8, versions="2-10", flexible="8+"):
    throttle_time_ms: int = field(INT32, "3+", default=0)
    topics: Sequence[OffsetCommitResponseTopic] = field(ArrayOf(OffsetCommitResponseTopic), "0+", default=())
