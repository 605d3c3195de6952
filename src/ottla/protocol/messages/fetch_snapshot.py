"""FetchSnapshot (api key 59)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.file_slice import Records
from ottla.protocol.message import INT16, INT32, INT64, RECORDS, STRING, UINT16, UUID, ArrayOf, Message, field


class FetchSnapshotRequestSnapshotId(Message):
    end_offset: int = field(INT64, "0+", default=0)
    epoch: int = field(INT32, "0+", default=0)


class FetchSnapshotRequestPartitionSnapshot(Message):
    partition: int = field(INT32, "0+", default=0)
    current_leader_epoch: int = field(INT32, "0+", default=0)
    snapshot_id: FetchSnapshotRequestSnapshotId | None = field(FetchSnapshotRequestSnapshotId, "0+", default=None)
    position: int = field(INT64, "0+", default=0)
    replica_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID, tag=0, tagged="1+")


class FetchSnapshotRequestTopicSnapshot(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[FetchSnapshotRequestPartitionSnapshot] = field(
        ArrayOf(FetchSnapshotRequestPartitionSnapshot), "0+", default=()
    )


class FetchSnapshotRequest(Message, api_key=59, versions="0-1", flexible="0+"):
    cluster_id: str | None = field(STRING, "0+", default=None, nullable="0+", tag=0, tagged="0+")
    replica_id: int = field(INT32, "0+", default=-1)
    max_bytes: int = field(INT32, "0+", default=2147483647)
    topics: Sequence[FetchSnapshotRequestTopicSnapshot] = field(
        ArrayOf(FetchSnapshotRequestTopicSnapshot), "0+", default=()
    )


class FetchSnapshotResponseSnapshotId(Message):
    end_offset: int = field(INT64, "0+", default=0)
    epoch: int = field(INT32, "0+", default=0)


class LeaderIdAndEpoch(Message):
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class FetchSnapshotResponsePartitionSnapshot(Message):
    index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    snapshot_id: FetchSnapshotResponseSnapshotId | None = field(FetchSnapshotResponseSnapshotId, "0+", default=None)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, "0+", default=None, tag=0, tagged="0+")
    size: int = field(INT64, "0+", default=0)
    position: int = field(INT64, "0+", default=0)
    unaligned_records: Records = field(RECORDS, "0+", default=b"")


class FetchSnapshotResponseTopicSnapshot(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[FetchSnapshotResponsePartitionSnapshot] = field(
        ArrayOf(FetchSnapshotResponsePartitionSnapshot), "0+", default=()
    )


class NodeEndpoint(Message):
    node_id: int = field(INT32, "1+", default=0)
    host: str = field(STRING, "1+", default="")
    port: int = field(UINT16, "1+", default=0)


class FetchSnapshotResponse(Message, api_key=59, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    topics: Sequence[FetchSnapshotResponseTopicSnapshot] = field(
        ArrayOf(FetchSnapshotResponseTopicSnapshot), "0+", default=()
    )
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "1+", default=(), tag=0, tagged="1+")
