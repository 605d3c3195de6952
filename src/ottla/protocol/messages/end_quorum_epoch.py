"""EndQuorumEpoch (api key 54)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UINT16, UUID, ArrayOf, Message, field


class ReplicaInfo(Message):
    candidate_id: int = field(INT32, "1+", default=0)
    candidate_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID)


class EndQuorumEpochRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    preferred_successors: Sequence[int] = field(ArrayOf(INT32), "0", default=())
    preferred_candidates: Sequence[ReplicaInfo] = field(ArrayOf(ReplicaInfo), "1+", default=())


class EndQuorumEpochRequestTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[EndQuorumEpochRequestPartitionData] = field(
        ArrayOf(EndQuorumEpochRequestPartitionData), "0+", default=()
    )


class LeaderEndpoint(Message):
    name: str = field(STRING, "1+", default="")
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class EndQuorumEpochRequest(Message, api_key=54, versions="0-1", flexible="1+"):
    cluster_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    topics: Sequence[EndQuorumEpochRequestTopicData] = field(ArrayOf(EndQuorumEpochRequestTopicData), "0+", default=())
    leader_endpoints: Sequence[LeaderEndpoint] = field(ArrayOf(LeaderEndpoint), "1+", default=())


class EndQuorumEpochResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class EndQuorumEpochResponseTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[EndQuorumEpochResponsePartitionData] = field(
        ArrayOf(EndQuorumEpochResponsePartitionData), "0+", default=()
    )


class NodeEndpoint(Message):
    node_id: int = field(INT32, "1+", default=0)
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class EndQuorumEpochResponse(Message, api_key=54, versions="0-1", flexible="1+"):
    error_code: int = field(INT16, "0+", default=0)
    topics: Sequence[EndQuorumEpochResponseTopicData] = field(
        ArrayOf(EndQuorumEpochResponseTopicData), "0+", default=()
    )
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "1+", default=(), tag=0, tagged="1+")
