"""Vote (api key 52)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Message, field


class VoteRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    replica_epoch: int = field(INT32, "0+", default=0)
    replica_id: int = field(INT32, "0+", default=0)
    replica_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID)
    voter_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID)
    last_offset_epoch: int = field(INT32, "0+", default=0)
    last_offset: int = field(INT64, "0+", default=0)
    pre_vote: bool = field(BOOL, "2+", default=False)


class VoteRequestTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[VoteRequestPartitionData] = field(ArrayOf(VoteRequestPartitionData), "0+", default=())


class VoteRequest(Message, api_key=52, versions="0-2", flexible="0+"):
    cluster_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    voter_id: int = field(INT32, "1+", default=-1)
    topics: Sequence[VoteRequestTopicData] = field(ArrayOf(VoteRequestTopicData), "0+", default=())


class VoteResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    vote_granted: bool = field(BOOL, "0+", default=False)


class VoteResponseTopicData(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[VoteResponsePartitionData] = field(ArrayOf(VoteResponsePartitionData), "0+", default=())


class NodeEndpoint(Message):
    node_id: int = field(INT32, "1+", default=0)
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class VoteResponse(Message, api_key=52, versions="0-2", flexible="0+"):
    error_code: int = field(INT16, "0+", default=0)
    topics: Sequence[VoteResponseTopicData] = field(ArrayOf(VoteResponseTopicData), "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "1+", default=(), tag=0, tagged="1+")
