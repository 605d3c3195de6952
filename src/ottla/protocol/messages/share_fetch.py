"""ShareFetch (api key 78)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.file_slice import Records
from ottla.protocol.message import BOOL, INT8, INT16, INT32, INT64, RECORDS, STRING, UUID, ArrayOf, Message, field


class AcknowledgementBatch(Message):
    first_offset: int = field(INT64, "0+", default=0)
    last_offset: int = field(INT64, "0+", default=0)
    acknowledge_types: Sequence[int] = field(ArrayOf(INT8), "0+", default=())


class FetchPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    partition_max_bytes: int = field(INT32, "0", default=0)
    acknowledgement_batches: Sequence[AcknowledgementBatch] = field(ArrayOf(AcknowledgementBatch), "0+", default=())


class FetchTopic(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[FetchPartition] = field(ArrayOf(FetchPartition), "0+", default=())


class ForgottenTopic(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class ShareFetchRequest(Message, api_key=78, versions="1-2", flexible="0+"):
    group_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_id: str | None = field(STRING, "0+", default="", nullable="0+")
    share_session_epoch: int = field(INT32, "0+", default=0)
    max_wait_ms: int = field(INT32, "0+", default=0)
    min_bytes: int = field(INT32, "0+", default=0)
    max_bytes: int = field(INT32, "0+", default=2147483647)
    max_records: int = field(INT32, "1+", default=0)
    batch_size: int = field(INT32, "1+", default=0)
    share_acquire_mode: int = field(INT8, "2+", default=0)
    is_renew_ack: bool = field(BOOL, "2+", default=False)
    topics: Sequence[FetchTopic] = field(ArrayOf(FetchTopic), "0+", default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = field(ArrayOf(ForgottenTopic), "0+", default=())


class LeaderIdAndEpoch(Message):
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class AcquiredRecords(Message):
    first_offset: int = field(INT64, "0+", default=0)
    last_offset: int = field(INT64, "0+", default=0)
    delivery_count: int = field(INT16, "0+", default=0)


class PartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    acknowledge_error_code: int = field(INT16, "0+", default=0)
    acknowledge_error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, "0+", default=None)
    records: Records | None = field(RECORDS, "0+", default=b"", nullable="0")
    acquired_records: Sequence[AcquiredRecords] = field(ArrayOf(AcquiredRecords), "0+", default=())


class ShareFetchableTopicResponse(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class NodeEndpoint(Message):
    node_id: int = field(INT32, "0+", default=0)
    host: str = field(STRING, "0+", default="")
    port: int = field(INT32, "0+", default=0)
    rack: str | None = field(STRING, "0+", default=None, nullable="0+")


class ShareFetchResponse(Message, api_key=78, versions="1-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(INT32, "1+", default=0)
    responses: Sequence[ShareFetchableTopicResponse] = field(ArrayOf(ShareFetchableTopicResponse), "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "0+", default=())
