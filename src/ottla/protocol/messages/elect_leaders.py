"""ElectLeaders (api key 43)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, STRING, ArrayOf, Message, field


class TopicPartitions(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class ElectLeadersRequest(Message, api_key=43, versions="0-2", flexible="2+"):
    election_type: int = field(INT8, "1+", default=0)
    topic_partitions: Sequence[TopicPartitions] | None = field(
        ArrayOf(TopicPartitions), "0+", default=(), nullable="0+"
    )
    timeout_ms: int = field(INT32, "0+", default=60000)


class PartitionResult(Message):
    partition_id: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")


class ReplicaElectionResult(Message):
    topic: str = field(STRING, "0+", default="")
    partition_result: Sequence[PartitionResult] = field(ArrayOf(PartitionResult), "0+", default=())


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "1+", default=0)
    replica_election_results: Sequence[ReplicaElectionResult] = field(ArrayOf(ReplicaElectionResult), "0+", default=())
