"""AlterPartitionReassignments (api key 45)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, STRING, ArrayOf, Message, field


class ReassignablePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    replicas: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+")


class ReassignableTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[ReassignablePartition] = field(ArrayOf(ReassignablePartition), "0+", default=())


class AlterPartitionReassignmentsRequest(Message, api_key=45, versions="0-1", flexible="0+"):
    timeout_ms: int = field(INT32, "0+", default=60000)
    allow_replication_factor_change: bool = field(BOOL, "1+", default=True)
    topics: Sequence[ReassignableTopic] = field(ArrayOf(ReassignableTopic), "0+", default=())


class ReassignablePartitionResponse(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")


class ReassignableTopicResponse(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[ReassignablePartitionResponse] = field(
        ArrayOf(ReassignablePartitionResponse), "0+", default=()
    )


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    allow_replication_factor_change: bool = field(BOOL, "1+", default=True)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    responses: Sequence[ReassignableTopicResponse] = field(ArrayOf(ReassignableTopicResponse), "0+", default=())
