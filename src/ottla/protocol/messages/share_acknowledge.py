"""ShareAcknowledge (api key 79)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT8, INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class AcknowledgementBatch(Message):
    first_offset: int = field(INT64, "0+", default=0)
    last_offset: int = field(INT64, "0+", default=0)
    acknowledge_types: Sequence[int] = field(ArrayOf(INT8), "0+", default=())


class AcknowledgePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    acknowledgement_batches: Sequence[AcknowledgementBatch] = field(ArrayOf(AcknowledgementBatch), "0+", default=())


class AcknowledgeTopic(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[AcknowledgePartition] = field(ArrayOf(AcknowledgePartition), "0+", default=())


class ShareAcknowledgeRequest(Message, api_key=79, versions="1-2", flexible="0+"):
    group_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_id: str | None = field(STRING, "0+", default="", nullable="0+")
    share_session_epoch: int = field(INT32, "0+", default=0)
    is_renew_ack: bool = field(BOOL, "2+", default=False)
    topics: Sequence[AcknowledgeTopic] = field(ArrayOf(AcknowledgeTopic), "0+", default=())


class LeaderIdAndEpoch(Message):
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class PartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, "0+", default=None)


class ShareAcknowledgeTopicResponse(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class NodeEndpoint(Message):
    node_id: int = field(INT32, "0+", default=0)
    host: str = field(STRING, "0+", default="")
    port: int = field(INT32, "0+", default=0)
    rack: str | None = field(STRING, "0+", default=None, nullable="0+")


class ShareAcknowledgeResponse(Message, api_key=79, versions="1-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(INT32, "2+", default=0)
    responses: Sequence[ShareAcknowledgeTopicResponse] = field(ArrayOf(ShareAcknowledgeTopicResponse), "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "0+", default=())
