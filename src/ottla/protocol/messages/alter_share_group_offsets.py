"""AlterShareGroupOffsets (api key 91)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class AlterShareGroupOffsetsRequestPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    start_offset: int = field(INT64, "0+", default=0)


class AlterShareGroupOffsetsRequestTopic(Message):
    topic_name: str = field(STRING, "0+", default="")
    partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = field(
        ArrayOf(AlterShareGroupOffsetsRequestPartition), "0+", default=()
    )


class AlterShareGroupOffsetsRequest(Message, api_key=91, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[AlterShareGroupOffsetsRequestTopic] = field(
        ArrayOf(AlterShareGroupOffsetsRequestTopic), "0+", default=()
    )


class AlterShareGroupOffsetsResponsePartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class AlterShareGroupOffsetsResponseTopic(Message):
    topic_name: str = field(STRING, "0+", default="")
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = field(
        ArrayOf(AlterShareGroupOffsetsResponsePartition), "0+", default=()
    )


class AlterShareGroupOffsetsResponse(Message, api_key=91, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    responses: Sequence[AlterShareGroupOffsetsResponseTopic] = field(
        ArrayOf(AlterShareGroupOffsetsResponseTopic), "0+", default=()
    )
