"""AssignReplicasToDirs (api key 73)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, UUID, ArrayOf, Message, field


class AssignReplicasToDirsRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)


class AssignReplicasToDirsRequestTopicData(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[AssignReplicasToDirsRequestPartitionData] = field(
        ArrayOf(AssignReplicasToDirsRequestPartitionData), "0+", default=()
    )


class AssignReplicasToDirsRequestDirectoryData(Message):
    id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    topics: Sequence[AssignReplicasToDirsRequestTopicData] = field(
        ArrayOf(AssignReplicasToDirsRequestTopicData), "0+", default=()
    )


class AssignReplicasToDirsRequest(Message, api_key=73, versions="0", flexible="0+"):
    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=-1)
    directories: Sequence[AssignReplicasToDirsRequestDirectoryData] = field(
        ArrayOf(AssignReplicasToDirsRequestDirectoryData), "0+", default=()
    )


class AssignReplicasToDirsResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class AssignReplicasToDirsResponseTopicData(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[AssignReplicasToDirsResponsePartitionData] = field(
        ArrayOf(AssignReplicasToDirsResponsePartitionData), "0+", default=()
    )


class AssignReplicasToDirsResponseDirectoryData(Message):
    id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    topics: Sequence[AssignReplicasToDirsResponseTopicData] = field(
        ArrayOf(AssignReplicasToDirsResponseTopicData), "0+", default=()
    )


class AssignReplicasToDirsResponse(Message, api_key=73, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    directories: Sequence[AssignReplicasToDirsResponseDirectoryData] = field(
        ArrayOf(AssignReplicasToDirsResponseDirectoryData), "0+", default=()
    )
