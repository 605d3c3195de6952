"""BeginQuorumEpoch (api key 53)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UINT16, UUID, ArrayOf, Message, field


class BeginQuorumEpochRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class BeginQuorumEpochRequestTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[BeginQuorumEpochRequestPartitionData] = field(
        ArrayOf(BeginQuorumEpochRequestPartitionData), "0+", default=()
    )


class LeaderEndpoint(Message):
    name: str = field(STRING, "1+", default="")
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class BeginQuorumEpochRequest(Message, api_key=53, versions="0-1", flexible="1+"):
    cluster_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    voter_id: int = field(INT32, "1+", default=-1)
    topics: Sequence[BeginQuorumEpochRequestTopicData] = field(
        ArrayOf(BeginQuorumEpochRequestTopicData), "0+", default=()
    )
    leader_endpoints: Sequence[LeaderEndpoint] = field(ArrayOf(LeaderEndpoint), "1+", default=())


class BeginQuorumEpochResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class BeginQuorumEpochResponseTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[BeginQuorumEpochResponsePartitionData] = field(
        ArrayOf(BeginQuorumEpochResponsePartitionData), "0+", default=()
    )


class NodeEndpoint(Message):
    node_id: int = field(INT32, "1+", default=0)
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class BeginQuorumEpochResponse(Message, api_key=53, versions="0-1", flexible="1+"):
    error_code: int = field(INT16, "0+", default=0)
    topics: Sequence[BeginQuorumEpochResponseTopicData] = field(
        ArrayOf(BeginQuorumEpochResponseTopicData), "0+", default=()
    )
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "1+", default=(), tag=0, tagged="1+")
