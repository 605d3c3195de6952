"""AlterReplicaLogDirs (api key 34)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class AlterReplicaLogDirTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class AlterReplicaLogDir(Message):
    path: str = field(STRING, "0+", default="")
    topics: Sequence[AlterReplicaLogDirTopic] = field(ArrayOf(AlterReplicaLogDirTopic), "0+", default=())


class AlterReplicaLogDirsRequest(Message, api_key=34, versions="1-2", flexible="2+"):
    dirs: Sequence[AlterReplicaLogDir] = field(ArrayOf(AlterReplicaLogDir), "0+", default=())


class AlterReplicaLogDirPartitionResult(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class AlterReplicaLogDirTopicResult(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[AlterReplicaLogDirPartitionResult] = field(
        ArrayOf(AlterReplicaLogDirPartitionResult), "0+", default=()
    )


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="1-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[AlterReplicaLogDirTopicResult] = field(ArrayOf(AlterReplicaLogDirTopicResult), "0+", default=())
