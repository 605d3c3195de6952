"""TxnOffsetCommit (api key 28)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class TxnOffsetCommitRequestPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    committed_offset: int = field(INT64, "0+", default=0)
    committed_leader_epoch: int = field(INT32, "2+", default=-1)
    committed_metadata: str | None = field(STRING, "0+", default="", nullable="0+")


class TxnOffsetCommitRequestTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[TxnOffsetCommitRequestPartition] = field(
        ArrayOf(TxnOffsetCommitRequestPartition), "0+", default=()
    )


class TxnOffsetCommitRequest(Message, api_key=28, versions="0-5", flexible="3+"):
    transactional_id: str = field(STRING, "0+", default="")
    group_id: str = field(STRING, "0+", default="")
    producer_id: int = field(INT64, "0+", default=0)
    producer_epoch: int = field(INT16, "0+", default=0)
    generation_id: int = field(INT32, "3+", default=-1)
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    topics: Sequence[TxnOffsetCommitRequestTopic] = field(ArrayOf(TxnOffsetCommitRequestTopic), "0+", default=())


class TxnOffsetCommitResponsePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class TxnOffsetCommitResponseTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[TxnOffsetCommitResponsePartition] = field(
        ArrayOf(TxnOffsetCommitResponsePartition), "0+", default=()
    )


class TxnOffsetCommitResponse(Message, api_key=28, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    topics: Sequence[TxnOffsetCommitResponseTopic] = field(ArrayOf(TxnOffsetCommitResponseTopic), "0+", default=())
