"""DescribeQuorum (api key 55)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Message, field


class DescribeQuorumRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)


class DescribeQuorumRequestTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[DescribeQuorumRequestPartitionData] = field(
        ArrayOf(DescribeQuorumRequestPartitionData), "0+", default=()
    )


class DescribeQuorumRequest(Message, api_key=55, versions="0-2", flexible="0+"):
    topics: Sequence[DescribeQuorumRequestTopicData] = field(ArrayOf(DescribeQuorumRequestTopicData), "0+", default=())


class ReplicaState(Message):
    replica_id: int = field(INT32, "0+", default=0)
    replica_directory_id: Uuid = field(UUID, "2+", default=ZERO_UUID)
    log_end_offset: int = field(INT64, "0+", default=0)
    last_fetch_timestamp: int = field(INT64, "1+", default=-1)
    last_caught_up_timestamp: int = field(INT64, "1+", default=-1)


class DescribeQuorumResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "2+", default="", nullable="2+")
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    high_watermark: int = field(INT64, "0+", default=0)
    current_voters: Sequence[ReplicaState] = field(ArrayOf(ReplicaState), "0+", default=())
    observers: Sequence[ReplicaState] = field(ArrayOf(ReplicaState), "0+", default=())


class DescribeQuorumResponseTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[DescribeQuorumResponsePartitionData] = field(
        ArrayOf(DescribeQuorumResponsePartitionData), "0+", default=()
    )


class Listener(Message):
    name: str = field(STRING, "2+", default="")
    host: str = field(STRING, "2+", default="")
    port: int = field(UINT16, "2+", default=0)


class Node(Message):
    node_id: int = field(INT32, "2+", default=0)
    listeners: Sequence[Listener] = field(ArrayOf(Listener), "2+", default=())


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "2+", default="", nullable="2+")
    topics: Sequence[DescribeQuorumResponseTopicData] = field(
        ArrayOf(DescribeQuorumResponseTopicData), "0+", default=()
    )
    nodes: Sequence[Node] = field(ArrayOf(Node), "2+", default=())
