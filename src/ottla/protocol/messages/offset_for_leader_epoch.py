"""OffsetForLeaderEpoch (api key 23)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class OffsetForLeaderPartition(Message):
    partition: int = field(INT32, "0+", default=0)
    current_leader_epoch: int = field(INT32, "2+", default=-1)
    leader_epoch: int = field(INT32, "0+", default=0)


class OffsetForLeaderTopic(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[OffsetForLeaderPartition] = field(ArrayOf(OffsetForLeaderPartition), "0+", default=())


class OffsetForLeaderEpochRequest(Message, api_key=23, versions="2-4", flexible="4+"):
    replica_id: int = field(INT32, "3+", default=-2)
    topics: Sequence[OffsetForLeaderTopic] = field(ArrayOf(OffsetForLeaderTopic), "0+", default=())


class EpochEndOffset(Message):
    error_code: int = field(INT16, "0+", default=0)
    partition: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "1+", default=-1)
    end_offset: int = field(INT64, "0+", default=-1)


class OffsetForLeaderTopicResult(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[EpochEndOffset] = field(ArrayOf(EpochEndOffset), "0+", default=())


class OffsetForLeaderEpochResponse(Message, api_key=23, versions="2-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: Sequence[OffsetForLeaderTopicResult] = field(ArrayOf(OffsetForLeaderTopicResult), "0+", default=())
