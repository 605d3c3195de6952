"""Fetch (api key 1)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.file_slice import Records
from ottla.protocol.message import INT8, INT16, INT32, INT64, RECORDS, STRING, UUID, ArrayOf, Message, field


class ReplicaState(Message):
    replica_id: int = field(INT32, "15+", default=-1)
    replica_epoch: int = field(INT64, "15+", default=-1)


class FetchPartition(Message):
    partition: int = field(INT32, "0+", default=0)
    current_leader_epoch: int = field(INT32, "9+", default=-1)
    fetch_offset: int = field(INT64, "0+", default=0)
    last_fetched_epoch: int = field(INT32, "12+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    partition_max_bytes: int = field(INT32, "0+", default=0)
    replica_directory_id: Uuid = field(UUID, "17+", default=ZERO_UUID, tag=0, tagged="17+")
    high_watermark: int = field(INT64, "18+", default=9223372036854775807, tag=1, tagged="18+")


class FetchTopic(Message):
    topic: str = field(STRING, "0-12", default="")
    topic_id: Uuid = field(UUID, "13+", default=ZERO_UUID)
    partitions: Sequence[FetchPartition] = field(ArrayOf(FetchPartition), "0+", default=())


class ForgottenTopic(Message):
    topic: str = field(STRING, "7-12", default="")
    topic_id: Uuid = field(UUID, "13+", default=ZERO_UUID)
    partitions: Sequence[int] = field(ArrayOf(INT32), "7+", default=())


class FetchRequest(Message, api_key=1, versions="4-18", flexible="12+"):
    cluster_id: str | None = field(STRING, "12+", default=None, nullable="12+", tag=0, tagged="12+")
    replica_id: int = field(INT32, "0-14", default=-1)
    replica_state: ReplicaState | None = field(ReplicaState, "15+", default=None, tag=1, tagged="15+")
    max_wait_ms: int = field(INT32, "0+", default=0)
    min_bytes: int = field(INT32, "0+", default=0)
    max_bytes: int = field(INT32, "3+", default=2147483647)
    isolation_level: int = field(INT8, "4+", default=0)
    session_id: int = field(INT32, "7+", default=0)
    session_epoch: int = field(INT32, "7+", default=-1)
    topics: Sequence[FetchTopic] = field(ArrayOf(FetchTopic), "0+", default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = field(ArrayOf(ForgottenTopic), "7+", default=())
    rack_id: str = field(STRING, "11+", default="")


class EpochEndOffset(Message):
    epoch: int = field(INT32, "12+", default=-1)
    end_offset: int = field(INT64, "12+", default=-1)


class LeaderIdAndEpoch(Message):
    leader_id: int = field(INT32, "12+", default=-1)
    leader_epoch: int = field(INT32, "12+", default=-1)


class SnapshotId(Message):
    end_offset: int = field(INT64, "0+", default=-1)
    epoch: int = field(INT32, "0+", default=-1)


class AbortedTransaction(Message):
    producer_id: int = field(INT64, "4+", default=0)
    first_offset: int = field(INT64, "4+", default=0)


class PartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    high_watermark: int = field(INT64, "0+", default=0)
    last_stable_offset: int = field(INT64, "4+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    diverging_epoch: EpochEndOffset | None = field(EpochEndOffset, "12+", default=None, tag=0, tagged="12+")
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, "12+", default=None, tag=1, tagged="12+")
    snapshot_id: SnapshotId | None = field(SnapshotId, "12+", default=None, tag=2, tagged="12+")
    aborted_transactions: Sequence[AbortedTransaction] | None = field(
        ArrayOf(AbortedTransaction), "4+", default=(), nullable="4+"
    )
    preferred_read_replica: int = field(INT32, "11+", default=-1)
    records: Records | None = field(RECORDS, "0+", default=None, nullable="0+")


class FetchableTopicResponse(Message):
    topic: str = field(STRING, "0-12", default="")
    topic_id: Uuid = field(UUID, "13+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class NodeEndpoint(Message):
    node_id: int = field(INT32, "16+", default=0)
    host: str = field(STRING, "16+", default="")
    port: int = field(INT32, "16+", default=0)
    rack: str | None = field(STRING, "16+", default=None, nullable="16+")


class FetchResponse(Message, api_key=1, versions="4-18", flexible="12+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "7+", default=0)
    session_id: int = field(INT32, "7+", default=0)
    responses: Sequence[FetchableTopicResponse] = field(ArrayOf(FetchableTopicResponse), "0+", default=())
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "16+", default=(), tag=0, tagged="16+")
